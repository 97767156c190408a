// The JSON API of `tilecast serve` without its sockets: a path and a body in, a status and a body
// out. Programs, devices and models that were asked about are kept, a bounded number of them.
//
//   Answerer answerer({.folders = {"models"}});
//   Reply reply = answerer.post("/v1/simulate", R"({"program": {"file": "a.hlo"}, ...})");
//
// Never throws for what a body says. Reads files only below the folders, whatever symbolic links
// there are; devices and models are those that are shipped, by name. Thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilecast::sim::serve {

struct AnswerLimits {
  std::size_t batch = 64;               // requests in one
  std::size_t rows = 10'000;            // operators or tiles in one
  std::size_t answer_bytes = 64 << 20;  // of a table, or a batch, about
  std::size_t depth = 64;               // of objects and lists in each other
  std::size_t kept = 64;                // programs on devices that are kept
  double batch_seconds = 20;            // after which the rest of a batch is refused
  std::size_t file_bytes = 64 << 20;
};

struct Reply {
  int status = 200;
  std::string body;  // JSON
};
[[nodiscard]] Reply refusal(int status, std::string_view message);

class Answerer {
 public:
  // Throws Error for a folder that is not there.
  explicit Answerer(const std::vector<std::string>& folders, const AnswerLimits& limits = {});
  ~Answerer();
  [[nodiscard]] Reply get(const std::string& path, const std::string& device) const;
  [[nodiscard]] Reply post(const std::string& path, const std::string& body) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilecast::sim::serve
