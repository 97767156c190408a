#include "ir/stablehlo/rules.h"

#include <algorithm>
#include <deque>

namespace tilecast::ir::stablehlo {
namespace {

using Table = std::unordered_map<std::string_view, Rule>;

Table make_table() {
  Table table;
  static std::deque<std::string> names;  // the views point into it
  const auto add = [&table](std::string name, const Rule& rule) {
    table.emplace(names.emplace_back(std::move(name)), rule);
  };
  const auto add_both = [&add](std::string_view name, const Rule& rule) {
    if (name.find('.') != std::string_view::npos) return add(std::string(name), rule);
    add(fmt::format("stablehlo.{}", name), rule);
    add(fmt::format("mhlo.{}", name), rule);
  };
  for (const auto& rules : {attribute_rules(), window_rules(), control_rules(), collective_rules(),
                            custom_call_rules(), chlo_rules(), dynamic_rules()}) {
    for (const NamedRule& each : rules) add_both(each.name, each.rule);
  }
  // The other elementwise ops have no attributes and are named as in HLO.
  for (int i = 0; i <= static_cast<int>(Opcode::kXor); ++i) {
    const auto opcode = static_cast<Opcode>(i);
    if (!is_elementwise(opcode) || opcode == Opcode::kMap || opcode == Opcode::kFusion) continue;
    std::string name(ir::name(opcode));
    std::replace(name.begin(), name.end(), '-', '_');
    add_both(name, {opcode, lower_elementwise});
  }
  return table;
}

}  // namespace

const Rule* find_rule(std::string_view name) {
  static const Table kTable = make_table();
  const auto found = kTable.find(name);
  return found == kTable.end() ? nullptr : &found->second;
}

}  // namespace tilecast::ir::stablehlo
