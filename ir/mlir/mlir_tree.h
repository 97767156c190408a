// MLIR text as data: operations with operands, attributes, regions and types, not yet interpreted.
// Pretty forms ("stablehlo.dot_general %0, %1, contracting_dims = [1] x [0]") are stored as their
// generic form, with the same operand order, attribute names and regions.
//
// Names and raw texts point into the SourceText, which must outlive the tree. Plain values;
// thread-compatible. Grammar: mlir.llvm.org/docs/LangRef; attribute names: the StableHLO
// specification (openxla.org/stablehlo/spec).
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/strong_id.h"
#include "ir/shape.h"

namespace tilecast::ir::mlir {

using ValueId = StrongId<struct MlirValueTag>;  // of an SSA value, unique in the tree
using TypeId = StrongId<struct MlirTypeTag>;    // types with equal text have the same id

// `tensor<2x?xf32>` is kArray with kUnboundedSize; a scalar type (`f32`, `index`) is kScalar, its
// shape of rank 0. A quantised element type is stored as its storage type, and its text is kept.
struct Type {
  enum class Kind : std::uint8_t { kArray, kScalar, kTuple, kToken, kFunction, kNone, kOther };
  Kind kind = Kind::kOther;
  Shape shape;                  // kArray, kScalar, kTuple (of arrays), kToken
  TypeId element;               // kArray: the type of its elements
  std::vector<TypeId> inputs;   // kFunction
  std::vector<TypeId> results;  // kFunction
  std::string_view text;        // as written
  std::string_view encoding;    // text after the element type: `#stablehlo.bounds<?, 4>`
  std::string_view quantised;   // `!quant.uniform<...>`, else empty
};

struct Attribute;

struct NamedAttribute;

struct Attribute {
  enum class Kind : std::uint8_t {
    kUnit,     // present, no value
    kBool,     // integer: 0 or 1
    kInteger,  // 7 : i64
    kFloat,
    kString,  // string: unescaped
    kSymbol,  // @main; string: main, @a::@b: a::b
    kType,    // type
    kArray,   // elements; also array<i64: 1, 2> (array_type names the type)
    kDict,    // fields
    kDense,   // dense<...> : type; contents in `text`, between the angle brackets
    kCustom,  // #stablehlo.dot<...> or #stablehlo<dot ...>; string: stablehlo.dot, fields: its
              // `key = value` list where the body is one, elements: a bare word (kRaw), text: the
              // body, empty where a pretty form wrote the fields one by one
    kRaw,     // anything else, in `text`
  };
  Kind kind = Kind::kUnit;
  std::int64_t integer = 0;
  double number = 0;
  std::string string;
  TypeId type;  // type of kInteger, kFloat and kDense if written; value of kType
  std::vector<Attribute> elements;
  std::vector<NamedAttribute> fields;
  std::string_view text;  // as written; see kDense and kCustom
  std::size_t offset = 0;

  // nullptr if a kDict or kCustom has no such field.
  [[nodiscard]] const Attribute* find(std::string_view name) const;
};

struct NamedAttribute {
  std::string_view name;
  Attribute value;
};

struct Value {
  TypeId type;
  std::string_view name;  // `%arg0`, `%3` without the sign; `%0:2`: the same for all results
  std::size_t offset = 0;
};

struct Operation;

struct Block {
  std::vector<ValueId> arguments;
  std::vector<Operation> operations;
};
struct Region {
  std::vector<Block> blocks;
};

// `func.func` has the attributes sym_name, sym_visibility, function_type, arg_attrs, res_attrs
// (arrays of kDict) and its body as region; a module has sym_name and its attributes. `return`
// keeps its dialect: func.return, also if written bare, or stablehlo.return.
struct Operation {
  Operation() = default;
  Operation(const Operation&) = default;
  Operation& operator=(const Operation&) = default;
  Operation(Operation&&) noexcept = default;  // so that growing vectors move whole regions
  Operation& operator=(Operation&&) noexcept = default;
  ~Operation() = default;

  std::string_view name;  // "stablehlo.add"
  boost::container::small_vector<ValueId, 4> operands;
  ValueId first_result;  // results are consecutive
  std::uint32_t result_count = 0;
  std::vector<NamedAttribute> attributes;  // properties and discardable ones together
  std::vector<Region> regions;
  std::string_view location;  // inside loc(...), aliases resolved; empty = none
  std::size_t offset = 0;

  [[nodiscard]] const Attribute* find(std::string_view attribute) const;
  [[nodiscard]] ValueId result(std::uint32_t i) const { return ValueId(first_result.index() + i); }
};

struct Tree {
  Operation module;  // builtin.module: one region with one block; created if the file has none
  std::vector<Value> values;
  std::vector<Type> types;
  // `#loc3` -> content of its loc(...), for nested locations.
  std::unordered_map<std::string_view, std::string_view> locations;
  std::vector<std::string> warnings;  // `file:line:col: warning: ...`
  std::deque<std::string> texts;  // of types that do not occur in the source; views point into it

  [[nodiscard]] const Type& type_of(ValueId value) const {
    return types[values[value.index()].type.index()];
  }
  [[nodiscard]] const Type& at(TypeId type) const { return types[type.index()]; }
};

}  // namespace tilecast::ir::mlir
