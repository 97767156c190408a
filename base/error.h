// The one error type of Tilecast, and the check for our own bugs.
//
// `Error` is thrown for everything a user can cause: bad files, bad arguments, impossible requests.
// Its message follows one template: *where: what; got X, expected Y; hint*. It is caught once, in
// the command line's main(), which prints `error: <message>` and exits with 1.
// `TC_CHECK` guards invariants of our own; no input may ever reach it.
//
//   if (rank > kMaxRank) throw Error(at.describe("rank 40 is above the limit of 32"));
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace tilecast {

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

// A wrong command line; main() exits with 2 instead of 1.
class UsageError final : public Error {
 public:
  using Error::Error;
};

namespace base {
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               std::string_view message);
}  // namespace base
}  // namespace tilecast

#define TC_CHECK(condition, message)                                           \
  do {                                                                         \
    if (!(condition)) {                                                        \
      ::tilecast::base::check_failed(__FILE__, __LINE__, #condition, message); \
    }                                                                          \
  } while (false)
