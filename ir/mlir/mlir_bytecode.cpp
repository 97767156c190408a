#include "ir/mlir/mlir_bytecode.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"

namespace tilecast::ir::mlir {
namespace {

constexpr std::size_t kMost = 262144;  // operations, values, parts of attributes
constexpr int kMostDepth = 64;
constexpr std::string_view kStable = "stable_mosaic.";

// A part of the file, read from its begin.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::string_view text) : text_(text) {}

  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] std::size_t left() const { return text_.size(); }
  std::string_view take(std::uint64_t count) {
    if (count > text_.size()) throw Error("MLIR bytecode: ends within a part");
    const std::string_view taken = text_.substr(0, count);
    text_.remove_prefix(count);
    return taken;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(take(1).front()); }
  // Zeros in the low bits of the first byte tell how many bytes follow it.
  std::uint64_t number() {
    constexpr int kBytes = 8;
    const std::uint8_t first = byte();
    const int more = first == 0 ? kBytes : std::countr_zero(first);
    std::uint64_t value = first;
    const std::string_view rest = take(static_cast<std::uint64_t>(more));
    if (more == kBytes) value = 0;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      const std::uint64_t part = static_cast<std::uint8_t>(rest[i]);
      value |= more == kBytes ? part << (kBytes * i) : part << (kBytes * (i + 1));
    }
    return more == kBytes ? value : value >> (more + 1);
  }
  std::int64_t signed_number() {
    const std::uint64_t zigzag = number();
    return static_cast<std::int64_t>((zigzag >> 1U) ^ (~(zigzag & 1U) + 1));
  }
  // A count of things that follow, each of at least one byte.
  std::size_t count() {
    const std::uint64_t value = number();
    if (value > std::min(text_.size(), kMost)) throw Error("MLIR bytecode: a list beyond its part");
    return static_cast<std::size_t>(value);
  }
  std::string_view terminated() {
    const std::size_t end = text_.find('\0');
    if (end == std::string_view::npos) throw Error("MLIR bytecode: a text without end");
    const std::string_view taken = take(end);
    take(1);
    return taken;
  }

 private:
  std::string_view text_;
};

template <class T>
const T& at(const std::vector<T>& list, std::uint64_t index) {
  if (index >= list.size()) throw Error("MLIR bytecode: index {} of {}", index, list.size());
  return list[static_cast<std::size_t>(index)];
}

enum class Section : std::uint8_t { kStrings, kDialects, kEncoded, kOffsets, kCode };
constexpr std::size_t kSections = 8;

class BytecodeReader {
 public:
  explicit BytecodeReader(std::string_view bytes) { bytes_ = tree_.texts.emplace_back(bytes); }
  Tree read();

 private:
  struct Encoded {
    std::string_view bytes;
    bool builtin = false, custom = false;
  };
  enum OpParts : std::uint8_t {
    kAttributes = 1,
    kResults = 2,
    kOperands = 4,
    kSuccessors = 8,
    kRegions = 16
  };

  void read_sections();
  void read_strings();
  void read_dialects();
  void read_offsets();
  [[nodiscard]] Bytes section(Section id) const { return Bytes(sections_[std::size_t(id)]); }
  std::string_view kept(std::string text) { return tree_.texts.emplace_back(std::move(text)); }

  TypeId type(std::uint64_t index);
  Type decode_type(const Encoded& encoded);
  Type builtin_type(Bytes in);
  Type array_type(Bytes& in, std::string_view kind, std::string_view space);
  std::vector<TypeId> types(Bytes& in);
  Attribute attribute(std::uint64_t index);
  Attribute builtin_attribute(Bytes in);
  Attribute numbers(Bytes& in);
  Attribute integer(Bytes& in, TypeId type);
  [[nodiscard]] double floating(Bytes& in, TypeId type) const;
  int width(TypeId type) const;

  void block(Bytes& in, Block& into);
  void operation(Bytes& in, Operation& op);
  void region(Bytes& in, Region& into, bool isolated);
  ValueId define(TypeId type);
  void descend() {
    if (++depth_ > kMostDepth) throw Error("MLIR bytecode: nested deeper than 64 levels");
  }

  Tree tree_;
  std::string_view bytes_;
  std::array<std::string_view, kSections> sections_;
  std::vector<std::string_view> strings_, dialects_, op_names_;
  std::vector<Encoded> attributes_, types_;
  std::vector<std::optional<TypeId>> type_ids_;
  std::vector<ValueId> values_;  // visible ones of the innermost isolated region
  std::size_t next_value_ = 0;   // of the region being read
  std::size_t operations_ = 0, parts_ = 0;
  int depth_ = 0;
};

