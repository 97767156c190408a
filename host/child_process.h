// A forked copy of this process that does one piece of work on one core and reports over a pipe.
//
//   ForkedChild child(core, [&](int pipe) { ... write(pipe, &record, sizeof record) ... });
//   while (child.read(bytes_of(record), Seconds{10}) == ForkedChild::Got::kRecord) { ... }
//   if (std::string how = child.end(); !how.empty()) report(how);
//
// The child has default signal handling, no terminal, writes no file, starts no process or thread,
// gets no more memory than the machine has, dies with its parent and ends without running exit
// handlers. It is killed and reaped when the object goes. Forks: no other
// thread of this process may hold a lock the work needs.
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

  // core < 0: not pinned. Throws Error when the system has no process or pipe left.
  ForkedChild(int core, const std::function<void(int pipe)>& work);
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;
  ~ForkedChild();

  // The next record, whole; kEnd when the child has ended (or broke off inside one).
  Got read(std::span<std::byte> record, Seconds timeout);
  // Waits for a child that has ended, after killing one that has not when `kill` is set. How it
  // ended: "killed by SIGSEGV", "ended with status 3"; empty for an ordinary end.
  std::string end(bool kill);

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
};

// The cores this thread may run on, in order. Throws Error when the system does not say.
[[nodiscard]] std::vector<int> allowed_cores();

// Keeps this thread off `core` while it lives, if it may run elsewhere: what measures on that core
// is not to be disturbed by the one who waits for it.
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
