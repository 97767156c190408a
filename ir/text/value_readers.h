// Readers of compound values, starting at the current token, and the canonical text of values.
// Internal to the parse_*.cpp files.
#pragma once

#include "ir/text/parse_cursor.h"

namespace tilecast::ir {

// "{1,2}" and "{{0,1},{2,3}}".
[[nodiscard]] std::string to_text(std::span<const std::int64_t> values);
[[nodiscard]] std::string to_text(const std::vector<Dims>& lists);
// Replaces white space outside strings by single spaces.
[[nodiscard]] std::string one_line(std::string_view text);
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
// Checks `[2,4]<=[8]` of a sharding: there must be as many devices as tiles.
void check_tiles(Cursor& cursor);
[[nodiscard]] std::vector<Alias> read_aliases(Cursor& cursor, bool with_kind);
[[nodiscard]] Dims read_shape_index(Cursor& cursor);
[[nodiscard]] Literal read_literal(Cursor& cursor, const Shape& shape);
[[nodiscard]] Dims read_square_dims(Cursor& cursor);  // [2,4]

}  // namespace tilecast::ir
