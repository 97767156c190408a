// A command run as a child process whose words are read: what Compiler starts.
//
//   ChildCommand cc({"cc", "--version"}, {}, Seconds{10});
//   while (cc.read_some()) {}
//   if (cc.wait() == 0) use(cc.text());
//
// Input is empty, output and error stream are one text, the language is C. The command and what it
// starts are killed and reaped when the object goes. Thread-compatible.
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

  // `folder`, when not empty, is the command's TMPDIR. Throws Error when it cannot be started.
  ChildCommand(std::vector<std::string> command, const std::string& folder, Seconds timeout);
  ChildCommand(ChildCommand&& other) noexcept;
  ChildCommand& operator=(ChildCommand&&) = delete;
  ~ChildCommand();

  // Becomes readable when read_some() does not block.
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] Clock::time_point deadline() const { return deadline_; }
  // Reads what is there, waiting for it; false once the command has closed its streams or time is
  // over.
  bool read_some();
  // What was read, without blanks at its end; the first kilobytes of a long text.
  [[nodiscard]] std::string text() const;
  // Waits until the deadline for the end: the status as of wait(2), nothing when time is over.
  std::optional<int> wait();

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
  Clock::time_point deadline_;
  std::string text_;
};

}  // namespace tilecast::host
