// Description of the pretty forms of ops; internal to ir/mlir.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <string_view>

#include "ir/mlir/mlir_tree.h"

namespace tilecast::ir::mlir {

using TypeList = boost::container::small_vector<TypeId, 4>;

// An operation while it is parsed: the operation, the names before its `=`, and its result types.
struct Draft {
  explicit Draft(Operation& operation) : op(operation) {}

  struct Name {
    std::string_view text;
    std::uint32_t count = 1;
    std::size_t offset = 0;
  };
  Operation& op;
  boost::container::small_vector<Name, 2> names;
  TypeList results;
};

// The pretty form of an op: a list of items (mlir_pretty_form.cpp), or a reader function of its
// own.
class Reader;
struct Form {
  // The types written after the colon if they are not a function type.
  enum class Types : std::uint8_t {
    kSame,       // one type, for all operands and the result
    kReturn,     // those of the operands; no result
    kPairwise,   // those of the operands; the results have the same
    kSelect,     // predicate and result
    kResult,     // the result
    kElement,    // an operand; the result is one element of it
    kPredicate,  // the operands; the result is i1
    kIndex,      // an operand; the result is an index
    kWitness,    // the operands; the result is a !shape.witness
    kNone,       // no types are written
  };
  std::string_view name;  // without the dialect for stablehlo, mhlo and chlo
  Types types = Types::kSame;
  std::string_view items;
  void (Reader::*read)(Draft& draft) = nullptr;
};
// nullptr if the form of the op is unknown.
[[nodiscard]] const Form* find_form(std::string_view op_name);

struct FormTable {
  using enum Form::Types;
  static const Form kForms[];
};

}  // namespace tilecast::ir::mlir
