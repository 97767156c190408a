// Which element of an operand an element of a result is computed from: the one description that
// loop programs (from_kernel.h) and the host's generated code share. Pure functions; thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "ir/kernel.h"
#include "schedule/index.h"

namespace tilecast::schedule {

using Position = std::vector<Index>;  // of an element, by dimension

// The position in operand `number`, of shape `from`, for the element `at` of the op's result.
// `summed`: the position in what is summed up: the contracted dimensions of a dot, the input
// feature and then the window's taps of a convolution, the reduced dimensions of a reduce in
// ascending order. A convolution's image is counted in padded and dilated pixels, its features
// within a group. nullopt if a sum of the given positions does not say it: reshapes, pads, gathers,
// ...
[[nodiscard]] std::optional<Position> read_position(const ir::Op& op, std::size_t number,
                                                    const ir::Shape& from, const Position& at,
                                                    const Position& summed = {});

}  // namespace tilecast::schedule
