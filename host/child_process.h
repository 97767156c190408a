// A forked copy of this process that does one piece of work on one core and reports over a pipe.
//
//   ForkedChild child(core, [&](int pipe) { ... write(pipe, &record, sizeof record) ... });
//   while (child.read(bytes_of(record), Seconds{10}) == ForkedChild::Got::kRecord) { ... }
//   if (std::string how = child.end(); !how.empty()) report(how);
//
// The child has default signal handling and no terminal. It cannot write files or start processes
// or threads, has a memory limit of the machine's memory, dies with its parent and ends without
// running exit handlers. The destructor kills and reaps it. Since it forks, no other thread of this
// process may hold a lock that the work needs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hwdesc/units.h"

namespace tilecast::host {

class ForkedChild {
 public:
  enum class Got { kRecord, kEnd, kTimeout };

  // core < 0: not pinned. Throws Error if no process or pipe can be created.
  ForkedChild(int core, const std::function<void(int pipe)>& work);
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;
  ~ForkedChild();

  // Reads the next complete record. kEnd: the child has ended, possibly inside a record.
  Got read(std::span<std::byte> record, Seconds timeout);
  // Waits for the child to end; with `kill`, kills it first if it still runs. Returns how it ended
  // ("killed by SIGSEGV", "ended with status 3"), or an empty text if normally.
  std::string end(bool kill);

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
};

// The cores this thread may run on, in ascending order. Throws Error if the system call fails.
[[nodiscard]] std::vector<int> allowed_cores();

// Keeps this thread off `core` during the object's lifetime, if it may run elsewhere, so that
// waiting for a measurement on that core does not disturb it.
class KeptOff {
 public:
  explicit KeptOff(int core);
  KeptOff(const KeptOff&) = delete;
  KeptOff& operator=(const KeptOff&) = delete;
  ~KeptOff();

 private:
  std::vector<int> before_;  // empty: nothing to restore
};

// Runs a command as a child process and reads its output. Used by Compiler.
//
//   ChildCommand cc({"cc", "--version"}, {}, Seconds{10});
//   while (cc.read_some()) {}
//   if (cc.wait() == 0) use(cc.text());
//
// Standard input is empty, standard output and error are merged, the locale is C. The destructor
// kills and reaps the command and its children. Thread-compatible.

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

// A new private folder under $TMPDIR (/tmp if unset), removed with its contents unless released.

class TemporaryFolder {
 public:
  TemporaryFolder();  // throws Error if it cannot be created
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file and returns its path. Throws Error if it cannot be written.
  std::string write(const std::string& name, const std::string& text) const;
  void release() { path_.clear(); }

 private:
  std::string path_;
};

}  // namespace tilecast::host
