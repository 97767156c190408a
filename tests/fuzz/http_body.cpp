// A request: its path on the first line, then its body. The reply is JSON with a status.
#include "sim/serve/answer.h"
#include "tests/fuzz/targets.h"

void tilecast::fuzz::http_body(Bytes bytes) {
  static const sim::serve::Answerer answerer(
      {}, {.batch = 4, .rows = 64, .answer_bytes = 1 << 16, .batch_seconds = 1});
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  const std::string path(bytes.substr(0, end));
  const std::string body(bytes.substr(std::min(end + 1, bytes.size())));
  const sim::serve::Reply reply = answerer.post(path, body);
  if (reply.status < 200 || reply.status > 599)
    broken("a status of " + std::to_string(reply.status));
  if (reply.status == 500) broken("a request made an internal error: " + reply.body);
  constexpr std::size_t kMostFor = 100;  // times the request, plus a batch of tables
  if (reply.body.size() > (1 << 19) + kMostFor * bytes.size()) broken("an answer without a bound");
  if (reply.body.empty()) broken("an answer without a body");
}
