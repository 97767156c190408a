// `tilecast serve`: the JSON API (sim/serve/answer.h), its description and the what-if page, served
// over HTTP/1.1 on one address.
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
  int port = 8265;         // 0: any free port
  std::string token = {};  // required as `Authorization: Bearer TOKEN`; empty: not required
  int threads = 4;         // concurrent requests; others wait
  int connections = 64;    // open connections, however slow; as many more wait
  std::size_t body_bytes = 4 << 20;
  int seconds = 10;  // time limit for a whole request, and for a whole response
  AnswerLimits limits = {};
};

class Server {
 public:
  // Binds the address. Throws UsageError if `host` is not loopback and there is no token; Error if
  // the address or a folder is not available.
  explicit Server(const ServerOptions& options);
  ~Server();
  [[nodiscard]] std::string url() const;  // "http://127.0.0.1:8265"
  void run();                             // serves until stop(); call once
  void stop();                            // from any thread; running requests are finished

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The documents served at / and /openapi.json.
[[nodiscard]] const char* page();
[[nodiscard]] const char* openapi();

}  // namespace tilecast::sim::serve
