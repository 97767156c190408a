#include "learned/torch/sequences.h"

#include <gtest/gtest.h>

#include <cmath>

#include "learned/torch/network.h"
#include "tests/learned/torch/random_graphs.h"

namespace tilecast::learned::torch_module {
namespace {

using torch::Tensor;

Tensor random_rows(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  torch::Generator generator = torch::make_generator<at::CPUGeneratorImpl>(seed);
  return torch::rand({rows, columns}, generator, torch::kFloat64) - 0.5;
}

// relu(b + sum over k < filter of W_k x_(i + k)), by definition; rows of other kernels are zeros.
Tensor naive_conv(const Tensor& rows, const std::vector<std::int64_t>& lengths,
                  const Tensor& weight, const Tensor& bias, std::int64_t filter) {
  const std::int64_t width = rows.size(1), outputs = weight.size(0);
  Tensor out = torch::zeros({rows.size(0), outputs}, torch::kFloat64);
  std::int64_t first = 0;
  for (const std::int64_t length : lengths) {
    for (std::int64_t i = 0; i < length; ++i) {
      for (std::int64_t o = 0; o < outputs; ++o) {
        double sum = bias[o].item<double>();
        for (std::int64_t k = 0; k < filter && i + k < length; ++k) {
          for (std::int64_t c = 0; c < width; ++c) {
            sum += weight[o][k * width + c].item<double>() * rows[first + i + k][c].item<double>();
          }
        }
        out[first + i][o] = std::max(sum, 0.0);
      }
    }
    first += length;
  }
  return out;
}

const std::vector<std::int64_t> kLengths = {1, 5, 2, 9, 3};

class Layer : public torch::nn::Module {
 public:
  explicit Layer(const NetworkSpec& spec) {
    Weights weights(*this, /*seed=*/3);
    made = std::make_unique<SequenceLayer>(weights, "c", spec);
    for (Tensor& parameter : parameters()) parameter.set_data(parameter.to(torch::kFloat64));
  }
  std::unique_ptr<SequenceLayer> made;
};

TEST(SequenceLayer, IsTheConvolutionAsWritten) {
  for (const int filter : {1, 2, 3, 12}) {
    NetworkSpec spec;
    spec.hidden = 4;
    spec.filter = filter;
    Layer layer(spec);
    const Tensor rows = random_rows(20, 4, 1);
    const auto parameters = layer.named_parameters();
    Tensor bias = parameters["c_narrow_bias"];
    torch::NoGradGuard no_gradients;
    bias.copy_(random_rows(1, 4, 2)[0]);
    const Tensor expected = naive_conv(rows, kLengths, parameters["c_narrow_weight"], bias, filter);
    EXPECT_TRUE(torch::allclose((*layer.made)(rows, kLengths), expected, 1e-12, 1e-12)) << filter;
  }
}

TEST(SequenceLayer, HalfOfItsColumnsHaveTheWideFilter) {
  NetworkSpec spec;
  spec.hidden = 6;
  spec.filter = 2;
  spec.wide_filter = 4;
  Layer layer(spec);
  const Tensor rows = random_rows(20, 6, 1);
  const auto parameters = layer.named_parameters();
  torch::NoGradGuard no_gradients;
  const Tensor out = (*layer.made)(rows, kLengths);
  ASSERT_EQ(out.size(1), 6);
  const auto half = [&](const std::string& name, std::int64_t filter) {
    return naive_conv(rows, kLengths, parameters["c_" + name + "_weight"],
                      parameters["c_" + name + "_bias"], filter);
  };
  EXPECT_TRUE(torch::allclose(out.narrow(1, 0, 3), half("narrow", 2), 1e-12, 1e-12));
  EXPECT_TRUE(torch::allclose(out.narrow(1, 3, 3), half("wide", 4), 1e-12, 1e-12));
}

TEST(SequenceLayer, ItsGradientIsThatOfDifferences) {
  const Tensor rows = random_rows(20, 3, 4).requires_grad_(true);
  const Tensor weights = random_rows(20, 9, 5);
  const auto value = [&](const Tensor& at) {
    return (windows_of(at, kLengths, 3) * weights).sum();
  };
  value(rows).backward();
  constexpr double kStep = 1e-6;
  torch::NoGradGuard no_gradients;
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    for (std::int64_t c = 0; c < 3; ++c) {
      Tensor up = rows.detach().clone(), down = rows.detach().clone();
      up[i][c] += kStep;
      down[i][c] -= kStep;
      const double slope = (value(up) - value(down)).item<double>() / (2 * kStep);
      EXPECT_NEAR(rows.grad()[i][c].item<double>(), slope, 1e-8);
    }
  }
}

TEST(PlaceCode, IsSinesThenCosinesOfGeometricWaves) {
  const Tensor places = torch::tensor(std::vector<std::int64_t>{0, 1, 7, 300});
  const Tensor code = place_code(places, 8, torch::kFloat64);
  for (std::int64_t row = 0; row < 4; ++row) {
    const auto place = static_cast<double>(places[row].item<std::int64_t>());
    for (std::int64_t i = 0; i < 4; ++i) {
      const double angle = place / std::pow(10000, 2.0 * static_cast<double>(i) / 8);
      EXPECT_NEAR(code[row][i].item<double>(), std::sin(angle), 1e-9);
      EXPECT_NEAR(code[row][4 + i].item<double>(), std::cos(angle), 1e-9);
    }
  }
  EXPECT_EQ(place_code(places, 5, torch::kFloat32).size(1), 5);
}

NetworkSpec text_network(Reduction reduction, GraphLayer graph) {
  NetworkSpec spec;
  spec.hidden = spec.opcode_width = 8;
  spec.graph = graph;
  spec.reduction = reduction;
  spec.hops = 3;
  spec.heads = 2;
  spec.head_layers = 2;
  spec.positions = reduction == Reduction::kTransformer;
  return spec;
}

constexpr NetworkWidths kTextWidths{.opcodes = 20, .node = 0, .at_nodes = 0, .at_kernel = 0};

std::vector<float> predict_texts(Network& network, const std::vector<GraphInput>& inputs) {
  const torch::NoGradGuard no_gradients;
  const Tensor out = network.forward(make_batch(inputs, kTextWidths)).contiguous();
  return {out.data_ptr<float>(), out.data_ptr<float>() + out.numel()};
}

RandomKernel text_of(std::vector<std::int32_t> tokens) {
  RandomKernel text;
  text.graph.opcodes = std::move(tokens);
  for (std::size_t i = 0; i < text.graph.nodes(); ++i) {
    text.graph.topological.push_back(static_cast<std::int32_t>(i));
  }
  return text;
}

TEST(TextNetwork, KernelsOfABatchDoNotTouch) {
  for (const auto& [reduction, graph] : {std::pair(Reduction::kColumnWise, GraphLayer::kConv1d),
                                         std::pair(Reduction::kLstm, GraphLayer::kNone),
                                         std::pair(Reduction::kTransformer, GraphLayer::kNone)}) {
    Network network(text_network(reduction, graph), kTextWidths, 3);
    RandomKernels random(1, kTextWidths);
    const std::vector<RandomKernel> kernels = random.make_many(12, 40);
    const std::vector<float> together = predict_texts(network, inputs_of(kernels));
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      EXPECT_NEAR(predict_texts(network, {kernels[i].input()}).front(), together[i], 1e-5);
    }
  }
}

