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

#include "ir/kernel.h"

namespace tilecast::ir {

using Fingerprint = std::array<std::uint64_t, 2>;

[[nodiscard]] Fingerprint fingerprint(const Kernel& kernel);

}  // namespace tilecast::ir
