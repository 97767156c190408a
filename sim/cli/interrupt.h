// Ctrl-C during long work: the first asks it to stop where it can go on later, the second ends the
// process.
#pragma once

#include <csignal>

namespace tilecast::sim::cli {

// While one lives the first Ctrl-C is only noted. At most one at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  [[nodiscard]] static bool asked();

 private:
  struct sigaction before_ = {};
};

// Ends this process as an interrupt does (shells see 130): for after the answer was written.
void end_as_interrupted();

}  // namespace tilecast::sim::cli
