// Messages of the command on stderr, next to its result.
#pragma once

#include <fmt/format.h>

#include <csignal>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace tilecast::sim::cli {

// Prints a line. It may contain text from files: escape sequences are not passed on to a terminal
// (base::printable). A closed stderr is not an error.
void tell(std::string_view line);
template <class First, class... Rest>
void tell(fmt::format_string<First, Rest...> line, First&& first, Rest&&... rest) {
  tell(fmt::format(line, std::forward<First>(first), std::forward<Rest>(rest)...));
}
// Replaces the line shown on the terminal; "" clears it.
void tell_in_place(std::string_view line);

// A line on stderr that counts finished pieces of long work; silent unless stderr is a terminal.
// Thread-safe.
class Progress {
 public:
  Progress(std::string what, std::size_t total);
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void step();
  void show(std::size_t done, const std::string& note);  // "measure 17 of 400, 3 min left"
  void say(const std::string& what);                     // "probe: memory"
  // "train: 17 of 100 %, trees": `share` of 1; `total` is kPercent.
  void show_share(double share, const std::string& note);
  static constexpr std::size_t kPercent = 100;

 private:
  std::string what_;
  std::size_t total_, done_ = 0;
  bool shown_;
  std::mutex mutex_;
};

// Ctrl-C during long work: the first requests a stop at a point from which it can resume, the
// second ends the process.

// During its lifetime the first Ctrl-C only sets a flag. At most one object at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  [[nodiscard]] static bool asked();

 private:
  struct sigaction before_ = {};
};

// Ends this process as SIGINT does (shells see 130); call it after the result was written.
void end_as_interrupted();

}  // namespace tilecast::sim::cli
