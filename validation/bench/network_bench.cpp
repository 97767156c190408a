// Networks: kernels per second on one core. Graphs of 41 nodes: the mean of the kernels of Kaufman
// et al., MLSys 2021. Texts of 200 tokens; bar: one in 2 ms, 5,000 per second in batches of 256.
// Weights are random: the time does not depend on them.
#include <benchmark/benchmark.h>

#include <random>

#include "learned/graph_network.h"

namespace tilecast::learned {
namespace {

constexpr int kNodes = 41;
constexpr NetworkWidths kWidths{.opcodes = 100, .node = 110, .at_nodes = 40, .at_kernel = 0};
constexpr int kTokens = 200;
constexpr NetworkWidths kTextWidths{.opcodes = 2000, .node = 0, .at_nodes = 0, .at_kernel = 0};

// Uniform in [0, 1).
float draw(std::mt19937& engine) {
  return static_cast<float>(engine() >> 8) * 0x1p-24F;
}

KernelGraph random_kernel(std::mt19937& engine) {
  KernelGraph graph;
  for (std::int32_t node = 0; node < kNodes; ++node) {
    graph.opcodes.push_back(static_cast<std::int32_t>(engine() % 100));
    graph.topological.push_back(node);
    for (std::size_t i = 0; i < kWidths.node; ++i) graph.features.push_back(draw(engine));
    for (int inputs = 0; node > 0 && inputs < 2; ++inputs) {
      const auto producer = static_cast<std::int32_t>(engine() % static_cast<unsigned>(node));
      const GraphEdge edge{producer, node};
      if (graph.edges.empty() || !(graph.edges.back() == edge)) graph.edges.push_back(edge);
    }
  }
  return graph;
}

KernelGraph random_text(std::mt19937& engine) {
  KernelGraph graph;
  for (std::int32_t node = 0; node < kTokens; ++node) {
    graph.opcodes.push_back(static_cast<std::int32_t>(engine() % kTextWidths.opcodes));
    graph.topological.push_back(node);
  }
  return graph;
}

// Repeatedly runs a network of this kind on the graphs.
void predict_graphs(benchmark::State& state, const NetworkSpec& spec, const NetworkWidths& widths,
                    const std::vector<KernelGraph>& graphs, std::span<const float> at_nodes) {
  std::vector<GraphExample> examples;
  std::vector<GraphInput> inputs;
  for (const KernelGraph& graph : graphs) {
    inputs.push_back({&graph, at_nodes, {}});
    examples.push_back({inputs.back()});
  }
  TrainingSpec training;
  training.epochs = 1;
  const auto network = graph_module().train(spec, widths, training, examples, {}, {});
  std::vector<float> out(graphs.size());
  for (auto _ : state) network->predict(inputs, out);
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetLabel(graph_module().version());
}

bool skips(benchmark::State& state) {
  if (!has_graph_module()) state.SkipWithError("built without the graph networks");
  return !has_graph_module();
}

void predict_kernels(benchmark::State& state, Reduction reduction) {
  if (skips(state)) return;
  std::mt19937 engine(1);
  const auto batch = static_cast<std::size_t>(state.range(0));
  std::vector<KernelGraph> graphs;
  for (std::size_t i = 0; i < batch; ++i) graphs.push_back(random_kernel(engine));
  std::vector<float> at_nodes;
  for (std::size_t i = 0; i < kWidths.at_nodes; ++i) at_nodes.push_back(draw(engine));
  NetworkSpec spec;
  spec.reduction = reduction;
  predict_graphs(state, spec, kWidths, graphs, at_nodes);
}

// The networks of docs/learning.md.
void predict_texts(benchmark::State& state, GraphLayer graph, Reduction reduction) {
  if (skips(state)) return;
  std::mt19937 engine(1);
  std::vector<KernelGraph> texts;
  for (std::int64_t i = 0; i < state.range(0); ++i) texts.push_back(random_text(engine));
  NetworkSpec spec;
  spec.graph = graph;
  spec.hops = graph == GraphLayer::kConv1d ? 6 : 0;
  spec.hidden = graph == GraphLayer::kConv1d ? 32 : 64;
  spec.opcode_width = 64;
  spec.reduction = reduction;
  spec.positions = reduction == Reduction::kTransformer;
  spec.pool_mean = false;
  spec.head_layers = 2;
  predict_graphs(state, spec, kTextWidths, texts, {});
}

BENCHMARK_CAPTURE(predict_kernels, column_wise, Reduction::kColumnWise)->Arg(1)->Arg(64)->Arg(1024);
BENCHMARK_CAPTURE(predict_kernels, lstm, Reduction::kLstm)->Arg(64);
BENCHMARK_CAPTURE(predict_kernels, transformer, Reduction::kTransformer)->Arg(64);
BENCHMARK_CAPTURE(predict_texts, conv1d, GraphLayer::kConv1d, Reduction::kColumnWise)
    ->Arg(1)
    ->Arg(256)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict_texts, lstm, GraphLayer::kNone, Reduction::kLstm)
    ->Arg(1)
    ->Arg(256)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict_texts, transformer, GraphLayer::kNone, Reduction::kTransformer)
    ->Arg(1)
    ->Arg(256)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilecast::learned
