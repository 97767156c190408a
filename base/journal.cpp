#include "base/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "base/error.h"

namespace tilecast::base {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '\n') {
      out += '\\';
      out += c == '\n' ? 'n' : '\\';
    } else {
      out += c;
    }
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      out += text[i] == 'n' ? '\n' : text[i];
    } else {
      out += text[i];
    }
  }
  return out;
}

std::uint64_t checksum(std::size_t task, std::string_view result) {
  return fnv1a(result, fnv1a(fmt::format("{}", task)));
}

std::string journal_line(std::size_t task, const std::string& result) {
  return fmt::format("{} {:016x} {}\n", task, checksum(task, result), escaped(result));
}

// Nothing where the line (without its LF) is damaged.
std::optional<Journal::Entry> entry_of(std::string_view line) {
  const std::size_t first = line.find(' ');
  constexpr std::size_t kDigits = 16;
  if (first == std::string_view::npos || line.size() < first + kDigits + 2) return std::nullopt;
  std::size_t task = 0;
  std::uint64_t sum = 0;
  const char* const begin = line.data();
  const char* const digits = begin + first + 1;
  const auto task_end = std::from_chars(begin, begin + first, task);
  const auto sum_end = std::from_chars(digits, digits + kDigits, sum, 16);
  if (task_end.ec != std::errc() || task_end.ptr != begin + first) return std::nullopt;
  if (sum_end.ec != std::errc() || sum_end.ptr != digits + kDigits) return std::nullopt;
  if (line[first + 1 + kDigits] != ' ') return std::nullopt;
  std::string result = unescaped(line.substr(first + kDigits + 2));
  if (checksum(task, result) != sum) return std::nullopt;
  return Journal::Entry{task, std::move(result)};
}

[[noreturn]] void cannot(const std::string& file, const char* what) {
  throw Error(fmt::format("{}: cannot {} it: {}", file, what, std::strerror(errno)));
}

std::string contents(int fd, const std::string& file) {
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) cannot(file, "read");
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

// A process that was killed holds its lock until it is gone, which takes a moment.
bool locked(int fd) {
  constexpr std::chrono::milliseconds kStep{10}, kPatience{1000};
  for (std::chrono::milliseconds waited{0};; waited += kStep) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;
    if (waited >= kPatience) return false;
    std::this_thread::sleep_for(kStep);
  }
}

}  // namespace

std::uint64_t fnv1a(std::string_view text, std::uint64_t seed) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t hash = seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return hash;
}

Journal::Journal(std::string file, std::string_view identity, std::size_t tasks, bool resume)
    : file_(std::move(file)), tasks_(tasks), flushed_(std::chrono::steady_clock::now()) {
  const int flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | (resume ? 0 : O_EXCL);
  fd_ = ::open(file_.c_str(), flags, 0644);
  if (fd_ < 0 && errno == EEXIST) {
    throw Error(fmt::format(
        "{}: this journal exists: --resume goes on with it; remove it to begin anew", file_));
  }
  if (fd_ < 0) cannot(file_, "open");
  try {
    if (!locked(fd_)) {
      throw Error(fmt::format("{}: another process is writing this journal; wait for it", file_));
    }
    read(fmt::format("tilecast.journal/1 {:016x} {}\n", fnv1a(identity), tasks));
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

Journal::~Journal() {
  ::fsync(fd_);
  ::close(fd_);
}

void Journal::read(std::string_view header) {
  const std::string text = contents(fd_, file_);
  if (std::string_view(text).substr(0, header.size()) != header) {
    if (!header.starts_with(text)) {
      throw Error(
          fmt::format("{}: the journal is of another study, program, device or version; remove it "
                      "to begin anew",
                      file_));
    }
    if (::ftruncate(fd_, 0) != 0) cannot(file_, "write");
    append(header);
    return;
  }
  std::size_t good = header.size();
  for (int line = 2; good < text.size(); ++line) {
    const std::size_t end = text.find('\n', good);
    const bool whole = end != std::string::npos;
    auto entry = entry_of(std::string_view(text).substr(good, whole ? end - good : text.size()));
    if (!whole) break;
    if (!entry || entry->first >= tasks_) {
      if (end + 1 == text.size()) break;
      throw Error(
          fmt::format("{}:{}: the line is damaged; remove the journal to begin anew", file_, line));
    }
    known_.insert_or_assign(entry->first, std::move(entry->second));
    good = end + 1;
  }
  if (good < text.size() && ::ftruncate(fd_, static_cast<off_t>(good)) != 0) cannot(file_, "write");
}

void Journal::append(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) cannot(file_, "write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Journal::add(std::span<const Entry> entries) {
  std::string text;
  for (const auto& [task, result] : entries) {
    text += journal_line(task, result);
  }
  append(text);
  const auto now = std::chrono::steady_clock::now();
  if (now - flushed_ < std::chrono::seconds(1)) return;
  flushed_ = now;
  if (::fsync(fd_) != 0 && errno != EINVAL) cannot(file_, "write");
}

}  // namespace tilecast::base
