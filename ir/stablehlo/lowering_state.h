// Part of the implementation of ir/stablehlo/lowering.h: its state for values, regions and
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/hlo.h"
#include "ir/mlir/mlir_tree.h"
#include "ir/stablehlo/attribute_values.h"

namespace tilecast::ir::stablehlo {

using Integers = std::vector<std::int64_t>;  // elements of an integer tensor, row-major

[[nodiscard]] inline Shape row_major(DType dtype, Dims dims) {
  Shape shape = Shape::array(dtype, std::move(dims));
  shape.layout = default_layout(shape.rank());
  return shape;
}

// How a region becomes a computation.
struct RegionForm {
  std::vector<Shape> arguments;   // of the block's arguments
  std::vector<ValueId> captures;  // values from outside that it uses
  bool packed = false;            // a single tuple parameter for arguments and captures
  bool returns_captures = false;  // returns captures after its own results
};

[[nodiscard]] inline std::span<const ValueId> operand_values(const Operation& op) {
  return {op.operands.data(), op.operands.size()};
}

struct Scope {  // a computation under construction
  Computation computation;
  std::unordered_map<ValueId, InstrId> local;  // of values from outside
  std::uint32_t serial = 0;
};
struct Binding {  // the instruction of a value
  InstrId id;
  std::uint32_t scope = 0;
};
struct Specialised {  // a function specialised for its argument shapes
  ComputationId computation;
  std::vector<Shape> results;
  std::vector<std::optional<Integers>> known;
};

}  // namespace tilecast::ir::stablehlo
