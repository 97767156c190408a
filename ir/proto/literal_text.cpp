// Converts shapes and layouts of HLO protos.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "base/error.h"
#include "ir/literal.h"
#include "ir/proto/proto_text.h"
#include "ir/text/hlo_lexer.h"

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

// Converts literals of HLO protos to text. Each element type has its own field, with elements in
// the order of the literal's layout.

namespace {

// The elements of an array as bits, from whichever field holds them.
struct Elements {
  std::int64_t count = 0;
  std::function<std::uint64_t(std::int64_t)> bits;
};

template <class Field>
Elements repeated(const Field& field) {
  return {field.size(), [&field](std::int64_t i) -> std::uint64_t {
            const auto value = field.Get(static_cast<int>(i));
            using Value = std::remove_const_t<decltype(value)>;
            if constexpr (std::is_same_v<Value, float>) return std::bit_cast<std::uint32_t>(value);
            if constexpr (std::is_same_v<Value, double>) return std::bit_cast<std::uint64_t>(value);
            return static_cast<std::uint64_t>(value);
          }};
}

// One or two bytes per element, little-endian.
Elements whole_bytes(const std::string& bytes, int width) {
  return {static_cast<std::int64_t>(bytes.size()) / width, [&bytes, width](std::int64_t i) {
            std::uint64_t value = 0;
            for (std::int64_t byte = width; byte-- > 0;) {
              const auto at = static_cast<std::size_t>(i * width + byte);
              value = value << 8 | static_cast<unsigned char>(bytes[at]);
            }
            return value;
          }};
}

// Several elements per byte, the first in the high bits; the last byte may be partly used.
Elements packed(const std::string& bytes, int width, std::int64_t wanted) {
  const std::int64_t per_byte = 8 / width;
  const auto most = static_cast<std::int64_t>(bytes.size()) * per_byte;
  return {most - wanted < per_byte ? std::min(most, wanted) : most,
          [&bytes, width, per_byte](std::int64_t i) {
            const auto byte =
                static_cast<unsigned char>(bytes[static_cast<std::size_t>(i / per_byte)]);
            const std::int64_t shift = width * (per_byte - 1 - i % per_byte);
            return std::uint64_t{byte} >> shift & ((std::uint64_t{1} << width) - 1);
          }};
}

Elements elements_of(const hlo_proto::Literal& literal, DType dtype, std::int64_t wanted) {
  switch (dtype) {
    case DType::kPred:
      return repeated(literal.preds());
    case DType::kS32:
      return repeated(literal.s32s());
    case DType::kS64:
      return repeated(literal.s64s());
    case DType::kU32:
      return repeated(literal.u32s());
    case DType::kU64:
      return repeated(literal.u64s());
    case DType::kF32:
      return repeated(literal.f32s());
    case DType::kF64:
      return repeated(literal.f64s());
    case DType::kC64:
      return repeated(literal.c64s());
    case DType::kC128:
      return repeated(literal.c128s());
    case DType::kS1:
      return packed(literal.s1s(), 1, wanted);
    case DType::kU1:
      return packed(literal.u1s(), 1, wanted);
    case DType::kS2:
      return packed(literal.s2s(), 2, wanted);
    case DType::kU2:
      return packed(literal.u2s(), 2, wanted);
    case DType::kS4:
      return packed(literal.s4s(), 4, wanted);
    case DType::kU4:
      return packed(literal.u4s(), 4, wanted);
    default:
      break;
  }
  using Bytes = const std::string& (hlo_proto::Literal::*)() const;
  constexpr std::pair<DType, Bytes> kBytes[] = {
      {DType::kS8, &hlo_proto::Literal::s8s},
      {DType::kU8, &hlo_proto::Literal::u8s},
      {DType::kS16, &hlo_proto::Literal::s16s},
      {DType::kU16, &hlo_proto::Literal::u16s},
      {DType::kF16, &hlo_proto::Literal::f16s},
      {DType::kBF16, &hlo_proto::Literal::bf16s},
      {DType::kF4E2M1FN, &hlo_proto::Literal::f4e2m1fns},
      {DType::kF8E3M4, &hlo_proto::Literal::f8e3m4s},
      {DType::kF8E4M3, &hlo_proto::Literal::f8e4m3s},
      {DType::kF8E4M3B11FNUZ, &hlo_proto::Literal::f8e4m3b11fnuzs},
      {DType::kF8E4M3FN, &hlo_proto::Literal::f8e4m3fns},
      {DType::kF8E4M3FNUZ, &hlo_proto::Literal::f8e4m3fnuzs},
      {DType::kF8E5M2, &hlo_proto::Literal::f8e5m2s},
      {DType::kF8E5M2FNUZ, &hlo_proto::Literal::f8e5m2fnuzs},
      {DType::kF8E8M0FNU, &hlo_proto::Literal::f8e8m0fnus}};
  const auto* found = std::find_if(std::begin(kBytes), std::end(kBytes),
                                   [dtype](const auto& row) { return row.first == dtype; });
  if (found == std::end(kBytes)) {
    throw Error(fmt::format("a literal of type {} is not allowed", name(dtype)));
  }
  return whole_bytes((literal.*found->second)(), storage_bytes(dtype));
}

void append_number(std::string& out, std::uint64_t number, DType dtype) {
  if (is_floating(dtype)) {
    out += canonical_float_bits(number, dtype);
  } else if (is_signed_integer(dtype)) {
    const int unused = 64 - bits(dtype);
    out += std::to_string(static_cast<std::int64_t>(number << unused) >> unused);
  } else {
    out += std::to_string(number);
  }
}

// Maps a row-major walk over an array to positions in layout order.
class LayoutWalk {
 public:
  explicit LayoutWalk(const Shape& shape)
      : dims_(shape.dims), strides_(dims_.size(), 0), index_(dims_.size(), 0) {
    std::int64_t stride = 1;
    const Dims order =
        shape.layout ? shape.layout->minor_to_major : default_layout(shape.rank()).minor_to_major;
    if (order.size() != dims_.size()) throw Error("the layout of a literal has another rank");
    for (const std::int64_t dim : order) {
      if (dim < 0 || dim >= shape.rank() || strides_[static_cast<std::size_t>(dim)] != 0) {
        throw Error("the layout of a literal is no permutation of its dimensions");
      }
      strides_[static_cast<std::size_t>(dim)] = stride;
      stride *= dims_[static_cast<std::size_t>(dim)];
    }
  }
  // Returns the position of the current element and advances.
  std::int64_t next() {
    const std::int64_t at = position_;
    for (std::size_t i = dims_.size(); i-- > 0;) {
      position_ += strides_[i];
      if (++index_[i] < dims_[i]) break;
      position_ -= strides_[i] * dims_[i];
      index_[i] = 0;
    }
    return at;
  }

