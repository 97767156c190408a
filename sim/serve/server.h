// `tilecast serve`: the JSON API (sim/serve/answer.h), its description and the what-if page, over
// HTTP/1.1 on one address.
//
//   Server server({.folders = {"models"}, .port = 0});
//   fmt::print("{}", server.url());
//   server.run();     // until stop()
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/serve/answer.h"

namespace tilecast::sim::serve {

struct ServerOptions {
  std::vector<std::string> folders = {};
  std::string host = "127.0.0.1";
  int port = 8265;         // 0: any that is free
  std::string token = {};  // asked for as `Authorization: Bearer TOKEN`; empty: not asked for
  int threads = 4;         // requests answered at once; others wait
  int connections = 64;    // read from and written to at once, however slow; as many more wait
  std::size_t body_bytes = 4 << 20;
  int seconds = 10;  // to send a whole request, and to take a whole answer
  AnswerLimits limits = {};
};

class Server {
 public:
  // Takes the address. Throws UsageError where `host` is not loopback and there is no token; Error
  // where the address or a folder cannot be had.
  explicit Server(const ServerOptions& options);
  ~Server();
  [[nodiscard]] std::string url() const;  // "http://127.0.0.1:8265"
  void run();                             // answers until stop(); once
  void stop();                            // from any thread; requests that run are answered first

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What is served at / and /openapi.json.
[[nodiscard]] const char* page();
[[nodiscard]] const char* openapi();

}  // namespace tilecast::sim::serve
