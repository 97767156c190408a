// A number that tells kernels apart by what they compute, not by what they are called.
//
// Two kernels with equal fingerprints have the same ops, shapes, layouts, attributes, work counts,
// tile of the compiler and size of group: every cost model gives them the same answer on a device
// without a slice. Which devices a permute joins (device_groups()) is no part of it. 128 bits, so
// that an accidental match among a billion kernels has a chance below 1e-20. Stable within one
// process only.
#pragma once

#include <array>
#include <cstdint>

#include "ir/kernel.h"

namespace tilecast::ir {

using Fingerprint = std::array<std::uint64_t, 2>;

[[nodiscard]] Fingerprint fingerprint(const Kernel& kernel);

}  // namespace tilecast::ir