 private:
  Dims dims_, strides_, index_;
  std::int64_t position_ = 0;
};

void append_array(std::string& out, const hlo_proto::Literal& literal, const Shape& shape) {
  if (shape.is_unbounded()) throw Error("a literal cannot have an unbounded dimension");
  if (std::any_of(shape.dims.begin(), shape.dims.end(), [](std::int64_t d) { return d < 0; })) {
    throw Error("a literal has a dimension of negative size");
  }
  const std::int64_t parts = is_complex(shape.dtype) ? 2 : 1;
  const std::int64_t count = element_count(shape);
  const Elements elements = elements_of(literal, shape.dtype, count);
  if (!fits_in_text(shape.dims) || (elements.count == 0 && count > 0)) {
    out += "{...}";
    return;
  }
  if (elements.count != count * parts) {
    throw Error(fmt::format("the literal holds {} numbers, {} expects {}", elements.count,
                            to_string(shape, /*with_layout=*/false), count * parts));
  }
  const DType part = shape.dtype == DType::kC64    ? DType::kF32
                     : shape.dtype == DType::kC128 ? DType::kF64
                                                   : shape.dtype;
  std::optional<LayoutWalk> walk;
  if (count > 0) walk.emplace(shape);
  append_array_literal(out, shape.dims, [&](std::string& text) {
    const std::int64_t at = walk->next() * parts;
    if (parts == 1) return append_number(text, elements.bits(at), part);
    text += '(';
    append_number(text, elements.bits(at), part);
    text += ", ";
    append_number(text, elements.bits(at + 1), part);
    text += ')';
  });
}

void append_literal(std::string& out, const hlo_proto::Literal& literal, const Shape& shape) {
  if (!shape.is_tuple()) return append_array(out, literal, shape);
  if (literal.tuple_literals_size() != static_cast<int>(shape.elements.size())) {
    throw Error(fmt::format("the literal has {} parts, {} expects {}",
                            literal.tuple_literals_size(), to_string(shape, /*with_layout=*/false),
                            shape.elements.size()));
  }
  out += '(';
  for (int i = 0; i < literal.tuple_literals_size(); ++i) {
    if (i > 0) out += ", ";
    const hlo_proto::Literal& part = literal.tuple_literals(i);
    // The shapes of tuple elements may be missing in the literal.
    append_literal(
        out, part,
        part.has_shape() ? shape_of(part.shape()) : shape.elements[static_cast<std::size_t>(i)]);
  }
  out += ')';
}

}  // namespace

