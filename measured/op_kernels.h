// Builds the kernels that a device runs for the operators of a table.
//
// matmul                batch (1), m, n, k                 [batch,m,k] x [batch,k,n]
// conv2d                n, h, w, ci, co, kh, kw, stride (1), padding (0 | pixels | same | valid)
// conv2d_grad_input     as conv2d: gradient to the n x h x w x ci input
// conv2d_grad_weight    as conv2d: gradient to the kh x kw x ci x co weights
// softmax, layernorm    rows, columns; over the columns
// reduce                rows, columns; sums over the columns
// transpose             batch (1), rows, columns
// gelu, copy, elementwise ops by HLO opcode name    elements | rows, columns
// all_reduce            elements | rows, columns; devices (those of one host)
// Every row: dtype. `out_dtype` changes the result of convert, matmul and conv2d*.
//
// softmax, layernorm and gelu are one fusion each, or several launches according to the column
// `execution`: fused (one), reductions (a new kernel after every reduction) or ops (one per op). By
// default, softmax and layernorm have one kernel per reduction on machines with a scratchpad,
// because their compiler ends kernels there. 16-bit floats are computed in f32 internally, as in
// XLA's float normalisation. Convolution gradients are convolutions, as in XLA: to the input with
// dilated, reversed windows, to the weights with batch and feature swapped.
#pragma once

#include <cstdint>
#include <vector>

#include "hwdesc/device.h"
#include "ir/kernel.h"
#include "ir/kernels/kernel_split.h"
#include "ir/layout_assignment.h"
#include "measured/csv.h"

namespace tilecast::measured {

struct OpDefaults {
  ir::LayoutRules layout;
  std::int64_t all_reduce_devices = 1;
  ir::Launches launches = ir::Launches::kFused;  // of softmax and layernorm if `execution` is empty
  // The largest operand of a product stays on chip between runs if it fits into this many bytes.
  double kept_bytes = 0;
};
// `repeated`: the operator is part of a program that runs repeatedly.
[[nodiscard]] OpDefaults op_defaults(const hwdesc::Device& device, bool repeated = false);

// The operator as a single kernel, ignoring `execution`. Throws Error naming file, row and column.
[[nodiscard]] ir::Kernel operator_kernel(const CsvTable& table, const CsvRow& row,
                                         const OpDefaults& defaults);
// The kernels launched for the operator, in order. Throws Error as above.
[[nodiscard]] std::vector<ir::Kernel> operator_launches(const CsvTable& table, const CsvRow& row,
                                                        const OpDefaults& defaults);

}  // namespace tilecast::measured
