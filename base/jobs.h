// Many independent pieces of work, over the threads of one process or over the ranks of an MPI run,
// in an order that does not matter.
//
//   Jobs jobs{.count = 10000, .run = [&](std::size_t i) { return row(i); }, .threads = 4};
//   JobResults done = run_jobs(jobs, launched_ranks().get());
//   done.results[17]      // row(17), whoever computed it
//
// Work is handed out in chunks that shrink towards the end, to whoever is free. Rank 0 computes,
// too, keeps the journal (base/journal.h) and gets the results; the other ranks get none. Results
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
  int threads = 1;                              // of each rank
  std::string journal = {};                     // file; empty: none
  std::string identity = {};                    // of the work, for the journal
  bool resume = false;                          // go on with the journal
  // On rank 0, by the thread that called run_jobs, every 0.2 s or oftener.
  std::function<void(std::size_t done)> progress = {};
  std::function<bool()> stop = {};  // asked as often; true: no more tasks begin
};

struct JobResults {
  std::vector<std::string> results;  // by task; empty on ranks above 0, and where it was stopped
  bool complete = false;
};

// Throws what `run` threw, of one task that failed (no others begin then; what is done stays in the
// journal), and Error where the journal cannot be kept or is another's.
[[nodiscard]] JobResults run_jobs(const Jobs& jobs, Ranks* ranks = nullptr);

}  // namespace tilecast::base
