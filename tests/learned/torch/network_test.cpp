#include "learned/torch/network.h"

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/error.h"
#include "learned/torch/segments.h"
#include "tests/learned/torch/random_graphs.h"

namespace tilecast::learned::torch_module {
namespace {

using torch::Tensor;

constexpr double kTolerance = 1e-5;  // for single precision sums in another order

std::vector<float> predict(Network& network, const std::vector<GraphInput>& inputs,
                           const NetworkWidths& widths = kTestWidths) {
  const torch::NoGradGuard no_gradients;
  const Tensor out = network.forward(make_batch(inputs, widths)).contiguous();
  return {out.data_ptr<float>(), out.data_ptr<float>() + out.numel()};
}
float predict(Network& network, const RandomKernel& kernel) {
  return predict(network, std::vector<GraphInput>{kernel.input()}).front();
}

// The same kernel with node i renamed names[i]; edges keep their order.
RandomKernel renamed(const RandomKernel& kernel, const std::vector<std::int32_t>& names) {
  RandomKernel out = kernel;
  const std::size_t width = kTestWidths.node;
  const auto to = [&](std::int32_t node) { return names[static_cast<std::size_t>(node)]; };
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto at = static_cast<std::size_t>(names[i]);
    out.graph.opcodes[at] = kernel.graph.opcodes[i];
    std::copy_n(kernel.graph.features.begin() + static_cast<std::ptrdiff_t>(i * width), width,
                out.graph.features.begin() + static_cast<std::ptrdiff_t>(at * width));
    out.graph.topological[i] = to(kernel.graph.topological[i]);
  }
  for (GraphEdge& edge : out.graph.edges) edge = {to(edge.producer), to(edge.consumer)};
  return out;
}

std::vector<std::int32_t> shuffled_names(RandomKernels& random, std::size_t count) {
  std::vector<std::int32_t> names(count);
  std::iota(names.begin(), names.end(), 0);
  for (std::size_t i = count; i > 1; --i) {
    std::swap(names[i - 1], names[static_cast<std::size_t>(random.below(static_cast<int>(i)))]);
  }
  return names;
}

struct Variant {
  GraphLayer graph;
  Reduction reduction;
};
std::string name_of(const ::testing::TestParamInfo<Variant>& info) {
  return std::string(kGraphLayers[static_cast<std::size_t>(info.param.graph)]) + "_" +
         std::string(kReductions[static_cast<std::size_t>(info.param.reduction)]);
}
std::vector<Variant> all_variants() {
  std::vector<Variant> variants;
  for (const GraphLayer graph : {GraphLayer::kNone, GraphLayer::kSage, GraphLayer::kSageUndirected,
                                 GraphLayer::kGat, GraphLayer::kGcn}) {
    for (const Reduction reduction :
         {Reduction::kPerNode, Reduction::kColumnWise, Reduction::kLstm, Reduction::kTransformer}) {
      variants.push_back({graph, reduction});
    }
  }
  return variants;
}

class EveryNetwork : public ::testing::TestWithParam<Variant> {
 protected:
  [[nodiscard]] static NetworkSpec spec() {
    NetworkSpec chosen = small();
    chosen.graph = GetParam().graph;
    chosen.reduction = GetParam().reduction;
    chosen.pool_sum = true;
    chosen.reduction_layers = 2;
    chosen.module_layers = chosen.final_layers = 1;
    return chosen;
  }
};
INSTANTIATE_TEST_SUITE_P(Networks, EveryNetwork, ::testing::ValuesIn(all_variants()), name_of);

TEST_P(EveryNetwork, GivesOneFiniteNumberPerKernelWhateverItsSize) {
  RandomKernels random(1);
  std::vector<RandomKernel> kernels = random.make_many(20, 40);
  kernels.push_back(random.make(700));
  for (const Aggregate aggregate : {Aggregate::kMean, Aggregate::kSum, Aggregate::kMax}) {
    NetworkSpec chosen = spec();
    chosen.aggregate = aggregate;
    Network network(chosen, kTestWidths, 3);
    const std::vector<float> out = predict(network, inputs_of(kernels));
    ASSERT_EQ(out.size(), kernels.size());
    for (const float value : out) EXPECT_TRUE(std::isfinite(value));
    EXPECT_GT(std::set<float>(out.begin(), out.end()).size(), kernels.size() / 2);
  }
}

TEST_P(EveryNetwork, NamesOfNodesDoNotMatter) {
  RandomKernels random(2);
  Network network(spec(), kTestWidths, 3);
  for (int i = 0; i < 10; ++i) {
    const RandomKernel kernel = random.make(2 + random.below(30));
    const RandomKernel other = renamed(kernel, shuffled_names(random, kernel.graph.nodes()));
    EXPECT_NEAR(predict(network, kernel), predict(network, other), kTolerance);
  }
}

TEST_P(EveryNetwork, ABatchGivesWhatEachKernelGivesAlone) {
  RandomKernels random(3);
  const std::vector<RandomKernel> kernels = random.make_many(12, 30);
  Network network(spec(), kTestWidths, 3);
  const std::vector<float> together = predict(network, inputs_of(kernels));
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_NEAR(together[i], predict(network, kernels[i]), kTolerance) << i;
  }
}

