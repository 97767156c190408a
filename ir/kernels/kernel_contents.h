// What equal kernels of a program have in common, kept once: programs repeat layers, so that a
// million kernels often are a few hundred.
//
//   KernelContents contents;
//   contents.share(kernel);   // holds what an equal kernel holds, if one was here before
//
// Equal: one fingerprint (ir/kernels/kernel_fingerprint.h) and the same constants, comparisons and
// called operations, so that they cost and compute the same; names and device groups stay each
// kernel's own. Kernels with ops that speak to the world outside (collectives, custom calls, host
// transfers) are never shared. Thread-safe.
#pragma once

#include <map>
#include <mutex>

#include "ir/kernels/kernel_fingerprint.h"

namespace tilecast::ir {

class KernelContents {
 public:
  void share(Kernel& kernel);

 private:
  std::mutex mutex_;
  std::map<Fingerprint, Shared<Kernel::Content>> known_;
};

}  // namespace tilecast::ir
