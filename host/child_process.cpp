#include "host/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "base/error.h"

namespace tilecast::host {
namespace {

constexpr int kPriority = -10;    // nice value of a pinned child, ahead of other processes
constexpr int kFailedStatus = 3;  // exit status if the child's work threw

bool pin_to(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

void limit(int resource, rlim_t most) {
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &now) != 0) return;
  now.rlim_cur = now.rlim_max = std::min(most, now.rlim_max);
  ::setrlimit(static_cast<__rlimit_resource>(resource), &now);
}

// Limits the resources of untrusted compiled code: no core file, no processes or threads (except
// for an administrator), few open files and none written, and at most the machine's memory. The
// parent limits its time.
void limit_resources() {
  constexpr rlim_t kFiles = 64;
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NPROC, 0);
  limit(RLIMIT_NOFILE, kFiles);
  const auto page = static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
  unsigned long used = 0;  // pages of address space; terabytes under a sanitizer
  if (std::FILE* const file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%lu", &used) != 1) used = 0;
    std::fclose(file);
  }
  if (used > 0) {
    limit(RLIMIT_AS, (used + static_cast<rlim_t>(::sysconf(_SC_PHYS_PAGES))) * page);
  }
}

// In the child: resets inherited state, silences output, and ties its life to the parent's.
void become_a_child(pid_t parent, int core) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kFailedStatus);  // the parent ended before prctl()
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  ::signal(SIGINT, SIG_IGN);  // the parent handles Ctrl-C
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  limit_resources();
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; null >= 0 && fd <= 2; ++fd) ::dup2(null, fd);
  if (core < 0) return;
  pin_to({core});
  ::setpriority(PRIO_PROCESS, 0, kPriority);  // best effort: needs privileges
}

[[noreturn]] void run_child(pid_t parent, int core, int fd, const std::function<void(int)>& work) {
  // Moves the pipe off the numbers of the standard streams, which are replaced.
  const int pipe = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  become_a_child(parent, core);
  try {
    work(pipe);
  } catch (...) {
    ::_exit(kFailedStatus);
  }
  ::_exit(0);
}

std::string signal_name(int number) {
  const char* short_name = ::sigabbrev_np(number);
  return short_name != nullptr ? fmt::format("SIG{}", short_name)
                               : fmt::format("signal {}", number);
}

}  // namespace

ForkedChild::ForkedChild(int core, const std::function<void(int pipe)>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(fmt::format("child process: no pipe: {}", std::strerror(errno)));
  }
  std::fflush(nullptr);
  std::cout.flush();
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(ends[0]);
    run_child(parent, core, ends[1], work);
  }
  ::close(ends[1]);
  fd_ = ends[0];
  if (pid_ < 0) {
    ::close(fd_);
    throw Error(fmt::format("child process: cannot fork: {}", std::strerror(errno)));
  }
}

ForkedChild::~ForkedChild() {
  end(true);
  ::close(fd_);
}

ForkedChild::Got ForkedChild::read(std::span<std::byte> record, Seconds timeout) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(timeout.value));
  std::size_t have = 0;
  while (have < record.size()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return Got::kTimeout;
    pollfd fd{fd_, POLLIN, 0};
    if (::poll(&fd, 1, static_cast<int>(std::min<std::int64_t>(left, 1 << 30))) <= 0) continue;
    const ssize_t got = ::read(fd_, record.data() + have, record.size() - have);
    if (got == 0) return Got::kEnd;
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  return Got::kRecord;
}

std::string ForkedChild::end(bool kill) {
  if (pid_ <= 0) return "";
  if (kill) ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFSIGNALED(status)) return "killed by " + signal_name(WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) return fmt::format("ended with status {}", WEXITSTATUS(status));
  return "";
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) {
    throw Error(
        fmt::format("cores: the system does not say which we may use: {}", std::strerror(errno)));
  }
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

KeptOff::KeptOff(int core) {
  const std::vector<int> before = allowed_cores();
  std::vector<int> others = before;
  std::erase(others, core);
  if (others.empty() || others.size() == before.size() || !pin_to(others)) return;
  before_ = before;
}

KeptOff::~KeptOff() {
  if (!before_.empty()) pin_to(before_);
}

}  // namespace tilecast::host