// Biases start at 0, so rows of zeros would be at the corner of a rectifier, where a central
// difference is not the gradient.
void move_off_corners(Network& network, RandomKernels& random) {
  const torch::NoGradGuard no_gradients;
  for (Tensor& parameter : network.parameters()) {
    Tensor values = parameter.view({-1});
    for (std::int64_t i = 0; i < values.numel(); ++i) values[i] += 1e-4 * random.below(1000);
  }
}

// d loss / d weight by a central difference, for a sample of the weights of each tensor.
TEST_P(EveryNetwork, GradientsAreThoseOfFiniteDifferences) {
  RandomKernels random(4);
  const std::vector<RandomKernel> kernels = random.make_many(5, 9);
  const Batch batch = make_batch(inputs_of(kernels), kTestWidths);
  for (const Aggregate aggregate : {Aggregate::kMean, Aggregate::kSum, Aggregate::kMax}) {
    NetworkSpec chosen = spec();
    chosen.aggregate = aggregate;
    Network network(chosen, kTestWidths, 5);
    network.to(torch::kFloat64);
    move_off_corners(network, random);
    const auto loss = [&] { return network.forward(batch).square().sum(); };
    loss().backward();
    const torch::NoGradGuard no_gradients;
    constexpr double kStep = 1e-6;
    int checked = 0;
    for (const auto& parameter : network.named_parameters()) {
      Tensor values = parameter.value().view({-1});
      ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
      const Tensor gradient = parameter.value().grad().reshape({-1});
      for (int draw = 0; draw < 4; ++draw) {
        const auto at = random.below(static_cast<std::int32_t>(values.numel()));
        const double before = values[at].item<double>();
        values[at] = before + kStep;
        const double above = loss().item<double>();
        values[at] = before - kStep;
        const double below = loss().item<double>();
        values[at] = before;
        const double expected = (above - below) / (2 * kStep);
        EXPECT_NEAR(gradient[at].item<double>(), expected, 1e-6 * (1 + std::abs(expected)))
            << parameter.key() << "[" << at << "]";
        ++checked;
      }
    }
    EXPECT_GT(checked, 20);
  }
}

RandomKernel reversed(RandomKernel kernel) {
  for (GraphEdge& edge : kernel.graph.edges) std::swap(edge.producer, edge.consumer);
  return kernel;
}

TEST(GraphLayers, DirectedOnesSeeWhichWayAnEdgeGoesAndOthersDoNot) {
  RandomKernels random(6);
  const RandomKernel kernel = random.make(12), other = reversed(kernel);
  for (std::size_t i = 0; i < std::size(kGraphLayers); ++i) {
    NetworkSpec spec = small();
    spec.graph = static_cast<GraphLayer>(i);
    Network network(spec, kTestWidths, 3);
    const float difference = std::abs(predict(network, kernel) - predict(network, other));
    const bool directed = spec.graph == GraphLayer::kSage || spec.graph == GraphLayer::kGat;
    if (directed) {
      EXPECT_GT(difference, 1e-4) << kGraphLayers[i];
    } else {
      EXPECT_LT(difference, kTolerance) << kGraphLayers[i];
    }
  }
}

