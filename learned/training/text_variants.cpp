#include "learned/training/text_variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <set>

#include "base/random.h"

namespace tilecast::learned {
namespace {

// All ops except parameters in a random topological order.
std::vector<std::size_t> random_order(const ir::Kernel& kernel, std::mt19937_64& random) {
  std::vector<std::set<std::size_t>> missing(kernel.ops().size());
  std::vector<std::size_t> ready, order;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const ir::Op& op = kernel.ops()[i];
    for (const ir::OpId operand : op.operands) missing[i].insert(operand.index());
    if (op.operands.empty() && op.opcode != ir::Opcode::kParameter) ready.push_back(i);
  }
  const auto give = [&](std::size_t producer) {
    for (const ir::OpId user : kernel.users(ir::OpId(producer))) {
      std::set<std::size_t>& still = missing[user.index()];
      if (still.erase(producer) > 0 && still.empty()) ready.push_back(user.index());
    }
  };
  for (const ir::OpId parameter : kernel.parameters()) give(parameter.index());
  while (!ready.empty()) {
    std::swap(ready[base::draw(random, ready.size())], ready.back());
    const std::size_t next = ready.back();
    ready.pop_back();
    order.push_back(next);
    give(next);
  }
  return order;
}

// The number after "%" or "$", and its position in the token.
std::optional<std::pair<std::size_t, std::size_t>> value_number(const std::string& token) {
  if (token.size() < 2 || (token[0] != '%' && token[0] != '$')) return std::nullopt;
  std::size_t number = 0;
  const auto [end, failure] =
      std::from_chars(token.data() + 1, token.data() + token.size(), number);
  if (failure != std::errc()) return std::nullopt;
  return std::pair(number, static_cast<std::size_t>(end - token.data()));
}

}  // namespace

ir::Kernel reordered(const ir::Kernel& kernel, std::mt19937_64& random) {
  ir::KernelBuilder builder(kernel.name(), kernel.opcode());
  std::vector<ir::OpId> place(kernel.ops().size());
  for (const ir::OpId id : kernel.parameters()) {
    place[id.index()] = builder.parameter(kernel.op(id).shape, kernel.name_of(id));
  }
  for (const std::size_t old : random_order(kernel, random)) {
    ir::Op op = kernel.ops()[old];
    for (ir::OpId& operand : op.operands) operand = place[operand.index()];
    place[old] = builder.add(std::move(op), kernel.name_of(ir::OpId(old)));
  }
  builder.set_op_name(std::string(kernel.op_name()));
  builder.set_work(kernel.work());
  builder.set_group_size(kernel.group_size());
  builder.set_on_host(kernel.on_host());
  if (kernel.compiler_tile()) builder.set_compiler_tile(*kernel.compiler_tile());
  if (kernel.custom_call_cost()) builder.set_custom_call_cost(*kernel.custom_call_cost());
  for (const auto& [output, parameter] : kernel.in_place()) builder.add_in_place(output, parameter);
  std::vector<ir::OpId> outputs;
  for (const ir::OpId id : kernel.outputs()) outputs.push_back(place[id.index()]);
  return builder.build(std::move(outputs));
}

void rename_values(std::vector<std::string>& tokens, std::mt19937_64& random) {
  std::size_t values = 0;
  for (const std::string& token : tokens) {
    if (const auto number = value_number(token)) values = std::max(values, number->first + 1);
  }
  std::vector<std::size_t> renamed(values);
  std::iota(renamed.begin(), renamed.end(), 0);
  base::shuffle(renamed, random);
  for (std::string& token : tokens) {
    const auto number = value_number(token);
    if (!number) continue;
    token = fmt::format("{}{}{}", token[0], renamed[number->first], token.substr(number->second));
  }
}

TokenIds encode_variant(const Vocabulary& vocabulary, const analytical::KernelQuery& query,
                        const hwdesc::Device& device, std::mt19937_64& random) {
  const ir::Kernel other = reordered(query.kernel, random);
  const analytical::KernelQuery asked{
      .kernel = other, .tile = query.tile, .parameters = query.parameters};
  std::vector<std::string> tokens;
  std::vector<float> values;
  for_each_token(asked, device, vocabulary.spec(), [&](const Token& token) {
    tokens.emplace_back(token.text);
    values.push_back(static_cast<float>(token.value));
  });
  rename_values(tokens, random);
  TokenIds text = vocabulary.encode(tokens);
  values.resize(text.ids.size(), 0);
  text.values = std::move(values);
  return text;
}

}  // namespace tilecast::learned
