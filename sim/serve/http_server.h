// HTTP/1.1 for the server, by cpp-httplib.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sim/serve/server.h"

namespace tilecast::sim::serve {

// What is known of a request before its body is read; headers that are not there are empty.
struct HttpHead {
  std::string method, path, authorization, content_type;
  std::string host;  // empty where there is none, or several
};

// Called by several threads at once.
struct HttpAnswers {
  std::function<Reply(const HttpHead&)> admit;  // a status of 200 lets it in
  std::function<Reply(const std::string& path, const std::string& name)> get;
  std::function<Reply(const std::string& path, const std::string& body)> post;
  std::function<Reply(int status, std::string_view message)> refuse;
  const char* page = nullptr;  // at /
  std::string openapi;         // at /openapi.json
};

class HttpServer {
 public:
  virtual ~HttpServer() = default;
  [[nodiscard]] virtual int port() const = 0;  // 0 or less: the address cannot be had
  virtual void run() = 0;                      // until stop()
  virtual void stop() = 0;
};

[[nodiscard]] std::unique_ptr<HttpServer> make_http_server(const ServerOptions& options,
                                                           HttpAnswers answers);

}  // namespace tilecast::sim::serve