void BytecodeReader::read_sections() {
  constexpr std::uint8_t kAligned = 0x80;
  Bytes in(bytes_);
  if (in.take(std::min<std::size_t>(bytes_.size(), 4)) != "ML\xefR") {
    throw Error("MLIR bytecode: got other first bytes, expected ML\\xEFR");
  }
  if (const std::uint64_t version = in.number(); version != 0) {
    throw Error("MLIR bytecode: got version {}, expected 0", version);
  }
  in.terminated();  // who wrote it
  while (!in.empty()) {
    const std::uint8_t id = in.byte();
    const std::uint64_t length = in.number();
    if ((id & kAligned) != 0) {
      const std::uint64_t alignment = std::max<std::uint64_t>(in.number(), 1);
      while ((bytes_.size() - in.left()) % alignment != 0) in.take(1);
    }
    const std::string_view data = in.take(length);
    const std::size_t number = id & ~kAligned;
    if (number < kSections) sections_[number] = data;
  }
}

void BytecodeReader::read_strings() {
  Bytes in = section(Section::kStrings);
  strings_.resize(in.count());
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 0; i < strings_.size(); ++i) sizes.push_back(in.number());
  for (std::string_view& text : strings_) {
    text = in.take(sizes.back());
    sizes.pop_back();
    if (text.empty()) throw Error("MLIR bytecode: a text without end");
    text.remove_suffix(1);  // its NUL
  }
}

void BytecodeReader::read_dialects() {
  Bytes in = section(Section::kDialects);
  for (std::size_t left = in.count(); left > 0; --left) {
    dialects_.push_back(at(strings_, in.number()));
  }
  while (!in.empty()) {
    const std::string dialect = std::string(at(dialects_, in.number())) + ".";
    for (std::size_t left = in.count(); left > 0; --left) {
      const std::string_view name = at(strings_, in.number());
      op_names_.push_back(dialect == kStable ? name : kept(dialect + std::string(name)));
    }
  }
}

void BytecodeReader::read_offsets() {
  Bytes in = section(Section::kOffsets), data = section(Section::kEncoded);
  const std::size_t attributes = in.count(), types = in.count();
  while (!in.empty()) {
    const bool builtin = at(dialects_, in.number()) == "builtin";
    for (std::size_t left = in.count(); left > 0; --left) {
      const std::uint64_t size = in.number();
      auto& list = attributes_.size() < attributes ? attributes_ : types_;
      list.push_back({data.take(size >> 1U), builtin, (size & 1U) != 0});
    }
  }
  if (types_.size() != types) throw Error("MLIR bytecode: a list of types of another length");
  type_ids_.resize(types);
}

// Element types by name: f32, s8 of "i8", f8e5m2 of "f8E5M2".
Type scalar_type(std::string_view text) {
  std::string name(text);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (name == "index") name = "s64";
  if (name == "i1") name = "pred";
  if (name.starts_with('i')) name.front() = 's';
  const std::optional<DType> dtype = parse_dtype(name);
  Type type{.text = text};
  if (!dtype) return type;
  type.kind = Type::Kind::kScalar;
  type.shape = Shape::array(*dtype, {});
  return type;
}

TypeId BytecodeReader::type(std::uint64_t index) {
  const Encoded& encoded = at(types_, index);
  std::optional<TypeId>& id = type_ids_[static_cast<std::size_t>(index)];
  if (id) return *id;
  descend();
  Type decoded = decode_type(encoded);
  --depth_;
  id = TypeId(tree_.types.size());
  tree_.types.push_back(std::move(decoded));
  return *id;
}

Type BytecodeReader::decode_type(const Encoded& encoded) {
  if (!encoded.custom) return scalar_type(Bytes(encoded.bytes).terminated());
  return encoded.builtin ? builtin_type(Bytes(encoded.bytes)) : Type{};
}

std::vector<TypeId> BytecodeReader::types(Bytes& in) {
  std::vector<TypeId> list;
  for (std::size_t left = in.count(); left > 0; --left) list.push_back(type(in.number()));
  return list;
}

Type BytecodeReader::array_type(Bytes& in, std::string_view kind, std::string_view space) {
  Dims dims;
  for (std::size_t left = in.count(); left > 0; --left) {
    const std::int64_t size = in.signed_number();
    if (size < 0 && size != kUnboundedSize) throw Error("MLIR bytecode: a size of {}", size);
    dims.push_back(size);
  }
  const TypeId element = type(in.number());
  const Shape& scalar = tree_.at(element).shape;
  Type array{.text = kind, .encoding = space};
  if (!scalar.is_scalar() || dims.size() > Shape::kMaxRank) return array;  // semaphores
  array.kind = Type::Kind::kArray;
  array.element = element;
  array.shape = Shape::array(scalar.dtype, std::move(dims));
  return array;
}

