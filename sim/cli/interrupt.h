// Ctrl-C during long work: the first requests a stop at a point from which it can resume, the
// second ends the process.
#pragma once

#include <csignal>

namespace tilecast::sim::cli {

// During its lifetime the first Ctrl-C only sets a flag. At most one object at a time.
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

// Ends this process as SIGINT does (shells see 130); call it after the result was written.
void end_as_interrupted();

}  // namespace tilecast::sim::cli
