#include "tests/host/random_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace tilecast::host {
namespace {

std::string type_text(const Node& node) {
  std::string text = fmt::format("{}[{}]", name(node.dtype), join(node.dims));
  if (!node.minor_to_major.empty()) text += "{" + join(node.minor_to_major) + "}";
  return text;
}

// "add_f32": the name and text of the computation applied by a reduction.
std::string reducer_name(const Node& node) {
  const std::size_t at = node.attributes.rfind("to_apply=");
  return at == std::string::npos ? "" : node.attributes.substr(at + 9);
}
std::string reducer_text(const Node& node) {
  const std::string name = reducer_name(node);
  const std::string opcode = name.substr(0, name.find('_'));
  const auto type = ir::name(node.dtype);
  return fmt::format(
      "{0} {{\n  a = {1}[] parameter(0)\n  b = {1}[] parameter(1)\n  ROOT r = {1}[] {2}(a, "
      "b)\n}}\n",
      name, type, opcode);
}

}  // namespace

std::int64_t elements(const ir::Dims& dims) {
  std::int64_t count = 1;
  for (const std::int64_t size : dims) count *= size;
  return count;
}

std::string join(const ir::Dims& values) {
  return fmt::format("{}", fmt::join(values.begin(), values.end(), ","));
}

std::vector<NodeId> RandomGraph::needed(const std::vector<NodeId>& roots) const {
  std::vector<char> wanted(nodes_.size(), 0);
  for (const NodeId root : roots) wanted[root] = 1;
  for (NodeId id = nodes_.size(); id > 0; --id) {
    if (wanted[id - 1] == 0) continue;
    for (const NodeId operand : nodes_[id - 1].operands) wanted[operand] = 1;
  }
  std::vector<NodeId> order;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (wanted[id] != 0) order.push_back(id);
  }
  return order;
}

std::vector<ParameterRange> RandomGraph::parameters(const std::vector<NodeId>& roots) const {
  std::vector<ParameterRange> result;
  for (const NodeId id : needed(roots)) {
    if (at(id).opcode == "parameter") result.push_back({fmt::format("p{}", id), at(id).range});
  }
  return result;
}

std::string RandomGraph::text(const std::vector<NodeId>& roots) const {
  std::string reducers, body, entry, arguments;
  std::set<std::string> written;
  int parameters = 0;
  for (const NodeId id : needed(roots)) {
    const Node& node = at(id);
    std::string inside;
    if (node.opcode == "parameter") {
      const int number = parameters++;
      inside = std::to_string(number);
      entry += fmt::format("  p{} = {} parameter({})\n", id, type_text(node), number);
      arguments += fmt::format("{}p{}", number > 0 ? ", " : "", id);
    } else if (node.opcode == "constant") {
      inside = node.literal;
    } else {
      for (const NodeId operand : node.operands) {
        inside += fmt::format("{}n{}", inside.empty() ? "" : ", ", operand);
      }
    }
    const std::string reducer = reducer_name(node);
    if (!reducer.empty() && written.insert(reducer).second) reducers += reducer_text(node);
    const bool root = roots.size() == 1 && id == roots[0];
    body += fmt::format("  {}n{} = {} {}({}){}\n", root ? "ROOT " : "", id, type_text(node),
                        node.opcode, inside, node.attributes);
  }
  std::string type = type_text(at(roots[0]));
  if (roots.size() > 1) {
    std::string results;
    type.clear();
    for (const NodeId root : roots) {
      type += (type.empty() ? "" : ", ") + type_text(at(root));
      results += fmt::format("{}n{}", results.empty() ? "" : ", ", root);
    }
    type = "(" + type + ")";
    body += fmt::format("  ROOT t = {} tuple({})\n", type, results);
  }
  return fmt::format(
      "HloModule random\n\n{}\nfused {{\n{}}}\n\nENTRY main {{\n{}  ROOT kernel = {} fusion({}), "
      "kind=kLoop, calls=fused\n}}\n",
      reducers, body, entry, type, arguments);
}

}  // namespace tilecast::host
