// Measurements made by the analytical model itself on a device whose constants are known, so that a
// fit can be asked to find them again.
#pragma once

#include "hwdesc/device.h"
#include "measured/samples.h"

namespace tilecast::hybrid {

// `kernels` sums of one to four rows x 1024 arrays, each with `tiles` tiles, timed on `truth` times
// exp(noise x a fixed sequence in [-1, 1]).
[[nodiscard]] measured::SampleSet synthetic_set(const hwdesc::Device& truth, int kernels, int tiles,
                                                double noise = 0);

// `count` products of 64 to 8,192 rows and columns, small and large, bound by memory and by units,
// timed on `truth` times exp(noise x a normal number).
[[nodiscard]] measured::SampleSet product_set(const hwdesc::Device& truth, int count,
                                              std::uint64_t seed, double noise);

}  // namespace tilecast::hybrid
