// Plausibility checks of measured times that do not depend on a model's accuracy: no row is faster
// than the speed of light (analytical/roofline.h), and none is off by a power of 1000 relative to
// the others of its set.
#pragma once

#include "measured/samples.h"

namespace tilecast::measured {

// A lower bound of the time of a launch. Arrays may be left in a cache shared by all workers by the
// launch before: only what does not fit comes from main memory, and everything passes at the
// cache's rate. Convolutions of 3 x 3 and larger with stride 1 may need only a quarter of their
// multiplications if the machine runs library kernels (Winograd's F(4x4, 3x3); Lavin and Gray, CVPR
// 2016). Asynchronous parts of programs may be hidden and are not counted.
[[nodiscard]] Seconds light_time(const Workload& work, const hwdesc::Device& device);

// The same for one launch of a kernel.
[[nodiscard]] Seconds light_time(const ir::Kernel& kernel, const hwdesc::Device& device);

// The faults of the samples, by line. `samples.faults` is not changed.
[[nodiscard]] std::vector<RowFault> physics_faults(const SampleSet& samples,
                                                   const hwdesc::Device& device, int jobs);

// A note for rows that multiply f32 on a GPU whose description rounds the operands first (TF32),
// which not every framework does; "" if there are no such rows.
[[nodiscard]] std::string rounding_note(const SampleSet& samples, const hwdesc::Device& device);

}  // namespace tilecast::measured
