// Converts literals of HLO protos to text. Each element type has its own field, with elements in
// the order of the literal's layout.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>

#include "base/error.h"
#include "ir/literal.h"
#include "ir/proto/proto_text.h"

namespace tilecast::ir::proto_text {
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

}  // namespace tilecast::ir::proto_text
