// Finished tasks of long work, on disk, so that it can continue after an interruption.
//
//   Journal journal("sweep.journal", identity, 10000, /*resume=*/true);
//   for (const auto& [task, result] : journal.known()) ...
//   journal.add({{17, "row"}});         // survives the end of this process once it returns
//
// One line per result: the task, a checksum (FNV-1a, 64 bits) and the escaped result. A torn last
// line is dropped; a damaged line before it is an Error. Flushed to disk once a second and at the
// end. Used by one process at a time (locked). Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/output_file.h"

namespace tilecast::base {

// FNV-1a, 64 bits (Fowler, Noll, Vo). Not cryptographic.
[[nodiscard]] std::uint64_t fnv1a(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325);

class Journal {
 public:
  using Entry = std::pair<std::size_t, std::string>;  // task, result

  // `identity`: describes the work; a journal of other work is refused. `resume`: continue the file
  // if it exists; otherwise an existing file is refused. Throws Error.
  Journal(std::string file, std::string_view identity, std::size_t tasks, bool resume);

  [[nodiscard]] const std::map<std::size_t, std::string>& known() const { return known_; }
  void add(std::span<const Entry> entries);

 private:
  void read(std::string_view header);

  GrowingFile file_;
  std::size_t tasks_;
  std::map<std::size_t, std::string> known_;
  std::chrono::steady_clock::time_point flushed_;
};

}  // namespace tilecast::base
