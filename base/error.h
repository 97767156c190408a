// Tilecast's error type, and the check for our own bugs.
//
// `Error` is thrown for everything a user can cause: bad files, bad arguments, impossible requests.
// Its message follows one template: *where: what; got X, expected Y; hint*. It is reported at the
// program's boundaries: the command line's main() prints `error: <message>` and exits with 1; the C
// API, the Python module and the HTTP server turn it into their own errors. Code in between catches
// it only to add context, to try an alternative or to go on with the next item.
// `TC_CHECK` guards our own invariants: it prints the place and aborts. No input may trigger it.
//
//   if (rank > kMaxRank) throw Error(at.describe("rank 40 is above the limit of 32"));
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tilecast {

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  // Error("{}: got {}, expected {}", file, value, wanted)
  template <class... Args>
  requires(sizeof...(Args) > 0) explicit Error(fmt::format_string<Args...> text, Args&&... args)
      : std::runtime_error(fmt::format(text, std::forward<Args>(args)...)) {}
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
