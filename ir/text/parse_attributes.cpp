// The `, key=value` lists of instructions.
#include <fmt/format.h>

#include <array>

#include "ir/text/attribute_table.h"
#include "ir/text/module_parser.h"

namespace tilecast::ir {
namespace {

// A table of rows, the instruction they apply to, and which of them were seen.
struct RowGroup {
  std::span<const AttributeRow> rows;
  Instruction* target = nullptr;
  std::uint64_t seen = 0;
};

void fail_unknown(const Cursor& cursor, const Token& key, std::span<const RowGroup> groups) {
  std::string allowed;
  for (const RowGroup& group : groups) {
    for (const AttributeRow& row : group.rows) {
      allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", row.key);
    }
  }
  cursor.fail_at(key.begin, "unexpected attribute \"{}\". Allowed attributes: {}", key.text,
                 allowed);
}

// Reads the value if one of the groups has a row for the key.
bool read_known(ModuleParser& parser, std::span<RowGroup> groups, const Token& key) {
  for (RowGroup& group : groups) {
    for (std::size_t i = 0; i < group.rows.size(); ++i) {
      const AttributeRow& row = group.rows[i];
      if (row.key != key.text) continue;
      const std::uint64_t bit = std::uint64_t{1} << i;
      parser.cursor().fail_at_if((group.seen & bit) != 0, key.begin, "attribute {} already exists",
                                 key.text);
      group.seen |= bit;
      row.read(parser, *group.target, row.key);
      return true;
    }
  }
  return false;
}

void read_unknown(Cursor& cursor, Instruction& instruction, std::span<const RowGroup> groups,
                  const Token& key) {
  if (cursor.options().strict) fail_unknown(cursor, key, groups);
  constexpr std::size_t kMostKept = 256;
  cursor.fail_at_if(instruction.raw->size() >= kMostKept, key.begin, "too many unknown attributes");
  cursor.fail_at_if(instruction.find_raw(key.text) != nullptr, key.begin,
                    "attribute {} already exists", key.text);
  cursor.complain(key.begin, fmt::format("unknown attribute \"{}\" kept", key.text));
  instruction.raw.edit().push_back({std::string(key.text), std::string(cursor.any_value())});
}

void check_required(const Cursor& cursor, std::span<const RowGroup> groups) {
  for (const RowGroup& group : groups) {
    for (std::size_t i = 0; i < group.rows.size(); ++i) {
      if (group.rows[i].required && (group.seen >> i & 1U) == 0) {
        cursor.fail("attribute {} is expected but not seen", group.rows[i].key);
      }
    }
  }
}

}  // namespace

void ModuleParser::read_attributes(Instruction& instruction, Instruction* inner,
                                   AttributeForm form) {
  Instruction& operation = inner != nullptr ? *inner : instruction;
  bool predicated = false;
  if (operation.opcode == Opcode::kConditional) {
    const Shape& selector = operand(operation, 0).shape;
    predicated = selector.dtype == DType::kPred;
    cursor_.fail_if(!selector.is_scalar() || (!predicated && selector.dtype != DType::kS32),
                    "The first operand must be a scalar of PRED or S32");
  }
  std::array<RowGroup, 3> groups = {
      RowGroup{attributes_for(operation.opcode, predicated), &operation},
      RowGroup{common_attributes(), &instruction},
      RowGroup{async_attributes(instruction.opcode, form.sugar), &instruction}};
  while (form.allowed && cursor_.accept(Tok::kComma)) {
    const Token key = cursor_.token();
    cursor_.expect(Tok::kAttributeName, "expects attributes");
    if (!read_known(*this, groups, key)) read_unknown(cursor_, instruction, groups, key);
  }
  check_required(cursor_, groups);
  cursor_.fail_if(operation.opcode == Opcode::kBroadcast && (groups[0].seen & 1U) == 0 &&
                      operand(operation, 0).shape.rank() > 0,
                  "attribute dimensions is expected but not seen");
}

}  // namespace tilecast::ir
