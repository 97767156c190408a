// Shares the contents of equal kernels. Programs repeat layers, so a million kernels often have
// only a few hundred distinct contents.
//
//   KernelContents contents;
//   contents.share(kernel);   // shares the contents of an equal kernel seen before, if any
//
// Kernels are equal if they have the same fingerprint (ir/kernels/kernel_fingerprint.h), constants,
// comparisons and called operations, so that they cost and compute the same. Names and device
// groups are not shared. Kernels with ops that communicate with the outside (collectives, custom
// calls, host transfers) are never shared. Thread-safe.
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