// Equal producers of one node: changing its opcode changes the sum over nodes equally for three of
// them and for one, unless they see the node.
TEST(GraphLayers, TopDownOnesReadProducersAlone) {
  constexpr NetworkWidths kBare{.opcodes = 5, .node = 0, .at_nodes = 0, .at_kernel = 0};
  const auto star = [](std::int32_t producers, std::int32_t opcode) {
    RandomKernel kernel;
    for (std::int32_t node = 0; node <= producers; ++node) {
      kernel.graph.opcodes.push_back(node < producers ? 1 : opcode);
      kernel.graph.topological.push_back(node);
      if (node < producers) kernel.graph.edges.push_back({node, producers});
    }
    return kernel;
  };
  for (const GraphLayer graph :
       {GraphLayer::kSage, GraphLayer::kSageUndirected, GraphLayer::kGcn}) {
    for (const bool top_down : {true, false}) {
      NetworkSpec spec = small();
      spec.graph = graph;
      spec.top_down = top_down;
      spec.aggregate = Aggregate::kMax;
      spec.reduction = Reduction::kPerNode;
      Network network(spec, kBare, 3);
      const auto change = [&](std::int32_t producers) {
        const RandomKernel one = star(producers, 2), other = star(producers, 3);
        const std::vector<float> out = predict(network, {one.input(), other.input()}, kBare);
        return out[1] - out[0];
      };
      if (top_down) {
        EXPECT_NEAR(change(3), change(1), kTolerance) << static_cast<int>(graph);
      } else {
        EXPECT_GT(std::abs(change(3) - change(1)), 10 * kTolerance) << static_cast<int>(graph);
      }
    }
  }
}

// Equation 2 of Kipf and Welling, and its maximum and mean, node by node.
TEST(GraphLayers, ConvolutionsAreThoseOfTheirFormula) {
  RandomKernels random(8);
  const RandomKernel kernel = random.make(10);
  for (const Aggregate how : {Aggregate::kSum, Aggregate::kMean, Aggregate::kMax}) {
    for (const bool top_down : {false, true}) {
      NetworkSpec spec = small();
      spec.graph = GraphLayer::kGcn;
      spec.aggregate = how;
      spec.top_down = top_down;
      spec.hops = 1;
      spec.encoder = false;
      spec.pool_max = false;  // the mean over nodes
      Network network(spec, kTestWidths, 3);
      const auto weights = network.named_parameters();
      const torch::NoGradGuard no_gradients;
      const Batch batch = make_batch(std::vector{kernel.input()}, kTestWidths);
      const Tensor nodes =
          torch::cat({weights["opcodes"].index_select(0, batch.opcodes), batch.features}, 1);
      std::vector<std::vector<std::int64_t>> reads(10);
      for (std::int64_t i = 0; i < 10; ++i) reads[static_cast<std::size_t>(i)].push_back(i);
      for (const GraphEdge& edge : kernel.graph.edges) {
        reads[static_cast<std::size_t>(edge.consumer)].push_back(edge.producer);
        if (!top_down) reads[static_cast<std::size_t>(edge.producer)].push_back(edge.consumer);
      }
      Tensor sum = torch::zeros({8});
      for (const auto& neighbours : reads) {
        std::vector<Tensor> rows;
        const auto degree = static_cast<double>(neighbours.size());
        for (const std::int64_t j : neighbours) {
          const auto other = static_cast<double>(reads[static_cast<std::size_t>(j)].size());
          rows.push_back(how == Aggregate::kSum ? nodes[j] / std::sqrt(degree * other) : nodes[j]);
        }
        const Tensor stacked = torch::stack(rows);
        const Tensor reduced = how == Aggregate::kMax    ? std::get<0>(stacked.max(0))
                               : how == Aggregate::kMean ? stacked.mean(0)
                                                         : stacked.sum(0);
        sum += (weights["hop0_f3_weight"].mv(reduced) + weights["hop0_f3_bias"]).relu() / 10;
      }
      const Tensor joined = torch::cat({sum, torch::tensor(kernel.at_kernel)});
      const Tensor hidden = (weights["hidden_weight"].mv(joined) + weights["hidden_bias"]).relu();
      const Tensor expected = weights["out_weight"].mv(hidden) + weights["out_bias"];
      EXPECT_NEAR(predict(network, kernel), expected.item<float>(), kTolerance)
          << static_cast<int>(how) << top_down;
    }
  }
}

TEST(GraphLayers, WithoutHopsEdgesDoNotMatter) {
  RandomKernels random(7);
  const RandomKernel kernel = random.make(12);
  RandomKernel bare = kernel;
  bare.graph.edges.clear();
  for (const int hops : {0, 1}) {
    NetworkSpec spec = small();
    spec.hops = hops;
    Network network(spec, kTestWidths, 3);
    const float difference = std::abs(predict(network, kernel) - predict(network, bare));
    if (hops == 0) {
      EXPECT_EQ(difference, 0);
    } else {
      EXPECT_GT(difference, 1e-4);
    }
  }
}

