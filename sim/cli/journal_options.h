// Options of verbs with long work: a journal of finished work (base/jobs.h), and resuming from
// it.
#pragma once

#include <string>

#include "sim/cli/options.h"

namespace tilecast::sim::cli {

struct JournalOptions {
  std::string file;
  bool resume = false;
};

void add_journal_options(CLI::App& verb, JournalOptions& options);
// The file of --journal, else FILE.journal for --output FILE; "": no journal. Throws UsageError if
// --resume is given with neither.
[[nodiscard]] std::string journal_file(const JournalOptions& options, const OutputOptions& output);
// Call it once the result is written: removes a journal that --journal did not name.
void end_journal(const JournalOptions& options, const std::string& file);
// Call it after Ctrl-C: prints how to resume and ends the process.
void end_interrupted(const std::string& journal);
// Threads of this process: --jobs, or 1 under mpirun if --jobs is not given.
[[nodiscard]] int threads_of(const CLI::App& verb, int jobs);

}  // namespace tilecast::sim::cli
