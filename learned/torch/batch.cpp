#include "learned/torch/batch.h"

#include <algorithm>

#include "base/error.h"

namespace tilecast::learned::torch_module {
namespace {

void check(const GraphInput& input, const NetworkWidths& widths) {
  TC_CHECK(input.graph != nullptr && input.graph->nodes() > 0, "a kernel has nodes");
  const KernelGraph& graph = *input.graph;
  TC_CHECK(graph.features.size() == graph.nodes() * widths.node, "one row of features per node");
  TC_CHECK(graph.topological.size() == graph.nodes(), "each node once in topological order");
  TC_CHECK(input.at_nodes.size() == widths.at_nodes && input.at_kernel.size() == widths.at_kernel,
           "as many features of the kernel as the network takes");
}

// Appends the rows of kernels one by one.
class Filler {
 public:
  Filler(Batch& batch, const NetworkWidths& widths)
      : widths_(widths),
        opcodes_(batch.opcodes.data_ptr<std::int64_t>()),
        kernel_of_(batch.kernel_of.data_ptr<std::int64_t>()),
        place_(batch.place.data_ptr<std::int64_t>()),
        producers_(batch.producers.data_ptr<std::int64_t>()),
        consumers_(batch.consumers.data_ptr<std::int64_t>()),
        features_(batch.features.data_ptr<float>()),
        at_kernel_(batch.at_kernel.data_ptr<float>()) {}

  void add(const GraphInput& input) {
    const KernelGraph& graph = *input.graph;
    const auto nodes = static_cast<std::int64_t>(graph.nodes());
    row_of_.assign(graph.nodes(), -1);
    for (std::int64_t place = 0; place < nodes; ++place) {
      const auto node =
          static_cast<std::size_t>(graph.topological[static_cast<std::size_t>(place)]);
      TC_CHECK(node < graph.nodes() && row_of_[node] < 0, "topological order names a node once");
      row_of_[node] = first_ + place;
      add_node(input, node, place);
    }
    for (const GraphEdge& edge : graph.edges) {
      *producers_++ = row_of_.at(static_cast<std::size_t>(edge.producer));
      *consumers_++ = row_of_.at(static_cast<std::size_t>(edge.consumer));
    }
    at_kernel_ = std::ranges::copy(input.at_kernel, at_kernel_).out;
    first_ += nodes;
    ++kernel_;
  }

 private:
  void add_node(const GraphInput& input, std::size_t node, std::int64_t place) {
    const std::int32_t opcode = input.graph->opcodes[node];
    TC_CHECK(opcode >= 0 && opcode < widths_.opcodes, "an opcode the network knows");
    *opcodes_++ = opcode;
    *kernel_of_++ = kernel_;
    *place_++ = place;
    const std::span<const float> own =
        std::span(input.graph->features).subspan(node * widths_.node, widths_.node);
    features_ = std::ranges::copy(own, features_).out;
    features_ = std::ranges::copy(input.at_nodes, features_).out;
  }

  NetworkWidths widths_;
  std::int64_t first_ = 0, kernel_ = 0;
  std::vector<std::int64_t> row_of_;
  std::int64_t *opcodes_, *kernel_of_, *place_, *producers_, *consumers_;
  float *features_, *at_kernel_;
};

}  // namespace

Batch make_batch(std::span<const GraphInput> inputs, const NetworkWidths& widths) {
  std::int64_t nodes = 0, edges = 0;
  Batch batch;
  for (const GraphInput& input : inputs) {
    check(input, widths);
    batch.lengths.push_back(static_cast<std::int64_t>(input.graph->nodes()));
    nodes += batch.lengths.back();
    edges += static_cast<std::int64_t>(input.graph->edges.size());
  }
  const auto kernels = static_cast<std::int64_t>(inputs.size());
  batch.opcodes = torch::empty({nodes}, torch::kInt64);
  batch.kernel_of = torch::empty({nodes}, torch::kInt64);
  batch.place = torch::empty({nodes}, torch::kInt64);
  batch.producers = torch::empty({edges}, torch::kInt64);
  batch.consumers = torch::empty({edges}, torch::kInt64);
  const auto width = static_cast<std::int64_t>(widths.node + widths.at_nodes);
  batch.features = torch::empty({nodes, width}, torch::kFloat32);
  batch.at_kernel =
      torch::empty({kernels, static_cast<std::int64_t>(widths.at_kernel)}, torch::kFloat32);
  Filler filler(batch, widths);
  for (const GraphInput& input : inputs) filler.add(input);
  return batch;
}

}  // namespace tilecast::learned::torch_module
