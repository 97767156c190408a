#include "sim/serve/http_server.h"

#include <httplib.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <semaphore>
#include <thread>
#include <utility>

namespace tilecast::sim::serve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBacklog = 1024;  // of the operating system: connections not yet accepted

// A connection that limits the size of a request, and the total time of each request and response,
// even if their bytes arrive slowly.
class TimedStream final : public httplib::Stream {
 public:
  TimedStream(socket_t socket, std::chrono::seconds patience, std::size_t most)
      : socket_(socket), patience_(patience), most_(most) {}

  // Whether another request begins within `wait`.
  bool begin(std::chrono::milliseconds wait) {
    if (at_ == read_.size() && !ready(POLLIN, Clock::now() + wait)) return false;
    deadline_ = Clock::now() + patience_;
    answers_ = false;
    left_ = most_;
    return true;
  }
  [[nodiscard]] bool is_readable() const override {
    return at_ < read_.size() || ready(POLLIN, deadline_);
  }
  [[nodiscard]] bool is_writable() const override { return ready(POLLOUT, deadline_); }

  ssize_t read(char* to, std::size_t size) override {
    if (at_ == read_.size()) {
      if (!ready(POLLIN, deadline_)) return -1;
      read_.resize(kBlock);
      const ssize_t got = ::recv(socket_, read_.data(), read_.size(), 0);
      read_.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      at_ = 0;
      if (got <= 0) return got;
    }
    const std::size_t given = std::min({size, read_.size() - at_, left_});
    if (given == 0) return -1;
    std::memcpy(to, read_.data() + at_, given);
    at_ += given;
    left_ -= given;
    return static_cast<ssize_t>(given);
  }
  ssize_t write(const char* from, std::size_t size) override {
    if (!std::exchange(answers_, true)) deadline_ = Clock::now() + patience_;
    if (!ready(POLLOUT, deadline_)) return -1;
    return ::send(socket_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  [[nodiscard]] socket_t socket() const override { return socket_; }

 private:
  static constexpr std::size_t kBlock = 1 << 14;

  [[nodiscard]] bool ready(short event, Clock::time_point until) const {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
      if (left <= 0) return false;
      pollfd waited{socket_, event, 0};
      const int found = ::poll(&waited, 1, static_cast<int>(left));
      if (found >= 0 || errno != EINTR) return found > 0;
    }
  }

  socket_t socket_;
  std::chrono::seconds patience_;
  std::size_t most_, left_ = 0;
  Clock::time_point deadline_;
  bool answers_ = false;
  std::string read_;
  std::size_t at_ = 0;
};

// Threads for connections, and a bounded queue of waiting connections: while it is full no
// connection is accepted, and later ones wait in the system's backlog.
class BoundedQueue final : public httplib::TaskQueue {
 public:
  explicit BoundedQueue(int connections) : most_(static_cast<std::size_t>(connections)) {
    for (int i = 0; i < connections; ++i) threads_.emplace_back([this] { work(); });
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

// One of the concurrently running requests.
class Turn {
 public:
  explicit Turn(std::counting_semaphore<>& turns) : turns_(turns) { turns_.acquire(); }
  ~Turn() { turns_.release(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::counting_semaphore<>& turns_;
};

// httplib's server with a time limit for every whole request.
class TimedHttp final : public httplib::Server {
 public:
  TimedHttp(int seconds, std::size_t body_bytes) : patience_(seconds), most_(body_bytes + kHead) {}

  // httplib listens with a backlog of 5.
  void lengthen_backlog() { ::listen(svr_sock_, kBacklog); }

 private:
  bool process_and_close_socket(socket_t socket) override {
    TimedStream stream(socket, patience_, most_);
    bool is_done = false;
    for (std::size_t left = keep_alive_max_count_; left > 0 && !is_done; --left) {
      if (svr_sock_ == INVALID_SOCKET) break;  // stopped
      if (!stream.begin(std::chrono::seconds(keep_alive_timeout_sec_))) break;
      if (!process_request(stream, left == 1, is_done, nullptr)) break;
    }
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return true;
  }

  static constexpr std::size_t kHead = 1 << 18;  // first line, headers, chunk marks
  std::chrono::seconds patience_;
  std::size_t most_;
};

class HttplibServer final : public HttpServer {
 public:
  HttplibServer(const ServerOptions& options, HttpAnswers answers)
      : options_(options),
        asked_(std::move(answers)),
        http_(options.seconds, options.body_bytes),
        answering_(options.threads) {
    set_limits();
    set_routes();
    if (options_.port == 0) {
      port_ = http_.bind_to_any_port(options_.host.c_str());
    } else if (http_.bind_to_port(options_.host.c_str(), options_.port)) {
      port_ = options_.port;
    }
    http_.lengthen_backlog();
  }
  [[nodiscard]] int port() const override { return port_; }
  void run() override { http_.listen_after_bind(); }
  void stop() override { http_.stop(); }

 private:
  void set_limits();
  void set_routes();

  ServerOptions options_;
  HttpAnswers asked_;
  TimedHttp http_;
  std::counting_semaphore<> answering_;
  int port_ = 0;
};

void HttplibServer::set_limits() {
  http_.new_task_queue = [this] { return new BoundedQueue(options_.connections); };
  http_.set_socket_options([](socket_t socket) {  // httplib's default shares ports in use
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  http_.set_tcp_nodelay(true);  // without it, responses on a kept connection take 40 ms more
  http_.set_payload_max_length(options_.body_bytes);
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
                                        .authorization = request.get_header_value("Authorization"),
                                        .content_type = request.get_header_value("Content-Type"),
                                        .host = request.get_header_value_count("Host") == 1
                                                    ? request.get_header_value("Host")
                                                    : ""});
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
    const Turn turn(answering_);
    send(asked_.get(request.path, request.get_param_value("name")), response);
  });
  http_.Post("/v1/.*", [this](const httplib::Request& request, httplib::Response& response) {
    const Turn turn(answering_);
    send(asked_.post(request.path, request.body), response);
  });
}

}  // namespace

std::unique_ptr<HttpServer> make_http_server(const ServerOptions& options, HttpAnswers answers) {
  return std::make_unique<HttplibServer>(options, std::move(answers));
}

}  // namespace tilecast::sim::serve
