#include "sim/cli/interrupt.h"

#include <unistd.h>

#include <cstdio>
#include <string_view>

namespace tilecast::sim::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

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
