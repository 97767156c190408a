// The HTTP/1.1 server, based on cpp-httplib.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sim/serve/server.h"

namespace tilecast::sim::serve {

// The part of a request known before its body is read; missing headers are empty.
struct HttpHead {
  std::string method, path, authorization, content_type;
  std::string host;  // empty if missing or repeated
};

// The functions are called concurrently.
struct HttpAnswers {
  std::function<Reply(const HttpHead&)> admit;  // status 200 accepts the request
  std::function<Reply(const std::string& path, const std::string& name)> get;
  std::function<Reply(const std::string& path, const std::string& body)> post;
  std::function<Reply(int status, std::string_view message)> refuse;
  const char* page = nullptr;  // at /
  std::string openapi;         // at /openapi.json
};

class HttpServer {
 public:
  virtual ~HttpServer() = default;
  [[nodiscard]] virtual int port() const = 0;  // <= 0: the address is not available
  virtual void run() = 0;                      // until stop()
  virtual void stop() = 0;
};

[[nodiscard]] std::unique_ptr<HttpServer> make_http_server(const ServerOptions& options,
                                                           HttpAnswers answers);

}  // namespace tilecast::sim::serve
