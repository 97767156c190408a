// A hash of a kernel's computation, independent of names.
//
// Kernels with equal fingerprints have the same ops, shapes, layouts, attributes, work counts,
// compiler tile and group size, so every cost model gives them the same answer on a device without
// a slice. The devices of a collective (device_groups()) are not part of it. With 128 bits, the
// probability of an accidental match among a billion kernels is below 1e-20. Stable within one
// process only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>

#include "ir/kernel.h"

namespace tilecast::ir {

using Fingerprint = std::array<std::uint64_t, 2>;

[[nodiscard]] Fingerprint fingerprint(const Kernel& kernel);

// Shares the contents of equal kernels. Programs repeat layers, so a million kernels often have
// only a few hundred distinct contents.
//
//   KernelContents contents;
//   contents.share(kernel);   // shares the contents of an equal kernel seen before, if any
//
// Kernels are equal if they have the same fingerprint, constants, comparisons and called
// operations, so that they cost and compute the same. Names and device groups are not shared.
// Kernels with ops that communicate with the outside (collectives, custom calls, host transfers)
// are never shared. Thread-safe.
class KernelContents {
 public:
  void share(Kernel& kernel);

 private:
  std::mutex mutex_;
  std::map<Fingerprint, Shared<Kernel::Content>> known_;
};

}  // namespace tilecast::ir