// In a chain, the last node sees the node `hops` before it and none further.
TEST(GraphLayers, AHopReachesOneEdgeFurther) {
  for (int hops = 1; hops <= 3; ++hops) {
    const Segments in = make_segments(torch::arange(7), torch::arange(1, 8), 8);
    Tensor values = torch::eye(8);  // row i: the nodes that i has seen
    for (int i = 0; i < hops; ++i) values = values + reduce(values, in, Aggregate::kSum);
    EXPECT_GT(values[7][7 - hops].item<float>(), 0);
    EXPECT_EQ(values[7][7 - hops - 1].item<float>(), 0);
  }
}

TEST(GraphLayers, OnlyTheFirstNeighboursOfANodeAreRead) {
  const Tensor sources = torch::tensor({5, 4, 3, 2, 1}), targets = torch::tensor({0, 0, 1, 0, 0});
  const Segments all = make_segments(sources, targets, 2);
  EXPECT_TRUE(torch::equal(all.sources, torch::tensor({5, 4, 2, 1, 3})));
  EXPECT_TRUE(torch::equal(all.offsets, torch::tensor({0, 4, 5})));
  const Segments capped = make_segments(sources, targets, 2, /*limit=*/3);
  EXPECT_TRUE(torch::equal(capped.sources, torch::tensor({5, 4, 2, 3})));
  EXPECT_TRUE(torch::equal(capped.offsets, torch::tensor({0, 3, 4})));

  RandomKernels random(9);
  RandomKernel star = random.make(7);
  star.graph.edges.clear();
  for (std::int32_t i = 1; i < 7; ++i) star.graph.edges.push_back({0, i});
  RandomKernel swapped = star;
  std::swap(swapped.graph.edges[1], swapped.graph.edges[5]);  // changes the first two
  for (const int neighbours : {2, 6}) {
    NetworkSpec spec = small();
    spec.neighbours = neighbours;
    Network network(spec, kTestWidths, 3);
    const float difference = std::abs(predict(network, star) - predict(network, swapped));
    if (neighbours == 2) {
      EXPECT_GT(difference, 1e-5);
    } else {
      EXPECT_LT(difference, 1e-6);
    }
  }
}

// A node with six consumers of which one is read: in training each of them is drawn, so there are
// six answers; in prediction the first one is read.
TEST(GraphLayers, SampledNeighboursAreDrawnAnewForEachBatch) {
  RandomKernels random(9);
  RandomKernel star = random.make(7);
  star.graph.edges.clear();
  for (std::int32_t i = 1; i < 7; ++i) star.graph.edges.push_back({0, i});
  NetworkSpec spec = small();
  spec.hops = 1;
  spec.neighbours = 1;
  spec.dropout = 0;
  spec.sample_neighbours = true;
  Network network(spec, kTestWidths, 3);
  const torch::NoGradGuard no_gradients;
  torch::Generator generator = torch::make_generator<at::CPUGeneratorImpl>(1);
  const Batch batch = make_batch(std::vector{star.input()}, kTestWidths);
  std::set<long> trained, predicted;
  for (int i = 0; i < 200; ++i) {
    const auto rounded = [](const Tensor& one) { return std::lround(1e5 * one.item<float>()); };
    trained.insert(rounded(network.forward(batch, &generator)));
    predicted.insert(rounded(network.forward(batch)));
  }
  EXPECT_EQ(trained.size(), 6);
  EXPECT_EQ(predicted.size(), 1);
}

TEST(Segments, ReductionsAreThoseOfTheirRows) {
  const Tensor rows = torch::tensor({1., 10., 2., 20., 4., -40.}).view({3, 2});
  const Segments segments{torch::tensor({0, 2, 1}), torch::tensor({0, 2, 2, 3})};
  EXPECT_TRUE(torch::equal(reduce(rows, segments, Aggregate::kSum),
                           torch::tensor({5., -30., 0., 0., 2., 20.}).view({3, 2})));
  EXPECT_TRUE(torch::equal(reduce(rows, segments, Aggregate::kMean),
                           torch::tensor({2.5, -15., 0., 0., 2., 20.}).view({3, 2})));
  EXPECT_TRUE(torch::equal(reduce(rows, segments, Aggregate::kMax),
                           torch::tensor({4., 10., 0., 0., 2., 20.}).view({3, 2})));
  EXPECT_TRUE(torch::equal(segments.targets(), torch::tensor({0, 0, 2})));
}

