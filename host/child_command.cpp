#include "host/child_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "base/error.h"

extern char** environ;

namespace tilecast::host {
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

}  // namespace tilecast::host
