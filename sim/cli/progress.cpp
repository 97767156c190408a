#include "sim/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include "sim/cli/tell.h"

namespace tilecast::sim::cli {

Progress::Progress(std::string what, std::size_t total)
    : what_(std::move(what)), total_(total), shown_(total > 1 && isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_) tell_in_place("");
}

void Progress::step() {
  if (!shown_) return;
  const std::lock_guard lock(mutex_);
  tell_in_place(fmt::format("{} {} of {}", what_, ++done_, total_));
}

void Progress::show(std::size_t done, const std::string& note) {
  if (!shown_) return;
  const std::lock_guard lock(mutex_);
  done_ = done;
  tell_in_place(fmt::format("{} {} of {}{}", what_, done_, total_, note));
}

}  // namespace tilecast::sim::cli
