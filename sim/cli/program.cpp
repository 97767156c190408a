#include "sim/cli/program.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <new>

#include "base/error.h"
#include "base/source_text.h"
#include "sim/cli/options.h"
#include "sim/cli/tell.h"

namespace tilecast::sim::cli {
namespace {

// Suggests the option or verb closest to an unexpected argument; "" if none is close.
std::string hint(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(verb->get_name());
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string near = base::nearest(word.substr(0, word.find('=')), known);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

const CLI::App& innermost(const CLI::App& app) {
  const auto used = app.get_subcommands();
  return used.empty() ? app : innermost(*used.front());
}

// "tilecast tune program"
std::string words_to(const CLI::App& verb) {
  const CLI::App* parent = verb.get_parent();
  return parent == nullptr ? verb.get_name() : words_to(*parent) + " " + verb.get_name();
}

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& verb = innermost(app);
  const std::vector<std::string> extra = app.remaining(/*recurse=*/true);
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  const bool unexpected = !extra.empty() && (code == CLI::ExitCodes::ExtrasError ||
                                             code == CLI::ExitCodes::RequiredError);
  const std::string message =
      unexpected ? fmt::format("'{}' was not expected{}", extra.front(), hint(verb, extra.front()))
                 : std::string(error.what());
  tell(fmt::format("error: {}\nsee {} --help", message, words_to(verb)));
  return 2;
}

// OpenBLAS 0.3.21, used to train networks, treats Intel processors newer than itself as a Pentium
// 4, which makes products four times slower. A setting of the user is kept.
void choose_kernels_of_openblas() {
#if defined(__x86_64__)
  if (__builtin_cpu_is("intel") == 0 || __builtin_cpu_supports("avx2") == 0) return;
  const bool wide =
      __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
  ::setenv("OPENBLAS_CORETYPE", wide ? "SKYLAKEX" : "HASWELL", /*overwrite=*/0);
#endif
}

// A file opened first would get the number of a closed standard stream, and its output. Occupies
// those numbers so that writing to a closed standard output is an error.
void occupy_standard_streams() {
  for (const int stream : {0, 1, 2}) {
    if (::fcntl(stream, F_GETFD) < 0) {
      [[maybe_unused]] const int taken = ::open("/dev/null", stream == 1 ? O_RDONLY : O_RDWR);
    }
  }
}

}  // namespace

int parse_and_run(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return usage_error(app, error);
    write({}, (error.get_name() == "CallForHelp" ? app.help() : error.what()) + std::string("\n"));
  }
  return 0;
}

int program(int argc, char** argv, int (*run)(int argc, char** argv)) {
  occupy_standard_streams();
  choose_kernels_of_openblas();  // must run while single-threaded
  try {
    return run(argc, argv);
  } catch (const UsageError& error) {
    tell(fmt::format("error: {}", error.what()));
    return 2;
  } catch (const std::bad_alloc&) {
    tell("error: out of memory");
  } catch (const std::exception& error) {
    tell(fmt::format("error: {}", error.what()));
  }
  return 1;
}

}  // namespace tilecast::sim::cli
