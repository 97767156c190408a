// The JSON API of `tilecast serve` without sockets: maps a path and a body to a status and a body.
// Caches a bounded number of programs, devices and models.
//
//   Answerer answerer({.folders = {"models"}});
//   Reply reply = answerer.post("/v1/simulate", R"({"program": {"file": "a.hlo"}, ...})");
//
// Does not throw for any body. Reads only files below the folders, after resolving symbolic links;
// devices and models are shipped ones, by name. Thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilecast::sim::serve {

struct AnswerLimits {
  std::size_t batch = 64;               // requests per batch
  std::size_t rows = 10'000;            // operators or tiles per request
  std::size_t answer_bytes = 64 << 20;  // approximate size of a table or a batch
  std::size_t depth = 64;               // nesting of objects and lists
  std::size_t kept = 64;                // cached pairs of program and device
  double batch_seconds = 20;            // after this time the rest of a batch is refused
  std::size_t file_bytes = 64 << 20;
};

struct Reply {
  int status = 200;
  std::string body;  // JSON
};
[[nodiscard]] Reply refusal(int status, std::string_view message);

// The API description, with the names of tile parts and models filled in.
[[nodiscard]] std::string described(const char* openapi);

class Answerer {
 public:
  // Throws Error for a folder that does not exist.
  explicit Answerer(const std::vector<std::string>& folders, const AnswerLimits& limits = {});
  ~Answerer();
  [[nodiscard]] Reply get(const std::string& path, const std::string& device) const;
  [[nodiscard]] Reply post(const std::string& path, const std::string& body) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilecast::sim::serve
