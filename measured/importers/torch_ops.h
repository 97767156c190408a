// The kernels that a device runs for an operator of PyTorch: products, convolutions and their
// gradients, attention, and operators over rows or elements, as operators of a table
// (measured/op_kernels.h) from the shapes and types that it was called with.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel.h"
#include "measured/importers/torch_trace.h"
#include "measured/op_kernels.h"

namespace tilecast::measured {

struct TorchKernels {
  std::vector<ir::Kernel> kernels;  // empty: not an operator that is known, or without shapes
  std::string op_class;             // "matmul", "attention", "layernorm" ...; else its name
};

// Elementwise operators count as the reads of their full-size operands and the write of one result.
// Thread-safe.
[[nodiscard]] TorchKernels kernels_of(const TorchOp& op, const OpDefaults& defaults);

}  // namespace tilecast::measured