Type BytecodeReader::builtin_type(Bytes in) {
  enum : std::uint8_t {
    kInteger,
    kIndex,
    kFunction,
    kBFloat16,
    kFloat16,
    kFloat32,
    kFloat64,
    kMemRef = 10,
    kMemRefInSpace,
    kTensor = 13,
    kVector = 19
  };
  switch (in.number()) {
    case kInteger: {
      const std::uint64_t said = in.number();
      constexpr std::uint64_t kUnsigned = 2;
      const char* sign = (said & 3U) == kUnsigned ? "u" : "i";
      return scalar_type(kept(sign + std::to_string(said >> 2U)));
    }
    case kIndex:
      return scalar_type("index");
    case kFunction: {
      Type function{.kind = Type::Kind::kFunction};
      function.inputs = types(in);
      function.results = types(in);
      return function;
    }
    case kBFloat16:
      return scalar_type("bf16");
    case kFloat16:
      return scalar_type("f16");
    case kFloat32:
      return scalar_type("f32");
    case kFloat64:
      return scalar_type("f64");
    case kMemRef:
      return array_type(in, "memref", "");
    case kMemRefInSpace: {
      const Attribute space = attribute(in.number());
      return array_type(in, "memref", space.text);
    }
    case kTensor:
      return array_type(in, "tensor", "");
    case kVector:
      return array_type(in, "vector", "");
    default:
      return {};
  }
}

int BytecodeReader::width(TypeId type) const {
  const Shape& shape = tree_.at(type).shape;
  if (!shape.is_array()) throw Error("MLIR bytecode: a number without a known type");
  return bits(shape.dtype);
}

Attribute BytecodeReader::integer(Bytes& in, TypeId type) {
  Attribute value{.kind = Attribute::Kind::kInteger, .type = type};
  constexpr int kByte = 8;
  value.integer = width(type) <= kByte ? static_cast<std::int8_t>(in.byte()) : in.signed_number();
  return value;
}

double BytecodeReader::floating(Bytes& in, TypeId type) const {
  constexpr int kByte = 8, kHalf = 16;
  const int size = width(type);
  const std::int64_t raw = size <= kByte ? in.byte() : in.signed_number();
  const DType dtype = tree_.at(type).shape.dtype;
  if (dtype == DType::kF64) return std::bit_cast<double>(raw);
  const auto low = static_cast<std::uint32_t>(raw);
  if (dtype == DType::kBF16) return std::bit_cast<float>(low << kHalf);
  return dtype == DType::kF32 ? std::bit_cast<float>(low) : 0;
}

// array<i64: 1, 2>; other element types have no elements here.
Attribute BytecodeReader::numbers(Bytes& in) {
  Attribute list{.kind = Attribute::Kind::kArray};
  const TypeId element = type(in.number());
  in.number();
  Bytes raw(in.take(in.number()));
  const auto size = static_cast<std::size_t>(width(element)) / 8;
  const bool whole = is_integer(tree_.at(element).shape.dtype) && size > 0;
  while (whole && !raw.empty()) {
    if (++parts_ > kMost) throw Error("MLIR bytecode: too many attributes");
    const std::string_view bytes = raw.take(size);
    std::uint64_t value = static_cast<std::int8_t>(bytes.back()) < 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = size; i-- > 0;) {
      value = value << 8U | static_cast<std::uint8_t>(bytes[i]);
    }
    list.elements.push_back({.kind = Attribute::Kind::kInteger,
                             .integer = static_cast<std::int64_t>(value),
                             .type = element});
  }
  return list;
}

Attribute BytecodeReader::attribute(std::uint64_t index) {
  const Encoded& encoded = at(attributes_, index);
  if (++parts_ > kMost) throw Error("MLIR bytecode: too many attributes");
  Attribute raw{.kind = Attribute::Kind::kRaw};
  if (!encoded.custom) {
    raw.text = Bytes(encoded.bytes).terminated();
    return raw;
  }
  if (!encoded.builtin) return raw;
  descend();
  Attribute decoded = builtin_attribute(Bytes(encoded.bytes));
  --depth_;
  return decoded;
}

