#include "base/journal.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <optional>

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

// Parses a line without its LF; nullopt if it is damaged.
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

}  // namespace

std::uint64_t fnv1a(std::string_view text, std::uint64_t seed) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t hash = seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return hash;
}

Journal::Journal(std::string file, std::string_view identity, std::size_t tasks, bool resume)
    : file_(std::move(file), resume ? GrowingFile::Begin::kNewOrOn : GrowingFile::Begin::kNew,
            "this journal exists: --resume goes on with it; remove it to start over"),
      tasks_(tasks),
      flushed_(std::chrono::steady_clock::now()) {
  read(fmt::format("tilecast.journal/1 {:016x} {}\n", fnv1a(identity), tasks));
}

void Journal::read(std::string_view header) {
  const std::string text = file_.contents();
  if (std::string_view(text).substr(0, header.size()) != header) {
    if (!header.starts_with(text)) {
      throw Error(
          fmt::format("{}: the journal is of another study, program, device or version; remove it "
                      "to start over",
                      file_.path()));
    }
    file_.cut(0);
    file_.append(header);
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
      throw Error(fmt::format("{}:{}: the line is damaged; remove the journal to start over",
                              file_.path(), line));
    }
    known_.insert_or_assign(entry->first, std::move(entry->second));
    good = end + 1;
  }
  if (good < text.size()) file_.cut(good);
}

void Journal::add(std::span<const Entry> entries) {
  std::string text;
  for (const auto& [task, result] : entries) {
    text += journal_line(task, result);
  }
  file_.append(text);
  const auto now = std::chrono::steady_clock::now();
  if (now - flushed_ < std::chrono::seconds(1)) return;
  flushed_ = now;
  file_.flush();
}

}  // namespace tilecast::base
