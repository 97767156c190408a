#include "sim/cli/terminal.h"

#include <unistd.h>

#include <cstdio>

#include "base/text.h"

namespace tilecast::sim::cli {
namespace {

// Writes everything for stderr; write errors are ignored.
void to_stderr(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

void tell(std::string_view line) {
  to_stderr(base::printable(line) + '\n');
}

void tell_in_place(std::string_view line) {
  to_stderr("\r\x1b[K" + base::printable(line));
}

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

void Progress::say(const std::string& what) {
  if (shown_) tell_in_place(fmt::format("{} {}", what_, what));
}

void Progress::show_share(double share, const std::string& note) {
  show(static_cast<std::size_t>(share * kPercent), " %" + note);
}

void Progress::show(std::size_t done, const std::string& note) {
  if (!shown_) return;
  const std::lock_guard lock(mutex_);
  done_ = done;
  tell_in_place(fmt::format("{} {} of {}{}", what_, done_, total_, note));
}

Interrupt::Interrupt() {
  interrupted = 0;
  struct sigaction action = {};
  action.sa_handler = [](int) {
    interrupted = 1;
    constexpr std::string_view kNotice =
        "\nstopping after what is being timed; Ctrl-C again ends at once\n";
    // write() is async-signal-safe.
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kNotice.data(), kNotice.size());
  };
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigaction(SIGINT, &action, &before_);
}

Interrupt::~Interrupt() {
  sigaction(SIGINT, &before_, nullptr);
}

bool Interrupt::asked() {
  return interrupted != 0;
}

void end_as_interrupted() {
  std::fflush(nullptr);
  std::signal(SIGINT, SIG_DFL);
  std::raise(SIGINT);
}

}  // namespace tilecast::sim::cli
