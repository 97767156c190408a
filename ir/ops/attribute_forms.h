// Rows of the table of attributes (ir/ops/op_table.cpp) for a single field. One declaration gives
// both reader and writer.
//
//   constexpr AttributeRow kIota[] = {integer<&IndexAttrs::index>("iota_dimension")};
#pragma once

#include <string>
#include <type_traits>

#include "ir/ops/op_row.h"
#include "ir/text/attribute_readers.h"

namespace tilecast::ir::attribute {

inline constexpr bool kRequired = true;
inline constexpr bool kOptional = false;

template <class Member>
struct OwnerOf;
template <class T, class Value>
struct OwnerOf<Value T::*> {
  using Type = T;
};

// Accesses a field of the opcode's attributes, or of a dot's dimensions.
template <auto field>
const auto& get(const Instruction& instruction) {
  using Owner = typename OwnerOf<decltype(field)>::Type;
  if constexpr (std::is_same_v<Owner, DotDims>) {
    return held<DotAttrs>(instruction).dims.*field;
  } else {
    return held<Owner>(instruction).*field;
  }
}
template <auto field>
auto& edit(Instruction& instruction) {
  using Owner = typename OwnerOf<decltype(field)>::Type;
  if constexpr (std::is_same_v<Owner, DotDims>) {
    return instruction.attrs.edit<DotAttrs>().dims.*field;
  } else {
    return instruction.attrs.edit<Owner>().*field;
  }
}

// Lists of integers; optional ones are written unless empty.
template <auto field>
constexpr AttributeRow ints(Key key, bool required, bool always) {
  constexpr auto kWrite = [](const Computation&, const Instruction& instruction, Key) {
    return list(get<field>(instruction));
  };
  constexpr auto kWriteSome = [](const Computation&, const Instruction& instruction, Key) {
    const Dims& values = get<field>(instruction);
    return values.empty() ? std::string() : list(values);
  };
  return {key, required,
          [](ModuleParser& parser, Instruction& instruction, Key) {
            edit<field>(instruction) = parser.cursor().int_list();
          },
          always ? +kWrite : +kWriteSome};
}
template <auto field>
constexpr AttributeRow ints(Key key, bool required) {
  return ints<field>(key, required, required);
}
// An integer of at least `absent`, written unless it equals `absent`.
template <auto field, std::int64_t absent>
constexpr AttributeRow count(Key key) {
  return {key, kOptional,
          [](ModuleParser& parser, Instruction& instruction, Key name) {
            edit<field>(instruction) = parser.cursor().integer_from(absent, name);
          },
          [](const Computation&, const Instruction& instruction, Key) {
            const std::int64_t value = get<field>(instruction);
            return value == absent ? std::string() : std::to_string(value);
          }};
}
template <auto field>
constexpr AttributeRow integer(Key key) {
  return {key, kRequired,
          [](ModuleParser& parser, Instruction& instruction, Key) {
            edit<field>(instruction) = parser.cursor().integer_from(0, "value");
          },
          [](const Computation&, const Instruction& instruction, Key) {
            return std::to_string(get<field>(instruction));
          }};
}
template <auto field>
constexpr AttributeRow flag(Key key) {
  return {key, kOptional,
          [](ModuleParser& parser, Instruction& instruction, Key) {
            edit<field>(instruction) = parser.cursor().boolean();
          },
          [](const Computation&, const Instruction& instruction, Key) {
            return std::string(get<field>(instruction) ? "true" : "");
          }};
}

template <const auto& known, auto field>
constexpr AttributeRow word(Key key, bool required) {
  return {key, required,
          [](ModuleParser& parser, Instruction& instruction, Key name) {
            edit<field>(instruction) = one_of(parser.cursor(), known, name);
          },
          [](const Computation&, const Instruction& instruction, Key) {
            return get<field>(instruction);
          }};
}
using Read = void (*)(ModuleParser& parser, Instruction& instruction, Key key);
constexpr AttributeRow kept(Key key, bool required, Read read) {
  return {key, required, read, write_kept};
}
template <int slot>
constexpr AttributeRow called(Key key, bool required = kRequired) {
  return {key, required, callee<slot>, nullptr, slot};
}
constexpr AttributeRow all_called(Key key, bool required) {
  return {key, required, callees, nullptr, AttributeRow::kAllCallees};
}

}  // namespace tilecast::ir::attribute