std::string literal(const hlo_proto::Literal& value) {
  std::string out;
  append_literal(out, value, shape_of(value.shape()));
  return out;
}

// Converts shardings, metadata and frontend attributes of HLO protos to text.

namespace {

// Indexed by XLA's OpSharding::Type; tuples and tilings have no keyword.
constexpr std::array<std::string_view, 7> kKinds = {"replicated", "maximal", "",         "",
                                                    "manual",     "unknown", "unreduced"};

template <class List>
std::string metadata_list(const List& items) {
  if (items.empty()) return {};
  if (items.size() == 1) return " metadata=" + metadata(items.Get(0));
  std::string text;
  for (const hlo_proto::Metadata& item : items) {
    text += text.empty() ? "" : ", ";
    text += metadata(item);
  }
  return " metadata={" + text + "}";
}

// The text after the tiles: the meaning of their last dimensions.
std::string last_dims(const hlo_proto::Sharding& sharding) {
  const auto& types = sharding.last_tile_dims();
  const bool replicated = types.size() == 1 && types.Get(0) == 0;
  if (replicated || (types.empty() && sharding.replicate_on_last_tile_dim())) {
    return " last_tile_dim_replicate";
  }
  if (types.empty()) return {};
  std::string text;
  for (const std::int32_t type : types) {
    text += text.empty() ? "" : ", ";
    text += word(kKinds, type, "kind of sharding");
  }
  return " last_tile_dims={" + text + "}";
}

std::string tiles(const hlo_proto::Sharding& sharding) {
  std::string text =
      fmt::format("devices=[{}]", fmt::join(sharding.tile_assignment_dimensions(), ","));
  if (sharding.iota_reshape_dims_size() > 0) {
    return text + iota(sharding.iota_reshape_dims(), sharding.iota_transpose_perm());
  }
  return text + fmt::format("{}", fmt::join(sharding.tile_assignment_devices(), ","));
}

using Axes = google::protobuf::RepeatedPtrField<hlo_proto::AxisRef>;

// `{a, b:(2)2}`, with `?` if more axes may be added.
std::string axes(const hlo_proto::Mesh& mesh, const Axes& refs, bool open) {
  std::string text;
  for (const hlo_proto::AxisRef& ref : refs) {
    if (ref.mesh_axis_index() < 0 || ref.mesh_axis_index() >= mesh.axes_size()) {
      fail_unknown("axis of a mesh", ref.mesh_axis_index());
    }
    text += text.empty() ? "" : ", ";
    text += mesh.axes(static_cast<int>(ref.mesh_axis_index())).name();
    if (!ref.has_sub_axis_info()) continue;
    text += fmt::format(":({}){}", ref.sub_axis_info().pre_size(), ref.sub_axis_info().size());
  }
  if (open) text += text.empty() ? "?" : ", ?";
  return "{" + text + "}";
}

std::string named(const hlo_proto::NamedSharding& sharding);

template <class List>
std::string tuple(const List& parts, std::string (*print)(const typename List::value_type&)) {
  std::string text;
  for (const auto& part : parts) {
    text += text.empty() ? "" : ", ";
    text += print(part);
  }
  return "{" + text + "}";
}

std::string named(const hlo_proto::NamedSharding& sharding) {
  if (!sharding.tuple_shardings().empty()) return tuple(sharding.tuple_shardings(), named);
  const hlo_proto::Mesh& mesh = sharding.mesh();
  if (mesh.axes().empty() && mesh.device_ids_size() == 1) {
    return fmt::format("{{maximal_mesh[device_id={}]}}", mesh.device_ids(0));
  }
  std::string text;
  for (const hlo_proto::MeshAxis& axis : mesh.axes()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", axis.name(), axis.size());
  }
  text = "{mesh[" + text + "]";
  if (!mesh.device_ids().empty()) {
    text += fmt::format(", device_ids=({})", fmt::join(mesh.device_ids(), ","));
  }
  std::string dims;
  for (const hlo_proto::DimensionSharding& dim : sharding.dim_shardings()) {
    dims += dims.empty() ? "" : ", ";
    dims += axes(mesh, dim.axes(), !dim.is_closed());
  }
  const bool plain =
      dims.empty() && sharding.replicated_axes().empty() && sharding.unreduced_axes().empty();
  text += plain ? ", replicated" : ", [" + dims + "]";
  for (const auto& [key, refs] : {std::pair{"replicated", &sharding.replicated_axes()},
                                  std::pair{"unreduced", &sharding.unreduced_axes()}}) {
    if (!refs->empty()) text += fmt::format(", {}={}", key, axes(mesh, *refs, /*open=*/false));
  }
  const std::string origin = metadata_list(sharding.metadata());
  return text + (origin.empty() ? "" : "," + origin) + "}";
}

}  // namespace

