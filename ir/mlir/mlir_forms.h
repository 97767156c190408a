// What is known of an op's pretty form; used by the files of this folder only.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <string_view>

#include "ir/mlir/mlir_tree.h"

namespace tilecast::ir::mlir {

using TypeList = boost::container::small_vector<TypeId, 4>;

// An operation while it is read: what it is, the names before its `=`, the types of its results.
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

// How an op is written in its pretty form: a list of items (mlir_forms.cpp) or a form of its own.
class Reader;
struct Form {
  // Which types of the values are written after the colon, where they are no function type.
  enum class Types : std::uint8_t {
    kSame,       // one, of all operands and the result
    kReturn,     // those of the operands; no result
    kPairwise,   // those of the operands, which are those of the results
    kSelect,     // predicate and result
    kResult,     // the result
    kElement,    // an operand; the result is one element of it
    kPredicate,  // the operands; the result is i1
    kIndex,      // an operand; the result is an index
    kWitness,    // the operands; the result is a !shape.witness
    kNone,       // no value has a type that is written
  };
  std::string_view name;  // without the dialect for stablehlo, mhlo and chlo
  Types types = Types::kSame;
  std::string_view items;
  void (Reader::*read)(Draft& draft) = nullptr;
};
// nullptr: an op whose form is not known.
[[nodiscard]] const Form* find_form(std::string_view op_name);

struct FormTable {
  using enum Form::Types;
  static const Form kForms[];
};

}  // namespace tilecast::ir::mlir