Attribute BytecodeReader::builtin_attribute(Bytes in) {
  enum : std::uint8_t {
    kArray,
    kDictionary,
    kString,
    kTypedString,
    kFlatSymbol,
    kSymbol,
    kType,
    kUnit,
    kInteger,
    kFloat,
    kDenseArray = 17,
    kDense
  };
  using Kind = Attribute::Kind;
  switch (in.number()) {
    case kArray: {
      Attribute list{.kind = Kind::kArray};
      for (std::size_t left = in.count(); left > 0; --left) {
        list.elements.push_back(attribute(in.number()));
      }
      return list;
    }
    case kDictionary: {
      Attribute dict{.kind = Kind::kDict};
      for (std::size_t left = in.count(); left > 0; --left) {
        const Attribute name = attribute(in.number());
        dict.fields.push_back({name.text, attribute(in.number())});
      }
      return dict;
    }
    case kString:
    case kTypedString: {
      const std::string_view text = at(strings_, in.number());
      return {.kind = Kind::kString, .string = std::string(text), .text = text};
    }
    case kFlatSymbol:
    case kSymbol:
      return {.kind = Kind::kSymbol, .string = attribute(in.number()).string};
    case kType:
      return {.kind = Kind::kType, .type = type(in.number())};
    case kUnit:
      return {.kind = Kind::kUnit};
    case kInteger:
      return integer(in, type(in.number()));
    case kFloat: {
      const TypeId of = type(in.number());
      return {.kind = Kind::kFloat, .number = floating(in, of), .type = of};
    }
    case kDenseArray:
      return numbers(in);
    case kDense: {
      const TypeId of = type(in.number());
      return {.kind = Kind::kDense, .type = of, .text = in.take(in.number())};
    }
    default:
      return {.kind = Kind::kRaw};  // locations and what kernels do not hold
  }
}

ValueId BytecodeReader::define(TypeId type) {
  if (next_value_ >= values_.size()) throw Error("MLIR bytecode: more values than stated");
  const ValueId id = values_[next_value_++];
  tree_.values[id.index()].type = type;
  return id;
}

void BytecodeReader::region(Bytes& in, Region& into, bool isolated) {
  into.blocks.resize(in.count());
  if (into.blocks.empty()) return;
  descend();
  std::vector<ValueId> outer;
  if (isolated) std::swap(outer, values_);
  const std::size_t begin = values_.size(), resume = next_value_;
  const std::uint64_t defined = in.number();
  if (defined > kMost || tree_.values.size() + defined > kMost) {
    throw Error("MLIR bytecode: too many values");
  }
  for (std::uint64_t i = 0; i < defined; ++i) {
    values_.emplace_back(tree_.values.size());
    tree_.values.emplace_back();
  }
  next_value_ = begin;
  for (Block& each : into.blocks) block(in, each);
  values_.resize(begin);
  next_value_ = resume;
  if (isolated) std::swap(outer, values_);
  --depth_;
}

void BytecodeReader::block(Bytes& in, Block& into) {
  const std::uint64_t said = in.number();
  if ((said & 1U) != 0) {
    for (std::size_t left = in.count(); left > 0; --left) {
      into.arguments.push_back(define(type(in.number())));
      in.number();  // location
    }
  }
  for (std::uint64_t left = said >> 1U; left > 0; --left) {
    operation(in, into.operations.emplace_back());
  }
}

void BytecodeReader::operation(Bytes& in, Operation& op) {
  if (++operations_ > kMost) throw Error("MLIR bytecode: too many operations");
  op.name = at(op_names_, in.number());
  const std::uint8_t parts = in.byte();
  in.number();  // location
  if ((parts & kAttributes) != 0) op.attributes = attribute(in.number()).fields;
  if ((parts & kResults) != 0) {
    const std::vector<TypeId> results = types(in);
    op.result_count = static_cast<std::uint32_t>(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      const ValueId id = define(results[i]);
      if (i == 0) op.first_result = id;
    }
  }
  if ((parts & kOperands) != 0) {
    for (std::size_t left = in.count(); left > 0; --left) {
      op.operands.push_back(at(values_, in.number()));
    }
  }
  if ((parts & kSuccessors) != 0) {
    for (std::size_t left = in.count(); left > 0; --left) in.number();
  }
  if ((parts & kRegions) != 0) {
    const std::uint64_t said = in.number();
    if (said >> 1U > kMostDepth) throw Error("MLIR bytecode: an operation of too many regions");
    op.regions.resize(static_cast<std::size_t>(said >> 1U));
    for (Region& each : op.regions) region(in, each, (said & 1U) != 0);
  }
}

Tree BytecodeReader::read() {
  read_sections();
  read_strings();
  read_dialects();
  read_offsets();
  tree_.types.emplace_back();  // of values used before their definition
  Block top;
  Bytes in = section(Section::kCode);
  block(in, top);
  for (Value& value : tree_.values) {
    if (!value.type.valid()) value.type = TypeId(std::size_t{0});
  }
  if (top.operations.size() != 1) throw Error("MLIR bytecode: got no module");
  tree_.module = std::move(top.operations.front());
  return std::move(tree_);
}

}  // namespace

Tree read_bytecode(std::string_view bytes) {
  return BytecodeReader(bytes).read();
}

}  // namespace tilecast::ir::mlir
