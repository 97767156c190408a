// Builds the kernels that a device runs for the operators of a table.
//
// matmul                batch (1), m, n, k                 [batch,m,k] x [batch,k,n]
// conv2d                n, h, w, ci, co, kh, kw, stride (1), padding (0 | pixels | same | valid),
//                       groups (1)
// conv2d_grad_input     as conv2d in one group: gradient to the n x h x w x ci input
// conv2d_grad_weight    as conv2d in one group: gradient to the kh x kw x ci x co weights
// softmax, layernorm    rows, columns; over the columns
// reduce                rows, columns; sums over the columns
// transpose             batch (1), rows, columns
// attention             batch (1), heads, kv_heads (heads), q_len, kv_len (q_len), head_dim,
//                       value_dim (head_dim), causal (0 | 1), window (0: all keys), kv_dtype
//                       (dtype), backward (0 | 1); fused, as libraries do it (ir/attention.h);
//                       writes_kv (0 | 1): a launch before copies the keys and values of the
//                       queries' positions, of dtype, into a cache of kv_dtype
// gelu, copy, elementwise ops by HLO opcode name    elements | rows, columns
// experts               expert_kernels.h; only operator_launches() has it
// all_reduce all_gather reduce_scatter all_to_all collective_permute
//                       elements | rows, columns: per device, of the result for all_gather, else of
//                       the operand; devices (those of one host)
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
#include <string>
#include <string_view>
#include <vector>

#include "hwdesc/device.h"
#include "ir/dtype.h"
#include "ir/kernel.h"
#include "ir/kernels/kernel_split.h"
#include "ir/layout_assignment.h"
#include "ir/shape.h"
#include "measured/csv.h"

namespace tilecast::measured {

struct OpDefaults {
  ir::LayoutRules layout;
  std::int64_t all_reduce_devices = 1;
  ir::Launches launches = ir::Launches::kFused;  // of softmax and layernorm if `execution` is empty
  bool thread_blocks = false;                    // kernels of experts come from libraries of GPUs
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

// One row of an operator table, read by column; every Error names file, row and column.

class OpRow {
 public:
  OpRow(const CsvTable& table, const CsvRow& row) : table_(table), row_(row) {}

  [[nodiscard]] std::string_view text(std::string_view column) const;
  // At least 1. An empty or absent cell gives `fallback`, or throws Error without one.
  [[nodiscard]] std::int64_t integer(std::string_view column,
                                     std::optional<std::int64_t> fallback = std::nullopt) const;
  [[nodiscard]] ir::DType dtype() const;                         // column dtype, required
  [[nodiscard]] ir::DType dtype(std::string_view column) const;  // that column, else dtype
  [[nodiscard]] ir::DType out_dtype() const;                     // column out_dtype, else dtype
  // The sizes in column `shape`, else {elements}, else {rows, columns}.
  [[nodiscard]] ir::Dims elements() const;
  // "1" or "true", "0", "false" or an empty cell.
  [[nodiscard]] bool flag(std::string_view column) const;
  // Sizes with x between them, each at least 1: "128x64". Required.
  [[nodiscard]] ir::Dims sizes(std::string_view column) const;
  [[noreturn]] void fail(std::string_view column, std::string_view message) const;

 private:
  const CsvTable& table_;
  const CsvRow& row_;
};

}  // namespace tilecast::measured
