#include "sim/scopes.h"

#include <algorithm>
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
  Seconds time;
  std::map<std::string_view, Node> children;
};

using Child = std::pair<const std::string_view, Node>;

// Children of a node, the longest first.
std::vector<const Child*> by_time(const Node& node) {
  std::vector<const Child*> order;
  for (const Child& child : node.children) order.push_back(&child);
  std::ranges::stable_sort(
      order, [](const Child* a, const Child* b) { return a->second.time > b->second.time; });
  return order;
}

void list(const Node& node, std::size_t depth, std::vector<ScopeTime>& out) {
  constexpr double kAll = 0.999;  // of the level above
  for (const Child* child : by_time(node)) {
    ScopeTime scope{std::string(child->first), depth, child->second.time};
    const Node* below = &child->second;
    while (!below->children.empty()) {
      const Child* next = by_time(*below).front();
      if (next->second.time < scope.time * kAll) break;
      scope.name += "/" + std::string(next->first);
      below = &next->second;
    }
    out.push_back(std::move(scope));
    list(*below, depth + 1, out);
  }
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
  for (const SimulatedKernel& kernel : kernels) {
    Node* node = &root;
    for (const std::string_view name : scope_path(kernel.op_name)) {
      node = &node->children[name];
      node->time += kernel.total();
    }
  }
  std::vector<ScopeTime> all;
  list(root, 0, all);
  if (all.size() <= most) return all;
  // No node takes longer than the one above it: what is kept is a tree again.
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return all[a].time > all[b].time; });
  order.resize(most);
  std::ranges::sort(order);
  std::vector<ScopeTime> kept;
  for (const std::size_t i : order) kept.push_back(std::move(all[i]));
  return kept;
}

}  // namespace tilecast::sim
