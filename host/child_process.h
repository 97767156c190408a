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

#include <cstddef>
#include <functional>
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

}  // namespace tilecast::host
