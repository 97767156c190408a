#include "sim/serve/server.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/text.h"
#include "sim/serve/http_server.h"
#include "sim/serve/request.h"

namespace tilecast::sim::serve {
namespace {

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
      : options(given), answerer(given.folders, given.limits) {}

  // Status 200 accepts the request; other replies refuse it, with the reason.
  [[nodiscard]] Reply admit(const HttpHead& request) const;
  [[nodiscard]] HttpAnswers answers() const;

  ServerOptions options;
  Answerer answerer;
  std::unique_ptr<HttpServer> http;
};

Reply Server::State::admit(const HttpHead& request) const {
  // DNS rebinding: a page of another site may reach loopback under its own name, so only loopback's
  // names are accepted.
  if (is_loopback(options.host) && !is_loopback(host_name(request.host))) {
    return refusal(403, "this server answers under the names of loopback alone");
  }
  // The page contains no data and asks the user for the token.
  if (!options.token.empty() && request.path != "/" &&
      !is_same(request.authorization, "Bearer " + options.token)) {
    return refusal(401, "expected the header Authorization: Bearer TOKEN");
  }
  const std::string type = request.content_type.substr(0, request.content_type.find(';'));
  if (request.method == "POST" && base::trim(type) != "application/json") {
    return refusal(415, "expected Content-Type: application/json");
  }
  return {};
}

HttpAnswers Server::State::answers() const {
  return {.admit = [this](const HttpHead& request) { return admit(request); },
          .get = [this](const std::string& path,
                        const std::string& name) { return answerer.get(path, name); },
          .post = [this](const std::string& path,
                         const std::string& body) { return answerer.post(path, body); },
          .refuse = &refusal,
          .page = page(),
          .openapi = described(openapi())};
}

Server::Server(const ServerOptions& options) : state_(std::make_unique<State>(options)) {
  if (!is_loopback(options.host) && options.token.empty()) {
    throw UsageError(fmt::format("--host: got {}, which others reach; expected a --token with it",
                                 options.host));
  }
  state_->http = make_http_server(options, state_->answers());
  if (state_->http->port() <= 0) {
    throw Error(fmt::format("{}:{}: cannot listen there; is it in use? try another --port",
                            options.host, options.port));
  }
}
Server::~Server() = default;

std::string Server::url() const {
  const std::string& host = state_->options.host;
  const int port = state_->http->port();
  if (host.find(':') != std::string::npos) return fmt::format("http://[{}]:{}", host, port);
  return fmt::format("http://{}:{}", host, port);
}

void Server::run() {
  state_->http->run();
}

void Server::stop() {
  state_->http->stop();
}

}  // namespace tilecast::sim::serve