// The networks of docs/learning.md, with the widths of validation/models/labels.yaml.
TEST(TextNetwork, HasFewerThanFiveMillionParametersForAVocabularyOfTenThousand) {
  constexpr NetworkWidths kWidths{.opcodes = 10000, .node = 1, .at_nodes = 0, .at_kernel = 60};
  for (const auto& [reduction, graph] : {std::pair(Reduction::kColumnWise, GraphLayer::kConv1d),
                                         std::pair(Reduction::kLstm, GraphLayer::kNone),
                                         std::pair(Reduction::kTransformer, GraphLayer::kNone)}) {
    NetworkSpec spec = text_network(reduction, graph);
    spec.hidden = spec.opcode_width = 64;
    spec.hops = 6;
    spec.wide_filter = 8;
    spec.reduction_layers = 2;
    const Network network(spec, kWidths, 3);
    std::int64_t count = 0;
    for (const Tensor& parameter : network.parameters()) count += parameter.numel();
    EXPECT_LT(count, 5'000'000);
    EXPECT_GT(count, kWidths.opcodes * spec.opcode_width);
  }
}

TEST(TextNetwork, OnlyTheBagForgetsTheOrder) {
  const RandomKernel text = text_of({1, 2, 3, 4, 5, 6, 7, 8, 9});
  const RandomKernel other = text_of({9, 2, 3, 1, 8, 6, 7, 5, 4});
  const auto difference = [&](const NetworkSpec& spec) {
    Network network(spec, kTextWidths, 3);
    const std::vector<float> out = predict_texts(network, {text.input(), other.input()});
    return std::fabs(out[0] - out[1]);
  };
  NetworkSpec bag = text_network(Reduction::kColumnWise, GraphLayer::kNone);
  bag.hops = 0;
  EXPECT_LT(difference(bag), 1e-6);
  EXPECT_GT(difference(text_network(Reduction::kColumnWise, GraphLayer::kConv1d)), 1e-5);
  EXPECT_GT(difference(text_network(Reduction::kLstm, GraphLayer::kNone)), 1e-5);
  NetworkSpec transformer = text_network(Reduction::kTransformer, GraphLayer::kNone);
  EXPECT_GT(difference(transformer), 1e-5);
  transformer.positions = false;
  EXPECT_LT(difference(transformer), 1e-5);
}

}  // namespace
}  // namespace tilecast::learned::torch_module
