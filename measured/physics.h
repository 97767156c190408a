// What measured times must obey, whatever model one believes: no row is faster than the speed of
// light (analytical/roofline.h), and none is a power of 1000 away from where the others of its set
// are.
#pragma once

#include "measured/samples.h"

namespace tilecast::measured {

// No launch of the work is faster. Arrays that fit a cache shared by all workers may be there from
// the launch before: what does not fit comes from main memory, all of it at the cache's rate.
// Convolutions of 3 x 3 and more, stride 1, may be computed with a quarter of their multiplications
// where the machine runs library kernels: Winograd's F(4x4, 3x3), Lavin and Gray, CVPR 2016.
// Asynchronous parts of programs may hide behind others and count nothing.
[[nodiscard]] Seconds light_time(const Workload& work, const hwdesc::Device& device);

// Of one launch of a kernel.
[[nodiscard]] Seconds light_time(const ir::Kernel& kernel, const hwdesc::Device& device);

// The faults of the samples, by line. `samples.faults` is left alone.
[[nodiscard]] std::vector<RowFault> physics_faults(const SampleSet& samples,
                                                   const hwdesc::Device& device, int jobs);

// What to say of rows that multiply f32 where a GPU's description rounds the operands first (TF32),
// which not every framework does; "" when there is nothing to say.
[[nodiscard]] std::string rounding_note(const SampleSet& samples, const hwdesc::Device& device);

}  // namespace tilecast::measured
