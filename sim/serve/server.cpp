#include "sim/serve/server.h"

#include <fmt/format.h>

#include "base/error.h"
#include "sim/serve/http_server.h"

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

}  // namespace

struct Server::State {
  explicit State(const ServerOptions& given)
      : options(given), answerer(given.folders, given.limits) {}

  // Why a request is not let in; an answer of 200 lets it in.
  [[nodiscard]] Reply admit(const HttpHead& request) const;
  [[nodiscard]] HttpAnswers answers() const;

  ServerOptions options;
  Answerer answerer;
  std::unique_ptr<HttpServer> http;
};

Reply Server::State::admit(const HttpHead& request) const {
  // A page of another site reaches loopback under a name of its own: only loopback's names may.
  if (is_loopback(options.host) && !is_loopback(host_name(request.host))) {
    return refusal(403, "this server answers under the names of loopback alone");
  }
  // The page holds no data and asks for the token itself.
  if (!options.token.empty() && request.path != "/" &&
      !is_same(request.authorization, "Bearer " + options.token)) {
    return refusal(401, "expected the header Authorization: Bearer TOKEN");
  }
  if (request.method == "POST" && !request.content_type.starts_with("application/json")) {
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
          .openapi = openapi()};
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
