// HTTP/1.1 for the server, by cpp-httplib: a module that is loaded by `tilecast serve` alone,
// because OpenSSL and Brotli come with it. It exports as C symbols:
//
//   std::uint64_t tilecast_http_module_abi();   // kHttpModuleAbi of its build
//   void* tilecast_http_module();               // an HttpServerMaker
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/plugin.h"
#include "sim/serve/server.h"

namespace tilecast::sim::serve {

// What is known of a request before its body is read; headers that are not there are empty.
struct HttpHead {
  std::string method, path, host, authorization, content_type;
};

// Called by several threads at once.
struct HttpAnswers {
  std::function<Reply(const HttpHead&)> admit;  // a status of 200 lets it in
  std::function<Reply(const std::string& path, const std::string& name)> get;
  std::function<Reply(const std::string& path, const std::string& body)> post;
  std::function<Reply(int status, std::string_view message)> refuse;
  const char* page = nullptr;     // at /
  const char* openapi = nullptr;  // at /openapi.json
};

class HttpServer {
 public:
  virtual ~HttpServer() = default;
  [[nodiscard]] virtual int port() const = 0;  // 0 or less: the address cannot be had
  virtual void run() = 0;                      // until stop()
  virtual void stop() = 0;
};

using HttpServerMaker = std::unique_ptr<HttpServer>(const ServerOptions& options,
                                                    HttpAnswers answers);
inline constexpr std::uint64_t kHttpModuleAbi =
    base::plugin_abi(1, {sizeof(ServerOptions), sizeof(HttpAnswers)});

}  // namespace tilecast::sim::serve