TEST(Segments, SoftmaxOfHugeScoresIsFiniteAndSumsToOne) {
  const Segments segments{torch::arange(3), torch::tensor({0, 2, 2, 3})};
  const Tensor shares = softmax(torch::tensor({3000.F, 2999.F, -5000.F}).view({3, 1}), segments);
  EXPECT_NEAR(shares[0].item<float>(), 1 / (1 + std::exp(-1.F)), 1e-6);
  EXPECT_NEAR((shares[0] + shares[1]).item<float>(), 1, 1e-6);
  EXPECT_EQ(shares[2].item<float>(), 1);
}

TEST(Networks, FeaturesOfTheKernelGoWhereTheWidthsSay) {
  for (const Variant& variant : all_variants()) {
    NetworkSpec spec = small();
    spec.graph = variant.graph;
    spec.reduction = variant.reduction;
    for (const bool at_nodes : {true, false}) {
      const NetworkWidths widths{
          .opcodes = 5, .node = 3, .at_nodes = at_nodes ? 4U : 0U, .at_kernel = at_nodes ? 0U : 4U};
      RandomKernels random(10, widths);
      const RandomKernel kernel = random.make(9);
      RandomKernel other = kernel;
      for (float& value : at_nodes ? other.at_nodes : other.at_kernel) value = 1 - value;
      Network network(spec, widths, 3);
      const std::vector<float> out = predict(network, {kernel.input(), other.input()}, widths);
      EXPECT_NE(out[0], out[1]);
    }
  }
}

