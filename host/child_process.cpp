#include "host/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>
#include <thread>
#include <utility>

#include "base/error.h"

extern char** environ;

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

namespace {

using Words = std::vector<std::string>;

constexpr std::size_t kMaxTextBytes = 4000;

// This process's environment, with the C locale and `folder` for temporary files.
Words environment_with(const std::string& folder) {
  Words all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view view = *entry;
    const bool replaced =
        view.starts_with("LC_ALL=") || (!folder.empty() && view.starts_with("TMPDIR="));
    if (!replaced) all.emplace_back(view);
  }
  all.push_back("LC_ALL=C");
  if (!folder.empty()) all.push_back("TMPDIR=" + folder);
  return all;
}

std::vector<char*> pointers(Words& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

// Starts the command in its own process group, so that its children end with it. Returns 0 or an
// error number.
int spawn(Words& command, const std::string& folder, int output, pid_t* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  Words environment = environment_with(folder);
  const int failed = ::posix_spawnp(pid, command.front().c_str(), &actions, &attributes,
                                    pointers(command).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

}  // namespace

ChildCommand::ChildCommand(Words command, const std::string& folder, Seconds timeout)
    : deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(timeout.value))) {
  TC_CHECK(!command.empty(), "a command has a name");
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(fmt::format("{}: no pipe: {}", command.front(), std::strerror(errno)));
  }
  const int failed = spawn(command, folder, ends[1], &pid_);
  ::close(ends[1]);
  if (failed != 0) {
    ::close(ends[0]);
    throw Error(fmt::format("{}: cannot be started: {}", command.front(), std::strerror(failed)));
  }
  fd_ = ends[0];
}

ChildCommand::ChildCommand(ChildCommand&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      fd_(std::exchange(other.fd_, -1)),
      deadline_(other.deadline_),
      text_(std::move(other.text_)) {}

ChildCommand::~ChildCommand() {
  if (fd_ >= 0) ::close(fd_);
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool ChildCommand::read_some() {
  std::array<char, 4096> buffer;
  pollfd fd{fd_, POLLIN, 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
  const int ready = ::poll(&fd, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
  if (ready == 0) return false;
  if (ready < 0) return errno == EINTR;
  const ssize_t got = ::read(fd_, buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR;
  // Output beyond the limit is read and dropped, so that the command does not block.
  if (text_.size() <= kMaxTextBytes) text_.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

std::string ChildCommand::text() const {
  const auto last = text_.find_last_not_of(" \t\r\n");
  if (last == std::string::npos) return "";
  if (last >= kMaxTextBytes) return text_.substr(0, kMaxTextBytes) + " ...";
  return text_.substr(0, last + 1);
}

std::optional<int> ChildCommand::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, WNOHANG) != pid_) {
    if (Clock::now() >= deadline_) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  pid_ = -1;
  return status;
}

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  const char* set = std::getenv("TMPDIR");
  const fs::path parent = set != nullptr && *set != '\0' ? set : "/tmp";
  path_ = (parent / "tilecast-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) {
    throw Error(fmt::format("{}: cannot make a folder here: {}; set TMPDIR to a writable one",
                            parent.string(), std::strerror(errno)));
  }
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& text) const {
  std::string path = file(name);
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw Error(fmt::format("{}: cannot be written; is the disk full?", path));
  return path;
}

}  // namespace tilecast::host
