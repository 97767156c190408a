#include "learned/torch/sequences.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "learned/torch/checkpoint.h"
#include "learned/torch/network.h"
#include "learned/torch/train.h"
#include "random_examples.h"
#include "tests/learned/torch/random_graphs.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::learned::torch_module {
namespace {

using ::testing::HasSubstr;
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

// --- A resumed training ends like an uninterrupted one, and a checkpoint of another training is
// rejected.

namespace fs = std::filesystem;

class Checkpoints : public ::testing::Test, protected support::Folder {
 protected:
  Checkpoints() : train_(1), validation_(2) {
    set_threads(1);
    for (int i = 0; i < 12; ++i) train_.add(3 + train_.below(6), 3, train_.below(2) == 0 ? 1 : 2);
    for (int i = 0; i < 4; ++i) validation_.add(5, 3);
  }

  // Trains with the checkpoint; the hook stops after `stop` epochs.
  std::string train(int stop) {
    const TrainingHooks hooks{.epoch =
                                  [&, stop](const EpochReport& report) {
                                    reports_.push_back(report);
                                    return report.epoch < stop;
                                  },
                              .checkpoint = path_.string()};
    return train(hooks);
  }
  std::string train(const TrainingHooks& hooks) {
    return save_weights(*train_network(spec_, RandomExamples::widths(), training_,
                                       train_.examples(), validation_.examples(), hooks));
  }
  std::string refusal() {
    return support::error_of([&] { return train(training_.epochs); }, "trained");
  }

  RandomExamples train_, validation_;
  NetworkSpec spec_ = {.hops = 1, .hidden = 8, .opcode_width = 4, .dropout = 0.2};
  TrainingSpec training_ = {.epochs = 6, .batch = 5, .learning_rate = 0.01, .patience = 0};
  fs::path path_ = at("checkpoint");
  std::vector<EpochReport> reports_;
};

TEST_F(Checkpoints, ResumeToTheSameBits) {
  const std::string at_once = train(TrainingHooks{});
  (void)train(3);
  EXPECT_EQ(reports_.size(), 3U);
  const std::vector<EpochReport> before = reports_;
  reports_.clear();
  EXPECT_EQ(train(6), at_once);
  ASSERT_EQ(reports_.size(), 6U);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(reports_[i].epoch, before[i].epoch);
    EXPECT_EQ(reports_[i].loss, before[i].loss);
    EXPECT_EQ(reports_[i].validation, before[i].validation);
    EXPECT_EQ(reports_[i].best, before[i].best);
    EXPECT_EQ(reports_[i].seconds, before[i].seconds);
  }
  EXPECT_GE(reports_[3].seconds, before[2].seconds);
}

TEST_F(Checkpoints, ResumeToTheSameBitsAndStepsOfATrainingByThem) {
  training_.steps = 37;  // 36 rows, 5 per batch: 8 per epoch
  const std::string at_once = train(TrainingHooks{});
  (void)train(2);
  reports_.clear();
  EXPECT_EQ(train(9), at_once);
  std::vector<int> steps;
  for (const EpochReport& report : reports_) steps.push_back(report.steps);
  EXPECT_EQ(steps, (std::vector{8, 16, 24, 32, 37}));
  training_.steps = 40;
  EXPECT_THAT(refusal(), HasSubstr("of another training"));
}

TEST_F(Checkpoints, ResumeToTheSameBitsWhenRanking) {
  training_.loss = NetworkLoss::kRankHinge;
  training_.weigh_kernels = true;
  const std::string at_once = train(TrainingHooks{});
  (void)train(2);
  EXPECT_EQ(train(6), at_once);
}

TEST_F(Checkpoints, GoOnForMoreEpochsThanWereAskedForFirst) {
  const std::string at_once = train(TrainingHooks{});
  training_.epochs = 4;
  (void)train(4);
  training_.epochs = 6;
  EXPECT_EQ(train(6), at_once);
  training_.epochs = 5;
  EXPECT_THAT(refusal(), HasSubstr("checkpoint of a longer training; got 6 epochs"));
}

TEST_F(Checkpoints, OfAFinishedTrainingGiveItsNetwork) {
  const std::string finished = train(6);
  reports_.clear();
  EXPECT_EQ(train(6), finished);
  EXPECT_EQ(reports_.size(), 6U);
}

TEST_F(Checkpoints, OfAStoppedTrainingStayWhereTheHookStops) {
  const std::string stopped = train(3);
  EXPECT_EQ(train(3), stopped);
}

TEST_F(Checkpoints, OfAStaleTrainingAreDone) {
  training_.epochs = 60;
  training_.patience = 2;
  const std::string stale = train(60);
  const std::size_t epochs = reports_.size();
  ASSERT_LT(epochs, 60U);
  reports_.clear();
  EXPECT_EQ(train(60), stale);
  EXPECT_EQ(reports_.size(), epochs);
}

TEST_F(Checkpoints, OfAnotherTrainingAreRefused) {
  (void)train(1);
  const auto expect_refused = [&](auto& value, auto other) {
    const auto old = std::exchange(value, other);
    EXPECT_THAT(refusal(), HasSubstr("checkpoint: of another training"));
    value = old;
  };
  expect_refused(spec_.dropout, 0.25);
  expect_refused(spec_.hidden, 16);
  expect_refused(training_.seed, 2);
  expect_refused(training_.learning_rate, 0.02);
  expect_refused(training_.loss, NetworkLoss::kHuber);
  expect_refused(train_.examples()[4].target, 7.0F);
  expect_refused(train_.examples()[4].kernel, 99U);
  expect_refused(train_.examples()[4].input.graph, train_.examples()[0].input.graph);
  expect_refused(validation_.examples()[1].input.at_nodes, train_.examples()[0].input.at_nodes);
  EXPECT_EQ(refusal(), "trained");
}

TEST_F(Checkpoints, ThatAreCorruptedOrTruncatedAreRefused) {
  (void)train(1);
  const std::string good = read("checkpoint");
  const auto refused_as = [&](const std::string& bytes) {
    write("checkpoint", bytes);
    return refusal();
  };
  for (std::size_t size = 0; size < good.size(); size += 1 + size / 3) {
    const std::string message = refused_as(good.substr(0, size));
    EXPECT_TRUE(message.find("truncated") != std::string::npos ||
                message.find("another kind of file") != std::string::npos)
        << size << message;
    EXPECT_THAT(message, HasSubstr(path_.string()));
  }
  for (std::size_t at = 30; at < good.size(); at += 1 + at / 3) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    EXPECT_THAT(refused_as(bytes), HasSubstr("corrupted")) << at;
  }
  EXPECT_THAT(refused_as(good + "x"), HasSubstr("corrupted"));
  EXPECT_EQ(refused_as(good), "trained");
}

TEST_F(Checkpoints, ThatCannotBeWrittenAreAnError) {
  path_ = at("no_such_folder/checkpoint");
  EXPECT_THAT(refusal(), HasSubstr("no_such_folder/checkpoint: cannot write it"));
}
}  // namespace
}  // namespace tilecast::learned::torch_module
