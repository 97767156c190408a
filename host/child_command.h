// Runs a command as a child process and reads its output. Used by Compiler.
//
//   ChildCommand cc({"cc", "--version"}, {}, Seconds{10});
//   while (cc.read_some()) {}
//   if (cc.wait() == 0) use(cc.text());
//
// Standard input is empty, standard output and error are merged, the locale is C. The destructor
// kills and reaps the command and its children. Thread-compatible.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "hwdesc/units.h"

namespace tilecast::host {

class ChildCommand {
 public:
  using Clock = std::chrono::steady_clock;

  // `folder`, if not empty, is the command's TMPDIR. Throws Error if it cannot be started.
  ChildCommand(std::vector<std::string> command, const std::string& folder, Seconds timeout);
  ChildCommand(ChildCommand&& other) noexcept;
  ChildCommand& operator=(ChildCommand&&) = delete;
  ~ChildCommand();

  // Readable when read_some() would not block; for poll().
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] Clock::time_point deadline() const { return deadline_; }
  // Waits for output and reads it; false once the command has closed its streams or the deadline
  // has passed.
  bool read_some();
  // The output read so far, without trailing blanks; long output is truncated to its first
  // kilobytes.
  [[nodiscard]] std::string text() const;
  // Waits for the command to end. The status as in wait(2); nullopt if the deadline has passed.
  std::optional<int> wait();

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
  Clock::time_point deadline_;
  std::string text_;
};

}  // namespace tilecast::host
