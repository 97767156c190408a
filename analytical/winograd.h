// Convolutions with fewer multiplications than their definition, as GPU libraries run them:
// Winograd's minimal filtering. F(m x m, 3 x 3) computes m x m results with (m + 2)^2
// multiplications instead of 9 m^2 (Lavin and Gray, CVPR 2016). Where products run on vector lanes,
// a library has two algorithms for 3 x 3 windows with stride 1 beside the product over window
// positions (SimtModel). Sizes are those of cuDNN 8.9 (docs/model.md).
//
//   fused     F(2x2): one kernel transforms the weights; in the other each block computes 4 x 8
//             tiles of 2 x 2 results of one image for 32 features: 16 products of 32 x 32, over all
//             input features
//   in parts  F(4x4): inputs and weights are transformed to memory, 36 products of (tiles, input
//             features) x (input features, features) run as one batch, and their results are
//             transformed back. Images are padded to 16. A power limit does not slow the products,
//             because arithmetic pauses during the transforms
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analytical/accounting.h"
#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

// Least multiplications relative to the definition: 1/4 for F(4x4, 3x3), else 1.
[[nodiscard]] double least_multiplications(const ir::Kernel& kernel);

// The faster of the two. nullopt if libraries have neither: other
// windows, fused kernels, types other than f32, products that do not run on vector lanes. `account`
// keeps a reference to the device.
[[nodiscard]] std::optional<Algorithm> winograd(const ir::Kernel& kernel,
                                                const hwdesc::Device& device);
[[nodiscard]] std::optional<Estimate> winograd_estimate(const ir::Kernel& kernel,
                                                        const hwdesc::Device& device);

}  // namespace tilecast::analytical
