#include "sim/cli/journal_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "base/error.h"
#include "base/jobs.h"
#include "sim/cli/interrupt.h"

namespace tilecast::sim::cli {

void add_journal_options(CLI::App& verb, JournalOptions& options) {
  add_output_file(verb, "--journal", options.file,
                  "file that keeps what is done; without it OUTPUT.journal, removed at the end");
  verb.add_flag("--resume", options.resume, "go on with the journal of a run that was broken off");
}

std::string journal_file(const JournalOptions& options, const OutputOptions& output) {
  if (!options.file.empty()) return options.file;
  if (!output.file.empty()) return output.file + ".journal";
  if (options.resume) {
    throw UsageError(
        "--resume: expected --journal FILE, or --output FILE, whose journal is FILE.journal");
  }
  return "";
}

void end_journal(const JournalOptions& options, const std::string& file) {
  if (options.file.empty() && !file.empty()) std::filesystem::remove(file);
}

void end_interrupted(const std::string& journal) {
  if (!journal.empty()) tell(fmt::format("note: --resume goes on with {}", journal));
  end_as_interrupted();
}

int threads_of(const CLI::App& verb, int jobs) {
  return base::under_mpirun() && verb.count("--jobs") == 0 ? 1 : jobs;
}

}  // namespace tilecast::sim::cli
