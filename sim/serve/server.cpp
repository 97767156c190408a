#include "sim/serve/server.h"

#include <fmt/format.h>
#include <httplib.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/error.h"

namespace tilecast::sim::serve {
namespace {

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// The name in a Host header, without its port.
std::string host_name(const std::string& header) {
  if (header.starts_with('[')) return header.substr(1, header.find(']') - 1);
  return header.substr(0, header.find(':'));
}

// As long for every wrong token of one length, wherever it differs.
bool is_same(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return different == 0;
}

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

}  // namespace

struct Server::State {
  explicit State(const ServerOptions& given)
      : options(given), answerer(given.folders, given.limits) {}

  // Why a request is not let in; an answer of 200 lets it in.
  [[nodiscard]] Reply admit(const httplib::Request& request) const;
  void set_limits();
  void set_routes();

  ServerOptions options;
  Answerer answerer;
  httplib::Server http;
  int port = 0;
};

Reply Server::State::admit(const httplib::Request& request) const {
  // A page of another site reaches loopback under a name of its own: only loopback's names may.
  if (is_loopback(options.host) && !is_loopback(host_name(request.get_header_value("Host")))) {
    return refusal(403, "this server answers under the names of loopback alone");
  }
  // The page holds no data and asks for the token itself.
  if (!options.token.empty() && request.path != "/" &&
      !is_same(request.get_header_value("Authorization"), "Bearer " + options.token)) {
    return refusal(401, "expected the header Authorization: Bearer TOKEN");
  }
  const std::string type = request.get_header_value("Content-Type");
  if (request.method == "POST" && !type.starts_with("application/json")) {
    return refusal(415, "expected Content-Type: application/json");
  }
  return {};
}

void Server::State::set_limits() {
  http.new_task_queue = [this] { return new BoundedQueue(options.threads, options.waiting); };
  http.set_socket_options([](socket_t socket) {  // httplib's own would share a port that is in use
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  http.set_tcp_nodelay(true);  // else each answer of a kept connection waits 40 ms
  http.set_payload_max_length(options.body_bytes);
  http.set_read_timeout(options.seconds);
  http.set_write_timeout(options.seconds);
  http.set_keep_alive_timeout(2);
  http.set_keep_alive_max_count(1000);
  http.set_default_headers({{"X-Content-Type-Options", "nosniff"},
                            {"Cache-Control", "no-store"},
                            {"Content-Security-Policy",
                             "default-src 'none'; script-src 'unsafe-inline'; style-src "
                             "'unsafe-inline'; connect-src 'self'"}});
}

void Server::State::set_routes() {
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
  http.Get("/openapi.json", [](const httplib::Request&, httplib::Response& response) {
    response.set_content(openapi(), "application/json");
  });
  http.Get("/v1/.*", [this](const httplib::Request& request, httplib::Response& response) {
    send(answerer.get(request.path, request.get_param_value("name")), response);
  });
  http.Post("/v1/.*", [this](const httplib::Request& request, httplib::Response& response) {
    send(answerer.post(request.path, request.body), response);
  });
}

Server::Server(const ServerOptions& options) : state_(std::make_unique<State>(options)) {
  if (!is_loopback(options.host) && options.token.empty()) {
    throw UsageError(fmt::format("--host: got {}, which others reach; expected a --token with it",
                                 options.host));
  }
  state_->set_limits();
  state_->set_routes();
  httplib::Server& http = state_->http;
  if (options.port == 0) {
    state_->port = http.bind_to_any_port(options.host.c_str());
  } else if (http.bind_to_port(options.host.c_str(), options.port)) {
    state_->port = options.port;
  }
  if (state_->port <= 0) {
    throw Error(fmt::format("{}:{}: cannot listen there; is it in use? try another --port",
                            options.host, options.port));
  }
}
Server::~Server() = default;

std::string Server::url() const {
  const std::string& host = state_->options.host;
  if (host.find(':') != std::string::npos) return fmt::format("http://[{}]:{}", host, state_->port);
  return fmt::format("http://{}:{}", host, state_->port);
}

void Server::run() {
  state_->http.listen_after_bind();
}

void Server::stop() {
  state_->http.stop();
}

}  // namespace tilecast::sim::serve
