// Which region of an operand an op reads for a region of its result: the one place that knows it.
//
// A region is a box: per dimension a number of elements, wherever it lies. An index map gives the
// box of one array from that of another: per dimension an affine map of up to two dimensions of the
// source, or as many elements as the source has, filled from the minor dimension (reshapes that
// neither split nor merge dimensions; gathers and scatters, whose data say where). Windows: input =
// (output - 1) * stride + (window - 1) * dilation + 1 (XLA operation semantics).
#pragma once

#include <array>
#include <optional>

#include "ir/kernel.h"

namespace tilecast::ir {

inline constexpr int kMaxMapRank = 8;  // of arrays with more, major dimensions count as one

struct DimMap {
  int source = -1;  // dimension of the source; -1: the whole dimension
  std::int64_t scale = 1;
  int second_source = -1;
  std::int64_t second_scale = 0;
  std::int64_t offset = 0;
  std::int64_t divisor = 1;  // the quotient is rounded up
  std::int64_t limit = 1;    // size of the dimension: extents never exceed it
  std::int64_t gap = 0;      // > 0: a piece this far from another, whose extent it adds to
  bool plain = false;        // just the source's extent, up to the limit
};

struct IndexMap {
  bool same_volume = false;  // same number of elements as the source, filled minor first
  int source_rank = 0;
  int rank = 0;
  std::array<DimMap, kMaxMapRank> dims;                // by dimension number
  std::array<std::int8_t, kMaxMapRank> minor_first{};  // for same_volume
};

// The region of operand `operand` that a region of the result needs. Of a contraction it is whole.
[[nodiscard]] IndexMap operand_map(const Kernel& kernel, const Op& op, std::size_t operand);
// The region of the result that a region of the operand determines.
[[nodiscard]] IndexMap result_map(const Kernel& kernel, const Op& op, std::size_t operand);
// The whole array, whatever the source.
[[nodiscard]] IndexMap whole_map(const Shape& shape);
// As many elements as a source of rank `source_rank`.
[[nodiscard]] IndexMap volume_map(int source_rank, const Shape& shape);
// Whether the map keeps every extent.
[[nodiscard]] bool is_identity(const IndexMap& map, const Shape& source);

// What an op does with an operand beyond reading the region of operand_map().
enum class OperandUse : std::uint8_t {
  kRegion,   // just that
  kPart,     // slices and gathers: it picks elements, where attributes or data say
  kTarget,   // in-place updates: it replaces some elements and passes the others on
  kSetting,  // indices, initial values, padding: they have no region
};
[[nodiscard]] OperandUse operand_use(Opcode opcode, std::size_t operands, std::size_t operand);
// The operand whose elements replace those of `target`; nullopt unless that is a kTarget.
[[nodiscard]] std::optional<std::size_t> replacement_of(Opcode opcode, std::size_t operands,
                                                        std::size_t target);

// The array that represents an op: its shape, or the first array of a tuple.
[[nodiscard]] const Shape& first_array(const Shape& shape);
// Dimension numbers of `shape`, most major first.
[[nodiscard]] Dims physical_order(const Shape& shape);

}  // namespace tilecast::ir