std::string iota(const Numbers& reshape,
                 const google::protobuf::RepeatedField<std::int32_t>& permutation) {
  std::string text = fmt::format("<=[{}]", fmt::join(reshape, ","));
  return reshape.size() < 2 ? text : text + fmt::format("T({})", fmt::join(permutation, ","));
}

std::string sharding(const hlo_proto::Sharding& value) {
  constexpr std::int32_t kMaximal = 1;
  constexpr std::int32_t kTuple = 2;
  constexpr std::int32_t kTiled = 3;
  if (value.has_named_sharding()) return named(value.named_sharding());
  if (value.type() == kTuple) return tuple(value.tuple_shardings(), sharding);
  std::string text = word(kKinds, value.type(), "kind of sharding");
  if (value.type() == kTiled) text = tiles(value) + last_dims(value);
  if (value.type() == kMaximal && value.tile_assignment_devices_size() > 0) {
    text += fmt::format(" device={}", value.tile_assignment_devices(0));
  }
  if (value.is_shard_group()) {
    text += fmt::format(" shard_{} {}", value.shard_group_type() == 0 ? "as" : "like",
                        value.shard_group_id());
  }
  return "{" + text + metadata_list(value.metadata()) + "}";
}

std::string metadata(const hlo_proto::Metadata& value) {
  std::string text;
  const auto put = [&text](std::string_view key, std::string item) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, item);
  };
  const auto put_text = [&put](std::string_view key, const std::string& item) {
    if (!item.empty()) put(key, quoted_text(item));
  };
  const auto put_number = [&put](std::string_view key, std::int64_t item) {
    if (item != 0) put(key, std::to_string(item));
  };
  put_text("op_type", value.op_type());
  put_text("op_name", value.op_name());
  put_text("source_file", value.source_file());
  put_number("source_line", value.source_line());
  put_number("source_end_line", value.source_end_line());
  put_number("source_column", value.source_column());
  put_number("source_end_column", value.source_end_column());
  if (!value.profile_type().empty()) {
    put("profile_type", fmt::format("{{{}}}", fmt::join(value.profile_type(), ",")));
  }
  put_text("deduplicated_name", value.deduplicated_name());
  if (value.preserve_layout()) put("preserve_layout", "true");
  put_text("scheduling_name", value.scheduling_name());
  put_number("stack_frame_id", value.stack_frame_id());
  return "{" + text + "}";
}

std::string frontend_attributes(const hlo_proto::FrontendAttributes& value) {
  const auto is_word = [](std::string_view key) {
    return !key.empty() &&
           (std::isalpha(static_cast<unsigned char>(key[0])) != 0 || key[0] == '_') &&
           std::all_of(key.begin(), key.end(), [](char c) {
             return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' ||
                    c == '-';
           });
  };
  if (value.map().empty()) return {};
  std::map<std::string, std::string> items;  // in the proto they are unordered
  for (const hlo_proto::TextEntry& entry : value.map()) {
    items.emplace(is_word(entry.key()) ? entry.key() : quoted_text(entry.key()),
                  dict_or_quoted(entry.value()));
  }
  std::string text;
  for (const auto& [key, item] : items) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, item);
  }
  return "{" + text + "}";
}

std::string list(const Numbers& values) {
  return fmt::format("{{{}}}", fmt::join(values, ","));
}

std::string quoted_text(std::string_view text) {
  return "\"" + escape(text) + "\"";
}

std::string dict_or_quoted(std::string_view text) {
  const bool dict = !text.empty() && text[0] == '{' && json_dict_end(text, 0) == text.size();
  return dict ? std::string(text) : quoted_text(text);
}

}  // namespace tilecast::ir::proto_text
