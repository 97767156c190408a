// Layouts and memory spaces along the edges of the program.
#include <algorithm>

#include "ir/verify/verify_rules.h"

namespace tilecast::ir::verification {
namespace {

constexpr int kDevice = 0;
constexpr int kFastMemory = 1;

// Operations whose result must keep the layout of their operands, as in XLA's layout assignment.
bool keeps_layout(Opcode opcode) {
  using enum Opcode;
  return is_elementwise(opcode) ||
         is_one_of(opcode, {kAllReduce, kConcatenate, kDynamicSlice, kDynamicUpdateSlice, kFft,
                            kCholesky, kTriangularSolve, kPad, kReduceWindow, kReverse, kScatter,
                            kSelectAndScatter, kSlice, kSort, kOptBarrier});
}

bool may_change_element_bits(Opcode opcode, DType operand) {
  return opcode == Opcode::kConvert || opcode == Opcode::kCompare || opcode == Opcode::kIsFinite ||
         opcode == Opcode::kScatter || (opcode == Opcode::kSelect && operand == DType::kPred);
}

void check_memory_spaces(const Site& site, int from, int to) {
  const Opcode opcode = site.instruction.opcode;
  fail_if(from == kFastMemory && to != kFastMemory,
          "Instruction shouldn't change layout memory space between generic fast memory space and "
          "others for instruction: {}",
          site.instruction.name);
  fail_if(opcode == Opcode::kDynamicSlice && from == kDevice && to == kHostMemory,
          "DynamicSlice instruction shouldn't change layout memory space from device to host: {}",
          site.instruction.name);
  fail_if(
      opcode == Opcode::kDynamicUpdateSlice && from == kHostMemory && to == kDevice,
      "DynamicUpdateSlice instruction shouldn't change layout memory space from host to device: "
      "{}",
      site.instruction.name);
}

void check_kept_layout(const Site& site) {
  const Shape& result = site.instruction.shape;
  const Opcode opcode = site.instruction.opcode;
  for (std::size_t i = 0; i < site.count(); ++i) {
    const Shape& operand = site.operand(i);
    if (!operand.is_array() || operand.rank() != result.rank() || !operand.layout) continue;
    const Layout& from = *operand.layout;
    const Layout& to = *result.layout;
    if (opcode == Opcode::kDynamicSlice || opcode == Opcode::kDynamicUpdateSlice) {
      check_memory_spaces(site, from.memory_space, to.memory_space);
    }
    const bool same_bits =
        may_change_element_bits(opcode, operand.dtype) || from.element_bits == to.element_bits;
    fail_if(from.minor_to_major != to.minor_to_major || !same_bits,
            "Instruction shouldn't change layouts {} From {} To {}", site.instruction.name,
            ShapeText{operand}, ShapeText{result});
  }
}

// Dimensions of size 1 stand anywhere; the others must keep their order and their runs.
bool reshape_is_bitcast(const Shape& from, const Shape& to) {
  const auto major_to_minor = [](const Shape& shape) {
    Dims sizes;
    const Dims& order = shape.layout->minor_to_major;
    for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
      if (shape.dims[static_cast<std::size_t>(*dim)] != 1) sizes.push_back(*dim);
    }
    return sizes;
  };
  const auto is_row_major = [](const Dims& order) {
    return std::is_sorted(order.begin(), order.end());
  };
  const Dims a = major_to_minor(from);
  const Dims b = major_to_minor(to);
  if (is_row_major(a) && is_row_major(b)) return true;
  // Same physical order of equal sizes: only size-1 dimensions came or went.
  if (a.size() != b.size()) return false;
  Dims kept_a;
  Dims kept_b;
  for (const std::int64_t size : from.dims) {
    if (size != 1) kept_a.push_back(size);
  }
  for (const std::int64_t size : to.dims) {
    if (size != 1) kept_b.push_back(size);
  }
  if (kept_a != kept_b) return false;
  const auto ranks = [](const Dims& order) {
    Dims sorted = order;
    std::sort(sorted.begin(), sorted.end());
    Dims rank;
    for (const std::int64_t dim : order) {
      rank.push_back(std::find(sorted.begin(), sorted.end(), dim) - sorted.begin());
    }
    return rank;
  };
  return ranks(a) == ranks(b);
}

}  // namespace

void check_layouts(const Site& site) {
  const Shape& result = site.instruction.shape;
  const bool fused = site.facts.called_by_fusion[site.computation_id.index()];
  if (site.options.reshape_is_bitcast && site.instruction.opcode == Opcode::kReshape && !fused) {
    const Shape& from = site.operand(0);
    fail_if(from.layout && result.layout && !reshape_is_bitcast(from, result),
            "Reshape should be a physical bitcast, got: {} to {}", ShapeText{from},
            ShapeText{result});
  }
  if (!site.options.layout_sensitive || !result.is_array() || !result.layout) return;
  if (keeps_layout(site.instruction.opcode)) check_kept_layout(site);
}

}  // namespace tilecast::ir::verification
