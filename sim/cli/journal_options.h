// What verbs of long work share: a journal of what is done (base/journal.h), and going on with it.
#pragma once

#include <string>

#include "sim/cli/options.h"

namespace tilecast::sim::cli {

struct JournalOptions {
  std::string file;
  bool resume = false;
};

void add_journal_options(CLI::App& verb, JournalOptions& options);
// --journal, else FILE.journal of --output FILE; empty: none. Throws UsageError where --resume has
// neither.
[[nodiscard]] std::string journal_file(const JournalOptions& options, const OutputOptions& output);
// Of work whose answer was written: removes a journal that --journal did not name.
void end_journal(const JournalOptions& options, const std::string& file);
// After Ctrl-C: how to go on; ends the process.
void end_interrupted(const std::string& journal);
// Threads of this process: --jobs; under mpirun, where it was not given, one.
[[nodiscard]] int threads_of(const CLI::App& verb, int jobs);

}  // namespace tilecast::sim::cli
