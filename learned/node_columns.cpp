#include "learned/node_columns.h"

namespace tilecast::learned {

NodeWindow::NodeWindow(const NodeView& node) {
  const auto take = [this](const auto& attrs, const ir::ConvDims& dims) {
    window = &attrs.window;
    conv = &dims;
    feature_groups = attrs.feature_group_count;
    batch_groups = attrs.batch_group_count;
  };
  if (const auto* const attrs = node.get<ir::ConvAttrs>()) {
    take(*attrs, attrs->dims);
  } else if (const auto* const call = node.get<ir::CustomCallAttrs>(); call && call->dims) {
    take(*call, *call->dims);
  } else if (const auto* const windowed = node.get<ir::WindowAttrs>()) {
    window = &windowed->window;
  }
}

void EdgeList::add(std::int32_t producer, std::int32_t consumer) {
  std::int32_t& last = last_[static_cast<std::size_t>(producer)];
  if (last == consumer) return;
  last = consumer;
  graph_.edges.push_back({producer, consumer});
}

void order_nodes(const std::vector<std::int32_t>& roots, KernelGraph& graph) {
  std::vector<std::vector<std::int32_t>> producers(graph.nodes());
  for (const GraphEdge& edge : graph.edges) {
    producers[static_cast<std::size_t>(edge.consumer)].push_back(edge.producer);
  }
  std::vector<bool> reached(graph.nodes(), false);
  std::vector<std::size_t> followed(graph.nodes(), 0);  // number of visited producers, by node
  std::vector<std::int32_t> path;
  const auto reach = [&](std::int32_t node) {
    if (reached[static_cast<std::size_t>(node)]) return;
    reached[static_cast<std::size_t>(node)] = true;
    path.push_back(node);
  };
  const auto visit = [&](std::int32_t root) {
    reach(root);
    while (!path.empty()) {
      const auto node = static_cast<std::size_t>(path.back());
      if (followed[node] < producers[node].size()) {
        reach(producers[node][followed[node]++]);
      } else {
        graph.topological.push_back(path.back());
        path.pop_back();
      }
    }
  };
  graph.topological.reserve(graph.nodes());
  for (const std::int32_t root : roots) visit(root);
  for (std::size_t i = graph.nodes(); i-- > 0;) visit(static_cast<std::int32_t>(i));
}

}  // namespace tilecast::learned
