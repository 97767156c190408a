// Runs many independent tasks on the threads of one process, or on the ranks of an MPI run, in any
// order.
//
//   Jobs jobs{.count = 10000, .run = [&](std::size_t i) { return row(i); }, .threads = 4};
//   JobResults done = run_jobs(jobs, launched_ranks().get());
//   done.results[17]      // row(17), whoever computed it
//
// Idle threads and ranks take chunks of tasks, which get smaller towards the end. Rank 0 computes
// too, keeps the journal and returns the results; other ranks return none. Results
// are bytes, in the order of the tasks: the same for any number of threads and ranks, and after any
// number of interruptions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/output_file.h"

namespace tilecast::base {

// Messages between the processes of a parallel run (mpirun -n 4 tilecast ...).
//
//   std::unique_ptr<Ranks> ranks = launched_ranks();   // null: this process runs alone
//
// MPI is a separate module (base/mpi), loaded only under mpirun. All ranks create and destroy their
// object; only the thread that created it may use it. Throws Error.
class Ranks {
 public:
  struct Message {
    int from = 0;
    std::string bytes;
  };
  virtual ~Ranks() = default;  // waits for the others
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  virtual void send(int to, std::string_view bytes) = 0;    // below 2 GiB
  [[nodiscard]] virtual std::optional<Message> poll() = 0;  // never waits
};

// Whether mpirun (Open MPI) started this process; does not need MPI.
[[nodiscard]] bool under_mpirun();
[[nodiscard]] std::unique_ptr<Ranks> launched_ranks();

// The interface of the module, exported as C symbols:
//   std::uint64_t tilecast_mpi_module_abi();   // kMpiModuleAbi of its build
//   void* tilecast_mpi_module();               // a RanksMaker
using RanksMaker = std::unique_ptr<Ranks>();
inline constexpr unsigned long kMpiModuleAbi = 1;

struct Jobs {
  std::size_t count = 0;
  std::function<std::string(std::size_t)> run;  // thread-safe; the same bytes for the same index
  int threads = 1;                              // per rank
  std::string journal = {};                     // its file; empty: none
  std::string identity = {};                    // of the work; a journal of other work is refused
  bool resume = false;                          // continue an existing journal
  // Called on rank 0 by the thread that called run_jobs, at least every 0.2 s.
  std::function<void(std::size_t done)> progress = {};
  std::function<bool()> stop = {};  // called as often; true: no more tasks start
};

struct JobResults {
  std::vector<std::string> results;  // by task; empty on ranks above 0, and if stopped
  bool complete = false;
};

// Rethrows an exception of `run` (from another rank as Error); no further tasks start then, and
// results so far stay in the journal. Throws Error if the journal cannot be used or is of other
// work.
[[nodiscard]] JobResults run_jobs(const Jobs& jobs, Ranks* ranks = nullptr);

// Finished tasks of long work, on disk, so that it can continue after an interruption.
//
//   Journal journal("sweep.journal", identity, 10000, /*resume=*/true);
//   for (const auto& [task, result] : journal.known()) ...
//   journal.add({{17, "row"}});         // survives the end of this process once it returns
//
// One line per result: the task, a checksum (FNV-1a, 64 bits) and the escaped result. A torn last
// line is dropped; a damaged line before it is an Error. Flushed to disk once a second and at the
// end. Used by one process at a time (locked). Not thread-safe.

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
