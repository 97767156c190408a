// Reads the Mosaic module of a Pallas kernel for TPUs (jax/jaxlib/mosaic: the tpu, vector, arith,
// scf, memref and func dialects) and walks its grid.
//
// Index maps and conditions of whole numbers are evaluated, also over grids of a million steps;
// beyond, evenly spaced steps stand for all. A block stays while its index map gives the same
// indices. What data decide is not known: such a block moves whenever what it depends on does, such
// a branch is taken, a loop without known bounds runs once. Notes say so.
#pragma once

#include <cstddef>
#include <string_view>

#include "ir/kernel_body.h"

namespace tilecast::ir {

// `bytecode`: the module. `operands`, `results`: arrays of the call. Throws Error where it cannot
// be read (ir/mlir/mlir_bytecode.h), or is no such kernel. `stated_flops`: of the call, which size
// a loop of the grid whose size data decide; 0: not known. Thread-safe.
[[nodiscard]] KernelBody read_kernel_body(std::string_view bytecode, std::size_t operands,
                                          std::size_t results, double stated_flops = 0);

}  // namespace tilecast::ir
