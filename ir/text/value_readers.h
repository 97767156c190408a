// Readers of whole values, each starting at the cursor's token, and the text that values are kept
// as. Used by the parse_*.cpp files only; not part of the interface.
#pragma once

#include "ir/text/parse_cursor.h"

namespace tilecast::ir {

// "{1,2}" and "{{0,1},{2,3}}".
[[nodiscard]] std::string to_text(std::span<const std::int64_t> values);
[[nodiscard]] std::string to_text(const std::vector<Dims>& lists);
// White space and comments removed outside strings; one space kept after each comma when asked.
[[nodiscard]] std::string compact(std::string_view text, bool space_after_comma);
[[nodiscard]] std::string canonical_string(std::string_view literal_body);  // "\"...\""

[[nodiscard]] Shape read_shape(Cursor& cursor);
[[nodiscard]] Shape read_shape_before_literal(Cursor& cursor);  // of `literal=s32[2] {1,2}`
[[nodiscard]] bool at_shape(Cursor& cursor);
void fill_default_layouts(Shape& shape);
[[nodiscard]] Window read_window(Cursor& cursor);
[[nodiscard]] ConvDims read_conv_dims(Cursor& cursor);
[[nodiscard]] std::vector<PadDim> read_padding(Cursor& cursor);
[[nodiscard]] std::vector<SliceDim> read_slices(Cursor& cursor);
[[nodiscard]] ReplicaGroups read_replica_groups(Cursor& cursor);
[[nodiscard]] std::vector<Alias> read_aliases(Cursor& cursor, bool with_kind);
[[nodiscard]] Dims read_shape_index(Cursor& cursor);
[[nodiscard]] std::string read_sharding(Cursor& cursor);
[[nodiscard]] std::string read_metadata(Cursor& cursor);       // the text inside the braces
[[nodiscard]] std::string read_metadata_list(Cursor& cursor);  // {..} or {{..}, {..}}
[[nodiscard]] std::string read_frontend_attributes(Cursor& cursor);
[[nodiscard]] std::string read_statistics(Cursor& cursor);
[[nodiscard]] std::string read_result_accuracy(Cursor& cursor);
[[nodiscard]] std::string read_origin(Cursor& cursor);
[[nodiscard]] Literal read_literal(Cursor& cursor, const Shape& shape);
// `[2,4]<=[8]`, `[2,4]<=[4,2]T(1,0)` after the dimensions: the numbers in order, and their text.
struct IotaList {
  std::vector<std::int64_t> ids;
  std::string text;  // `<=[4,2]T(1,0)`
};
[[nodiscard]] Dims read_square_dims(Cursor& cursor);  // [2,4]
[[nodiscard]] IotaList read_iota(Cursor& cursor, std::int64_t count, bool expand);
[[nodiscard]] Dims read_permutation(Cursor& cursor, std::size_t rank);  // T(1,0)
// The devices of a tile assignment of these dimensions; an error at `begin` when too many.
[[nodiscard]] std::int64_t product_of(const Cursor& cursor, const Dims& dims, std::size_t begin);
// Numbers 0..count-1 in the row-major order of `reshape` transposed by `permutation`.
[[nodiscard]] std::vector<std::int64_t> expand_iota(const Dims& reshape, const Dims& permutation,
                                                    std::int64_t count);
[[nodiscard]] std::string read_named_sharding(Cursor& cursor);  // after `{`, with its `}`
// `mesh['x'=2,'y'=4] {'y'}`: devices that differ in the named axes only are a group.
[[nodiscard]] ReplicaGroups read_mesh_groups(Cursor& cursor);
[[nodiscard]] std::vector<std::vector<std::int64_t>> in_groups_of(
    std::int64_t size, std::span<const std::int64_t> ids);

}  // namespace tilecast::ir
