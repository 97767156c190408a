// Runs many independent tasks on the threads of one process, or on the ranks of an MPI run, in any
// order.
//
//   Jobs jobs{.count = 10000, .run = [&](std::size_t i) { return row(i); }, .threads = 4};
//   JobResults done = run_jobs(jobs, launched_ranks().get());
//   done.results[17]      // row(17), whoever computed it
//
// Idle threads and ranks take chunks of tasks, which get smaller towards the end. Rank 0 computes
// too, keeps the journal (base/journal.h) and returns the results; other ranks return none. Results
// are bytes, in the order of the tasks: the same for any number of threads and ranks, and after any
// number of interruptions.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/ranks.h"

namespace tilecast::base {

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

}  // namespace tilecast::base
