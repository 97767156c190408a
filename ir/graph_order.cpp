#include "ir/graph_order.h"

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <functional>
#include <numeric>
#include <queue>

namespace tilecast::ir {
namespace {

using Graph =
    boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                       boost::no_property, std::uint32_t, std::uint32_t>;

// Preserves the order of each vertex's edges.
Graph graph_of(std::size_t count, const std::vector<GraphEdge>& edges) {
  return {boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(),
          static_cast<std::uint32_t>(count)};
}

struct Recorder : boost::default_dfs_visitor {
  explicit Recorder(DepthFirst& into) : result(&into) {}
  template <class Vertex>
  void finish_vertex(Vertex vertex, const Graph&) {
    result->post_order.push_back(vertex);
  }
  template <class Edge>
  void back_edge(Edge edge, const Graph& graph) {
    if (!result->on_cycle) result->on_cycle = boost::target(edge, graph);
  }
  DepthFirst* result;
};

}  // namespace

DepthFirst depth_first(std::size_t count, const std::vector<GraphEdge>& edges,
                       std::span<const std::uint32_t> roots) {
  const Graph graph = graph_of(count, edges);
  DepthFirst result;
  std::vector<boost::default_color_type> colors(count, boost::white_color);
  const auto map =
      boost::make_iterator_property_map(colors.begin(), boost::get(boost::vertex_index, graph));
  for (const std::uint32_t root : roots) {
    if (colors[root] != boost::white_color) continue;
    boost::depth_first_visit(graph, root, Recorder(result), map);
  }
  return result;
}

DepthFirst depth_first(std::size_t count, const std::vector<GraphEdge>& edges) {
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0U);
  return depth_first(count, edges, all);
}

std::vector<std::uint32_t> order_by_key(std::span<const std::uint32_t> keys,
                                        const std::vector<GraphEdge>& edges) {
  const Graph graph = graph_of(keys.size(), edges);
  std::vector<std::uint32_t> waiting(keys.size(), 0);
  for (const GraphEdge& edge : edges) ++waiting[edge.second];
  using Entry = std::pair<std::uint32_t, std::uint32_t>;  // key, vertex
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (std::uint32_t vertex = 0; vertex < keys.size(); ++vertex) {
    if (waiting[vertex] == 0) ready.emplace(keys[vertex], vertex);
  }
  std::vector<std::uint32_t> order;
  order.reserve(keys.size());
  while (!ready.empty()) {
    order.push_back(ready.top().second);
    ready.pop();
    const auto [begin, end] = boost::adjacent_vertices(order.back(), graph);
    for (auto next = begin; next != end; ++next) {
      if (--waiting[*next] == 0) ready.emplace(keys[*next], *next);
    }
  }
  return order;
}

}  // namespace tilecast::ir
