// What long work has finished, on disk, so that it goes on after any interruption.
//
//   Journal journal("sweep.journal", identity, 10000, /*resume=*/true);
//   for (const auto& [task, result] : journal.known()) ...
//   journal.add({{17, "row"}});         // survives the end of this process when it returns
//
// A line per result: the task, a checksum (FNV-1a, 64 bits) and the result, escaped. A torn last
// line is dropped, a damaged one before it is an Error. Flushed to the disk once a second and at
// the end. One process at a time (locked). Not thread-safe.
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

// FNV-1a, 64 bits (Fowler, Noll, Vo): no protection against forgery.
[[nodiscard]] std::uint64_t fnv1a(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325);

class Journal {
 public:
  using Entry = std::pair<std::size_t, std::string>;  // task, result

  // `identity`: says what work it is; a journal of other work is refused. `resume`: go on with the
  // file if there is one; without it a file that exists is refused. Throws Error.
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
