#include "sim/serve/http_server.h"

#include <httplib.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace tilecast::sim::serve {
namespace {

// Threads for connections, and a bounded queue of those that wait: with it full none is accepted,
// and the kernel's backlog refuses what is beyond that.
class BoundedQueue final : public httplib::TaskQueue {
 public:
  BoundedQueue(int threads, int waiting) : most_(static_cast<std::size_t>(waiting)) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }

  void enqueue(std::function<void()> task) override {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return tasks_.size() < most_ || ending_; });
    tasks_.push_back(std::move(task));
    some_.notify_one();
  }

  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    some_.notify_all();
    room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void work() {
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex_);
        some_.wait(lock, [this] { return !tasks_.empty() || ending_; });
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      room_.notify_one();
      task();
    }
  }

  std::size_t most_;
  std::mutex mutex_;
  std::condition_variable some_, room_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  bool ending_ = false;
};

void send(const Reply& reply, httplib::Response& response) {
  response.status = reply.status;
  response.set_content(reply.body, "application/json");
}

class HttplibServer final : public HttpServer {
 public:
  HttplibServer(const ServerOptions& options, HttpAnswers answers)
      : options_(options), asked_(std::move(answers)) {
    set_limits();
    set_routes();
    if (options_.port == 0) {
      port_ = http_.bind_to_any_port(options_.host.c_str());
    } else if (http_.bind_to_port(options_.host.c_str(), options_.port)) {
      port_ = options_.port;
    }
  }
  [[nodiscard]] int port() const override { return port_; }
  void run() override { http_.listen_after_bind(); }
  void stop() override { http_.stop(); }

 private:
  void set_limits();
  void set_routes();

  ServerOptions options_;
  HttpAnswers asked_;
  httplib::Server http_;
  int port_ = 0;
};

void HttplibServer::set_limits() {
  http_.new_task_queue = [this] { return new BoundedQueue(options_.threads, options_.waiting); };
  http_.set_socket_options([](socket_t socket) {  // httplib's own would share a port that is in use
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  http_.set_tcp_nodelay(true);  // else each answer of a kept connection waits 40 ms
  http_.set_payload_max_length(options_.body_bytes);
  http_.set_read_timeout(options_.seconds);
  http_.set_write_timeout(options_.seconds);
  http_.set_keep_alive_timeout(2);
  http_.set_keep_alive_max_count(1000);
  http_.set_default_headers({{"X-Content-Type-Options", "nosniff"},
                             {"Cache-Control", "no-store"},
                             {"Content-Security-Policy",
                              "default-src 'none'; script-src 'unsafe-inline'; style-src "
                              "'unsafe-inline'; connect-src 'self'"}});
}

void HttplibServer::set_routes() {
  http_.set_pre_routing_handler([this](const httplib::Request& request,
                                       httplib::Response& response) {
    const Reply verdict = asked_.admit({.method = request.method,
                                        .path = request.path,
                                        .host = request.get_header_value("Host"),
                                        .authorization = request.get_header_value("Authorization"),
                                        .content_type = request.get_header_value("Content-Type")});
    if (verdict.status == 200) return httplib::Server::HandlerResponse::Unhandled;
    send(verdict, response);
    return httplib::Server::HandlerResponse::Handled;
  });
  http_.set_exception_handler([this](const httplib::Request&, httplib::Response& response,
                                     std::exception_ptr) {  // its text is not sent
    send(asked_.refuse(500, "this request could not be answered"), response);
  });
  http_.set_error_handler([this](const httplib::Request&, httplib::Response& response) {
    if (response.body.empty()) send(asked_.refuse(response.status, "not answered"), response);
  });
  http_.Get("/", [this](const httplib::Request&, httplib::Response& response) {
    response.set_content(asked_.page, "text/html; charset=utf-8");
  });
  http_.Get("/openapi.json", [this](const httplib::Request&, httplib::Response& response) {
    response.set_content(asked_.openapi, "application/json");
  });
  http_.Get("/v1/.*", [this](const httplib::Request& request, httplib::Response& response) {
    send(asked_.get(request.path, request.get_param_value("name")), response);
  });
  http_.Post("/v1/.*", [this](const httplib::Request& request, httplib::Response& response) {
    send(asked_.post(request.path, request.body), response);
  });
}

}  // namespace

std::unique_ptr<HttpServer> make_http_server(const ServerOptions& options, HttpAnswers answers) {
  return std::make_unique<HttplibServer>(options, std::move(answers));
}

}  // namespace tilecast::sim::serve