TEST(Networks, TheSeedDecidesTheWeightsAndTheGeneratorTheDropout) {
  RandomKernels random(11);
  const RandomKernel kernel = random.make(9);
  NetworkSpec spec = small();
  spec.dropout = 0.5;
  Network network(spec, kTestWidths, 3), same(spec, kTestWidths, 3), other(spec, kTestWidths, 4);
  EXPECT_EQ(save_weights(network), save_weights(same));
  EXPECT_NE(save_weights(network), save_weights(other));
  const Batch batch = make_batch(std::vector<GraphInput>{kernel.input()}, kTestWidths);
  const auto drawn = [&](std::uint64_t seed) {
    torch::Generator generator = at::detail::createCPUGenerator(seed);
    return network.forward(batch, &generator).item<float>();
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
  EXPECT_EQ(predict(network, kernel), predict(same, kernel));  // none in prediction
}

std::int64_t weight_count(const NetworkSpec& spec) {
  std::int64_t count = 0;
  for (const Tensor& parameter : Network(spec, kTestWidths, 1).parameters()) {
    count += parameter.numel();
  }
  return count;
}

// For SAGE and columns (mean, maximum), as specified by the settings.
TEST(Networks, HaveAsManyWeightsAsTheirSettingsSay) {
  constexpr std::int64_t kOpcodes = kTestWidths.opcodes, kKernel = kTestWidths.at_kernel,
                         kNode = kTestWidths.node + kTestWidths.at_nodes;
  for (const int wide : {8, 512}) {
    for (const int layers : {0, 1, 3}) {
      for (const bool biases : {true, false}) {
        NetworkSpec spec = small();
        spec.hidden = wide;
        spec.module_layers = layers;
        spec.final_layers = 2 * layers;
        spec.biases = biases;
        const std::int64_t w = wide, hops = spec.hops, dense = 3 * layers;
        const std::int64_t matrices = kOpcodes * spec.opcode_width +
                                      (spec.opcode_width + kNode) * w + hops * (2 + 3) * w * w +
                                      dense * w * w + (2 * w + kKernel) * w + w;
        const std::int64_t vectors = w + hops * 3 * w + dense * w + w + 1;
        EXPECT_EQ(weight_count(spec), matrices + (biases ? vectors : 0)) << wide << " " << layers;
      }
    }
  }
}

TEST(Networks, HeadsAreHalfAsWideLayerByLayer) {
  constexpr std::int64_t kNode = kTestWidths.node + kTestWidths.at_nodes;
  NetworkSpec spec = small();
  spec.graph = GraphLayer::kGcn;
  spec.hops = 1;
  spec.encoder = false;
  spec.pool_max = false;
  spec.head_layers = 2;
  spec.head_width = 12;
  const std::int64_t h = spec.hidden, w = spec.opcode_width;
  EXPECT_EQ(weight_count(spec), kTestWidths.opcodes * w + (w + kNode + 1) * h +
                                    (h + kTestWidths.at_kernel + 1) * 12 + (12 + 1) * 6 + 6 + 1);
}

TEST(Networks, WithoutAReductionReadFeaturesOfTheKernelAlone) {
  RandomKernels random(9);
  NetworkSpec spec = small();
  spec.reduction = Reduction::kNone;
  spec.head_layers = 2;
  Network network(spec, kTestWidths, 3);
  const RandomKernel kernel = random.make(9);
  RandomKernel other = random.make(4);
  EXPECT_NE(predict(network, kernel), predict(network, other));
  other.at_kernel = kernel.at_kernel;
  EXPECT_EQ(predict(network, kernel), predict(network, other));
  NetworkWidths bare = kTestWidths;
  bare.at_kernel = 0;
  EXPECT_THROW(Network(spec, bare, 3), Error);
}

TEST(Networks, ModuleLayersStandBeforeTheHopsAndFinalLayersAfter) {
  RandomKernels random(12);
  const RandomKernel kernel = random.make(9);
  for (const int hops : {0, 2}) {
    NetworkSpec before = small(), after = small();
    before.hops = after.hops = hops;
    before.module_layers = after.final_layers = 2;
    Network first(before, kTestWidths, 3), last(after, kTestWidths, 3);
    if (hops == 0) {
      EXPECT_EQ(predict(first, kernel), predict(last, kernel));
    } else {
      EXPECT_NE(predict(first, kernel), predict(last, kernel));
    }
  }
}

TEST(Networks, WithoutBiasesHaveNoneAndKernelsOfZerosGiveZero) {
  for (const Variant& variant : all_variants()) {
    if (variant.reduction == Reduction::kTransformer) continue;  // normalisation has shifts
    NetworkSpec spec = small();
    spec.graph = variant.graph;
    spec.reduction = variant.reduction;
    spec.final_layers = 1;
    spec.biases = false;
    Network network(spec, kTestWidths, 3);
    for (const auto& parameter : network.named_parameters()) {
      EXPECT_EQ(parameter.key().find("bias"), std::string::npos) << parameter.key();
    }
    const torch::NoGradGuard no_gradients;
    RandomKernels random(13);
    const RandomKernel kernel = random.make(9);
    const std::vector<float> some = predict(network, {kernel.input()});
    EXPECT_NE(some.front(), 0);
    for (Tensor& values : network.parameters()) {
      if (values.size(0) == kTestWidths.opcodes) values.zero_();
    }
    RandomKernel zeros = kernel;
    for (auto* row : {&zeros.graph.features, &zeros.at_nodes, &zeros.at_kernel}) {
      std::ranges::fill(*row, 0.F);
    }
    EXPECT_EQ(predict(network, zeros), 0);
  }
}

TEST(Networks, NoKernelsGiveNoPredictions) {
  Network network(small(), kTestWidths, 3);
  EXPECT_TRUE(predict(network, std::vector<GraphInput>{}).empty());
}

TEST(Networks, SpecsThatContradictThemselvesAreRefused) {
  NetworkSpec heads = small();
  heads.graph = GraphLayer::kGat;
  heads.heads = 3;
  EXPECT_THROW(Network(heads, kTestWidths, 3), Error);
  NetworkSpec reduction = small();
  reduction.reduction = Reduction::kTransformer;
  reduction.heads = 3;
  EXPECT_THROW(Network(reduction, kTestWidths, 3), Error);
  reduction.reduction_heads = 4;
  EXPECT_NO_THROW(Network(reduction, kTestWidths, 3)) << "those of the transformer count";
  reduction.reduction_heads = 3;
  reduction.heads = 4;
  EXPECT_THROW(Network(reduction, kTestWidths, 3), Error);
  NetworkSpec bare = small();
  bare.encoder = false;
  EXPECT_NO_THROW(Network(bare, kTestWidths, 3));
  bare.module_layers = 1;
  EXPECT_THROW(Network(bare, kTestWidths, 3), Error);
  NetworkSpec pools = small();
  pools.pool_mean = pools.pool_max = pools.pool_sum = false;
  EXPECT_THROW(Network(pools, kTestWidths, 3), Error);
}

}  // namespace
}  // namespace tilecast::learned::torch_module
