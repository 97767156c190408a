#include "learned/node_columns.h"

#include <algorithm>
#include <limits>

namespace tilecast::learned {
namespace {

float clamped(double value) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(value, -kMost, kMost));
}

double as_number(std::int64_t value) {
  return value == ir::kUnboundedSize ? 0 : static_cast<double>(value);
}

}  // namespace

void NodeColumns::name_column(const Text& text, std::string_view suffix, std::string_view doc) {
  FeatureColumn column;
  column.name = std::string("node.").append(text.name).append(suffix);
  column.unit = text.unit;
  column.doc = std::string(text.doc).append(doc);
  column.group = FeatureGroup::kNode;
  schema_->columns.push_back(std::move(column));
}

void NodeColumns::value(const Text& text, double value) {
  if (schema_ != nullptr) {
    name_column(text, "", "");
  } else {
    rows_->push_back(clamped(value));
  }
}

void NodeColumns::entries(const Text& text, List values, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if (schema_ != nullptr) {
      const std::string place = std::to_string(i);
      name_column(text, "." + place, " Entry " + place + " of the list, 0 where it is shorter.");
    } else {
      rows_->push_back(i < values.size() ? clamped(as_number(values[i])) : 0.0F);
    }
  }
}

void NodeColumns::sum(const Text& text, List values) {
  if (schema_ != nullptr) {
    name_column(text, ".sum", " Sum of the whole list.");
    return;
  }
  double sum = 0;
  for (const std::int64_t value : values) sum += as_number(value);
  rows_->push_back(clamped(sum));
}

void NodeColumns::product(const Text& text, List values, double of_none) {
  if (schema_ != nullptr) {
    name_column(text, ".product", " Product of the whole list.");
    return;
  }
  double product = values.empty() ? of_none : 1;
  for (const std::int64_t value : values) product *= as_number(value);
  rows_->push_back(clamped(product));
}

void NodeColumns::list(const Text& text, List values, std::size_t n, double product_of_none) {
  entries(text, values, n);
  sum(text, values);
  product(text, values, product_of_none);
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
  std::vector<std::size_t> followed(graph.nodes(), 0);  // producers, by node
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
