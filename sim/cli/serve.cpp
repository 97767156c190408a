#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "sim/cli/commands.h"
#include "sim/modules.h"
#include "sim/serve/server.h"

namespace tilecast::sim::cli {
namespace {

// Writing to the pipe ends the server; a signal handler may do little else.
int ending_pipe[2] = {-1, -1};

void ask_to_end(int /*signal*/) {
  const char byte = 0;
  [[maybe_unused]] const auto written = ::write(ending_pipe[1], &byte, 1);
}

// Handles SIGINT and SIGTERM. Blocking them is not possible: libraries have already created
// threads.
void take_signals() {
  if (::pipe(ending_pipe) != 0) throw Error("serve: cannot make a pipe");
  struct sigaction action = {};
  action.sa_handler = &ask_to_end;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

// On a signal, finishes the running requests and ends the process with 0.
void serve_until_asked(const serve::ServerOptions& options) {
  serve::Server server(options);
  take_signals();
  if (std::puts(server.url().c_str()) < 0 || std::fflush(stdout) != 0) {
    throw Error(std::string("stdout: cannot write it: ") + std::strerror(errno));
  }
  std::thread waiter([&] {
    char byte = 0;
    while (::read(ending_pipe[0], &byte, 1) < 0 && errno == EINTR) {
    }
    server.stop();
  });
  server.run();
  ask_to_end(0);  // if it ended on its own
  waiter.join();
}

void add_serve(CLI::App& app) {
  auto options = std::make_shared<serve::ServerOptions>();
  CLI::App& verb = *app.add_subcommand("serve", "a local page for what-if, and a JSON API");
  verb.add_option("--folder", options->folders, "programs below it may be asked about; repeatable")
      ->allow_extra_args(false)
      ->type_name("DIR");
  verb.add_option("--port", options->port, "0: any that is free")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  verb.add_option("--host", options->host, "address; other than loopback only with --token")
      ->capture_default_str();
  verb.add_option("--token", options->token, "clients must send Authorization: Bearer TOKEN")
      ->envname("TILECAST_TOKEN");
  verb.add_option("--threads", options->threads, "requests answered at once")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  verb.add_option("--body-bytes", options->body_bytes, "the largest request")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30))
      ->capture_default_str();
  verb.add_option("--seconds", options->seconds, "to send a request or take an answer")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  verb.footer(R"(A component: scripts/build serve adds it.
GET /openapi.json describes the API. SIGINT or SIGTERM ends it.)");
  verb.callback([options] { serve_until_asked(*options); });
}

// The module of the component `serve`, separate because its HTTP needs OpenSSL and Brotli.
constexpr VerbModule kOffer = {&add_serve};

}  // namespace
}  // namespace tilecast::sim::cli

TILECAST_PLUGIN(serve, tilecast::sim::kVerbModuleAbi, &tilecast::sim::cli::kOffer)
