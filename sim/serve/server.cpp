#include "sim/serve/server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <httplib.h>
#include <poll.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <semaphore>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/text.h"

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

// Compares the whole address: 127.0.0.1.evil.example is a name.
bool is_loopback(std::string host) {
  std::ranges::transform(host, host.begin(), [](unsigned char c) { return std::tolower(c); });
  in6_addr six{};
  in_addr four{};
  constexpr std::uint32_t kLoopbackNet = 127;
  return host == "localhost" ||
         (::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six)) ||
         (::inet_pton(AF_INET, host.c_str(), &four) == 1 &&
          ntohl(four.s_addr) >> 24 == kLoopbackNet);
}

// The host of a Host header, "localhost:8265" or "[::1]:8265"; empty if invalid.
std::string host_name(const std::string& header) {
  const bool in_brackets = header.starts_with('[');
  const std::size_t end = header.find(in_brackets ? ']' : ':');
  const std::string name = header.substr(in_brackets ? 1 : 0, end - (in_brackets ? 1 : 0));
  std::string_view port = end == std::string::npos
                              ? std::string_view{}
                              : std::string_view(header).substr(end + (in_brackets ? 1 : 0));
  if (in_brackets && end == std::string::npos) return "";
  if (port.starts_with(':')) port.remove_prefix(1);
  return port.find_first_not_of("0123456789") == std::string_view::npos ? name : "";
}

// Takes equally long for every wrong token of one length, wherever it differs.
bool is_same(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return different == 0;
}

}  // namespace

struct Server::State {
  explicit State(const ServerOptions& given)
      : options(given),
        answerer(given.folders, given.limits),
        http(given.seconds, given.body_bytes),
        answering(given.threads) {
    if (!is_loopback(options.host) && options.token.empty()) {
      throw UsageError("--host: got {}, which others reach; expected a --token with it",
                       options.host);
    }
    set_limits();
    set_routes();
    if (options.port == 0) {
      port = http.bind_to_any_port(options.host.c_str());
    } else if (http.bind_to_port(options.host.c_str(), options.port)) {
      port = options.port;
    }
    http.lengthen_backlog();
    if (port <= 0) {
      throw Error("{}:{}: cannot listen there; is it in use? try another --port", options.host,
                  options.port);
    }
  }

  // Status 200 accepts the request; other replies refuse it, with the reason.
  Reply admit(const httplib::Request& request) const {
    // DNS rebinding: a page of another site may reach loopback under its own name, so only
    // loopback's names are accepted, in exactly one header.
    const bool one_host = request.get_header_value_count("Host") == 1;
    const std::string host = one_host ? request.get_header_value("Host") : "";
    if (is_loopback(options.host) && !is_loopback(host_name(host))) {
      return refusal(403, "this server answers under the names of loopback alone");
    }
    // The page contains no data and asks the user for the token.
    if (!options.token.empty() && request.path != "/" &&
        !is_same(request.get_header_value("Authorization"), "Bearer " + options.token)) {
      return refusal(401, "expected the header Authorization: Bearer TOKEN");
    }
    const std::string type = request.get_header_value("Content-Type");
    if (request.method == "POST" &&
        base::trim(type.substr(0, type.find(';'))) != "application/json") {
      return refusal(415, "expected Content-Type: application/json");
    }
    return {};
  }

  void set_limits() {
    http.new_task_queue = [this] { return new BoundedQueue(options.connections); };
    http.set_socket_options([](socket_t socket) {  // httplib's default shares ports in use
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    http.set_tcp_nodelay(true);  // without it, responses on a kept connection take 40 ms more
    http.set_payload_max_length(options.body_bytes);
    http.set_keep_alive_timeout(2);
    http.set_keep_alive_max_count(1000);
    http.set_default_headers({{"X-Content-Type-Options", "nosniff"},
                              {"Cache-Control", "no-store"},
                              {"Content-Security-Policy",
                               "default-src 'none'; script-src 'unsafe-inline'; style-src "
                               "'unsafe-inline'; connect-src 'self'"}});
  }

  void set_routes() {
    http.set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          const Reply verdict = admit(request);
          if (verdict.status == 200) return httplib::Server::HandlerResponse::Unhandled;
          send(verdict, response);
          return httplib::Server::HandlerResponse::Handled;
        });
    http.set_exception_handler([](const httplib::Request&, httplib::Response& response,
                                  std::exception_ptr) {  // its text is not sent
      send(refusal(500, "this request could not be answered"), response);
    });
    http.set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (response.body.empty()) send(refusal(response.status, "not answered"), response);
    });
    http.Get("/", [](const httplib::Request&, httplib::Response& response) {
      response.set_content(page(), "text/html; charset=utf-8");
    });
    http.Get("/openapi.json",
             [text = described(openapi())](const httplib::Request&, httplib::Response& response) {
               response.set_content(text, "application/json");
             });
    http.Get("/v1/.*", [this](const httplib::Request& request, httplib::Response& response) {
      const Turn turn(answering);
      send(answerer.get(request.path, request.get_param_value("name")), response);
    });
    http.Post("/v1/.*", [this](const httplib::Request& request, httplib::Response& response) {
      const Turn turn(answering);
      send(answerer.post(request.path, request.body), response);
    });
  }

  ServerOptions options;
  Answerer answerer;
  TimedHttp http;
  std::counting_semaphore<> answering;
  int port = 0;
};

Server::Server(const ServerOptions& options) : state_(std::make_unique<State>(options)) {}
Server::~Server() = default;

std::string Server::url() const {
  const std::string& host = state_->options.host;
  const int port = state_->port;
  if (host.find(':') != std::string::npos) return fmt::format("http://[{}]:{}", host, port);
  return fmt::format("http://{}:{}", host, port);
}

void Server::run() {
  state_->http.listen_after_bind();
}

void Server::stop() {
  state_->http.stop();
}

}  // namespace tilecast::sim::serve
