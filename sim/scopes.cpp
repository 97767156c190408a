#include "sim/scopes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace tilecast::sim {
namespace {

// "transpose(jvp(block))" is "block", "jvp()" and "jit(relu)" are nothing.
std::string_view without_transforms(std::string_view part) {
  while (part.ends_with(')')) {
    const std::size_t open = part.find('(');
    if (open == 0 || open == std::string_view::npos) break;
    if (part.substr(0, open) == "jit") return "";
    part = part.substr(open + 1, part.size() - open - 2);
  }
  return part;
}

struct Node {
  Seconds time, before;
  std::map<std::string_view, Node> children;
  double weight_s = 0;  // sum of |time - before| over the operations below it
};

using Child = std::pair<const std::string_view, Node>;

void weigh(Node& node) {
  double own_s = (node.time - node.before).value;
  for (auto& [name, child] : node.children) {
    weigh(child);
    own_s -= (child.time - child.before).value;
    node.weight_s += child.weight_s;
  }
  node.weight_s += std::abs(own_s);
}

// Children of a node, the heaviest first.
std::vector<const Child*> by_weight(const Node& node) {
  std::vector<const Child*> order;
  for (const Child& child : node.children) order.push_back(&child);
  std::ranges::stable_sort(order, [](const Child* a, const Child* b) {
    return a->second.weight_s > b->second.weight_s;
  });
  return order;
}

struct ListedScope : ScopeTime {
  double weight_s = 0;
};

void list(const Node& node, std::size_t depth, std::vector<ListedScope>& out) {
  constexpr double kAll = 0.999;  // of the level above
  for (const Child* child : by_weight(node)) {
    const Node* below = &child->second;
    ListedScope scope{{std::string(child->first), depth, below->time, below->before},
                      below->weight_s};
    while (!below->children.empty()) {
      const Child* next = by_weight(*below).front();
      const Node& inner = next->second;
      if (inner.time < scope.time * kAll || inner.before < scope.before * kAll) break;
      scope.name += "/" + std::string(next->first);
      below = &inner;
    }
    out.push_back(std::move(scope));
    list(*below, depth + 1, out);
  }
}

void add(std::span<const SimulatedKernel> kernels, Seconds Node::*time, std::string_view unnamed,
         Node& root) {
  for (const SimulatedKernel& kernel : kernels) {
    std::vector<std::string_view> path = scope_path(kernel.op_name);
    if (path.empty() && !unnamed.empty()) path.push_back(unnamed);
    Node* node = &root;
    for (const std::string_view name : path) {
      node = &node->children[name];
      node->*time += kernel.total();
    }
  }
}

// No node is heavier than the one above it: what is kept is a tree again.
std::vector<ScopeTime> heaviest(Node& root, std::size_t most) {
  for (auto& [name, child] : root.children) weigh(child);
  std::vector<ListedScope> all;
  list(root, 0, all);
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return all[a].weight_s > all[b].weight_s; });
  order.resize(std::min(most, order.size()));
  std::ranges::sort(order);
  std::vector<ScopeTime> kept;
  for (const std::size_t i : order) kept.push_back(std::move(all[i]));
  return kept;
}

}  // namespace

std::vector<std::string_view> scope_path(std::string_view op_name) {
  if (op_name.starts_with("jit("))
    op_name.remove_prefix(std::min(op_name.find(')') + 1, op_name.size()));
  std::vector<std::string_view> path;
  for (std::size_t at = 0; at <= op_name.size();) {
    const std::size_t end = std::min(op_name.find('/', at), op_name.size());
    const std::string_view part = op_name.substr(at, end - at);
    const std::string_view name = end == op_name.size() ? part : without_transforms(part);
    if (!name.empty()) path.push_back(name);
    at = end + 1;
  }
  return path;
}

std::string scope_of(std::string_view op_name) {
  std::string out;
  const std::vector<std::string_view> path = scope_path(op_name);
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    out += (out.empty() ? "" : "/") + std::string(path[i]);
  }
  return out;
}

std::vector<ScopeTime> time_by_scope(std::span<const SimulatedKernel> kernels, std::size_t most) {
  Node root;
  add(kernels, &Node::time, "", root);
  return heaviest(root, most);
}

std::vector<ScopeTime> scope_changes(std::span<const SimulatedKernel> before,
                                     std::span<const SimulatedKernel> after, std::size_t most) {
  constexpr std::string_view kUnnamed = "(no scope)";
  Node root;
  add(before, &Node::before, kUnnamed, root);
  add(after, &Node::time, kUnnamed, root);
  return heaviest(root, most);
}

}  // namespace tilecast::sim
