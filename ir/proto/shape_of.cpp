// Converts shapes and layouts of HLO protos.
#include <fmt/format.h>

#include <limits>

#include "base/error.h"
#include "ir/proto/proto_text.h"

namespace tilecast::ir::proto_text {
namespace {

// Indexed by XLA's PrimitiveType.
constexpr std::array<DType, 35> kPrimitiveTypes = {
    DType::kInvalid,    DType::kPred, DType::kS8,       DType::kS16,           DType::kS32,
    DType::kS64,        DType::kU8,   DType::kU16,      DType::kU32,           DType::kU64,
    DType::kF16,        DType::kF32,  DType::kF64,      DType::kTuple,         DType::kOpaque,
    DType::kC64,        DType::kBF16, DType::kToken,    DType::kC128,          DType::kF8E5M2,
    DType::kF8E4M3FN,   DType::kS4,   DType::kU4,       DType::kF8E4M3B11FNUZ, DType::kF8E5M2FNUZ,
    DType::kF8E4M3FNUZ, DType::kS2,   DType::kU2,       DType::kF8E4M3,        DType::kF8E3M4,
    DType::kS1,         DType::kU1,   DType::kF4E2M1FN, DType::kF8E8M0FNU,     DType::kBuffer};

DType type_of(std::int32_t number) {
  if (number <= 0 || number >= static_cast<std::int32_t>(kPrimitiveTypes.size())) {
    fail_unknown("element type", number);
  }
  return kPrimitiveTypes[static_cast<std::size_t>(number)];
}

int small(std::int64_t value, std::string_view what) {
  if (value < 0 || value > std::numeric_limits<int>::max()) {
    throw Error(fmt::format("{} {} is out of range", what, value));
  }
  return static_cast<int>(value);
}

// `D(D,C+)`: how each dimension is stored.
std::string storage_levels(const hlo_proto::Layout& layout) {
  constexpr std::array<std::string_view, 4> kLevels = {"D", "C", "S", "H"};
  std::string text;
  for (int i = 0; i < layout.dim_level_types_size(); ++i) {
    text += text.empty() ? "" : ",";
    text += word(kLevels, layout.dim_level_types(i), "kind of dimension");
    if (i < layout.dim_unique_size() && !layout.dim_unique(i)) text += '+';
    if (i < layout.dim_ordered_size() && !layout.dim_ordered(i)) text += '~';
  }
  return text.empty() ? text : "D(" + text + ")";
}

Layout layout_of(const hlo_proto::Layout& proto) {
  Layout layout;
  layout.minor_to_major.assign(proto.minor_to_major().begin(), proto.minor_to_major().end());
  for (const hlo_proto::Tile& tile : proto.tiles()) {
    layout.tiles.emplace_back(tile.dimensions().begin(), tile.dimensions().end());
  }
  layout.tail_alignment = std::max<std::int64_t>(1, proto.tail_padding_alignment_in_elements());
  layout.element_bits = small(proto.element_size_in_bits(), "element size");
  layout.memory_space = small(proto.memory_space(), "memory space");
  layout.dynamic_prefix_bytes = proto.dynamic_shape_metadata_prefix_bytes();
  for (const hlo_proto::SplitConfig& split : proto.split_configs()) {
    layout.split_config +=
        fmt::format("({}:{})", split.dimension(), fmt::join(split.split_indices(), ","));
  }
  layout.other = storage_levels(proto);
  for (const auto& [sign, type] : {std::pair{'#', proto.index_primitive_type()},
                                   std::pair{'*', proto.pointer_primitive_type()}}) {
    if (type != 0) layout.other += fmt::format("{}({})", sign, name(type_of(type)));
  }
  if (proto.has_physical_shape()) {
    layout.other += "P(" + to_string(shape_of(proto.physical_shape())) + ")";
  }
  return layout;
}

}  // namespace

void fail_unknown(std::string_view what, std::int64_t number) {
  throw Error(fmt::format("unknown {} {}", what, number));
}

Shape shape_of(const hlo_proto::Shape& proto) {
  Shape shape;
  shape.dtype = type_of(proto.element_type());
  if (proto.dimensions_size() > Shape::kMaxRank) {
    throw Error(fmt::format("a shape has at most {} dimensions, got {}", Shape::kMaxRank,
                            proto.dimensions_size()));
  }
  shape.dims.assign(proto.dimensions().begin(), proto.dimensions().end());
  for (int i = 0; i < std::min(shape.rank(), proto.is_dynamic_dimension_size()); ++i) {
    if (proto.is_dynamic_dimension(i)) shape.set_dynamic(i);
  }
  for (const hlo_proto::Shape& element : proto.tuple_shapes()) {
    shape.elements.push_back(shape_of(element));
  }
  const bool laid_out = proto.has_layout() && shape.is_array() &&
                        (shape.dims.empty() || proto.layout().minor_to_major_size() > 0);
  if (laid_out) shape.layout = layout_of(proto.layout());
  return shape;
}

}  // namespace tilecast::ir::proto_text
