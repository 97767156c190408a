// Converts functions of several blocks. The supported form is the one to which other tools lower a
// structured loop; it becomes a while loop:
//
//   entry:  br head(...)
//   head:   cond_br body(...), exit(...)     // forwards its arguments
//   body:   br head(...)
//   exit:   return
//
#include <algorithm>
#include <cctype>

#include "ir/stablehlo/rules.h"

namespace tilecast::ir::stablehlo {
namespace {

// Successor `index` of the branch that starts at `offset`: `^bb1`.
std::string_view label_after(std::string_view text, std::size_t offset, int index) {
  std::size_t at = text.find('^', offset);
  for (int i = 0; i < index && at != std::string_view::npos; ++i) at = text.find('^', at + 1);
  if (at == std::string_view::npos) return {};
  std::size_t end = at + 1;
  while (end < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) {
    ++end;
  }
  return text.substr(at, end - at);
}

// An op that returns `operands` as `results`.
Operation forward(std::vector<ValueId> operands, const std::vector<ValueId>& results) {
  Operation op;
  op.name = "tensor.cast";
  op.operands.assign(operands.begin(), operands.end());
  if (!results.empty()) op.first_result = results.front();
  op.result_count = static_cast<std::uint32_t>(results.size());
  return op;
}

Operation give_back(std::vector<ValueId> operands) {
  Operation op = forward(std::move(operands), {});
  op.name = "stablehlo.return";
  return op;
}

bool are_consecutive(const std::vector<ValueId>& values) {
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i].index() != values[i - 1].index() + 1) return false;
  }
  return true;
}

mlir::Block without_branch(const mlir::Block& block) {
  mlir::Block copy = block;
  copy.operations.pop_back();
  return copy;
}

}  // namespace

mlir::Block structured(const Lowering& lowering, const Operation& function) {
  const std::vector<mlir::Block>& blocks = function.regions[0].blocks;
  const auto ends_in = [&](std::size_t i, std::string_view name) {
    return !blocks[i].operations.empty() && blocks[i].operations.back().name == name;
  };
  const bool shaped = blocks.size() == 4 && ends_in(0, "cf.br") && ends_in(1, "cf.cond_br") &&
                      ends_in(2, "cf.br") && ends_in(3, "func.return");
  if (!shaped) lowering.fail(function, "its branches are no loop that HLO has a form for");
  const Operation& enter = blocks[0].operations.back();
  const Operation& choose = blocks[1].operations.back();
  const Operation& repeat = blocks[2].operations.back();
  const std::vector<ValueId>& state = blocks[1].arguments;
  const std::size_t body_count = blocks[2].arguments.size();
  const std::string_view text = lowering.text();
  const bool loops =
      label_after(text, enter.offset, 0) == label_after(text, repeat.offset, 0) &&
      label_after(text, choose.offset, 0) ==
          label_after(text, text.find("\n^", choose.offset), 0) &&
      enter.operands.size() == state.size() && repeat.operands.size() == state.size() &&
      choose.operands.size() == 1 + body_count + blocks[3].arguments.size() &&
      std::all_of(choose.operands.begin() + 1, choose.operands.end(), [&](ValueId value) {
        return std::find(state.begin(), state.end(), value) != state.end();
      });
  const bool ordered = are_consecutive(state) && are_consecutive(blocks[2].arguments) &&
                       are_consecutive(blocks[3].arguments);
  if (!loops || !ordered || state.empty()) {
    lowering.fail(function, "its branches are no loop that HLO has a form for");
  }
  const auto first = choose.operands.begin() + 1;
  const auto middle = first + static_cast<std::ptrdiff_t>(body_count);
  Operation loop = forward({enter.operands.begin(), enter.operands.end()}, state);
  loop.name = "stablehlo.while";
  loop.offset = enter.offset;
  mlir::Block condition = without_branch(blocks[1]);
  condition.operations.push_back(give_back({choose.operands.front()}));
  mlir::Block body = without_branch(blocks[2]);
  body.operations.insert(body.operations.begin(), forward({first, middle}, body.arguments));
  body.operations.push_back(give_back({repeat.operands.begin(), repeat.operands.end()}));
  body.arguments = state;
  loop.regions = {Region{{std::move(condition)}}, Region{{std::move(body)}}};
  mlir::Block whole = without_branch(blocks[0]);
  whole.operations.push_back(std::move(loop));
  whole.operations.push_back(forward({middle, choose.operands.end()}, blocks[3].arguments));
  whole.operations.insert(whole.operations.end(), blocks[3].operations.begin(),
                          blocks[3].operations.end());
  return whole;
}

}  // namespace tilecast::ir::stablehlo
