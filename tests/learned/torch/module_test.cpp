// The module as programs use it: loaded on demand, without LibTorch's headers.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "learned/graph_module_abi.h"
#include "tests/learned/torch/random_graphs.h"
#include "tests/support/errors.h"

namespace tilecast::learned {
namespace {

// Must be first: a process that has loaded the module does not look for it again.
std::string refusal_of(const std::string& file) {
  setenv("TILECAST_TORCH_MODULE", file.c_str(), /*overwrite=*/1);
  const std::string reason = support::error_of([] { (void)graph_module(); }, "");
  unsetenv("TILECAST_TORCH_MODULE");
  return reason;
}

TEST(AbsentGraphModule, IsRefusedWithThePlaceAndTheCommandThatAddsIt) {
  const std::string reason = refusal_of("/nowhere/module.so");
  EXPECT_NE(reason.find("/nowhere/module.so"), std::string::npos) << reason;
  EXPECT_NE(reason.find("scripts/build torch"), std::string::npos) << reason;
}

TEST(AbsentGraphModule, OtherFilesAreRefused) {
  const std::filesystem::path text =
      std::filesystem::temp_directory_path() / ("tilecast_no_module_" + std::to_string(getpid()));
  std::ofstream(text) << "no library\n";
  EXPECT_NE(refusal_of(text).find("cannot be loaded"), std::string::npos);
  std::filesystem::remove(text);
}

struct Trained {
  std::vector<RandomKernel> kernels;
  std::unique_ptr<GraphNetwork> network;
};
Trained trained() {
  Trained made;
  made.kernels = RandomKernels(1).make_many(40, 20);
  std::vector<GraphExample> examples;
  for (std::uint32_t i = 0; i < made.kernels.size(); ++i) {
    const RandomKernel& kernel = made.kernels[i];
    const float target = std::log(static_cast<float>(kernel.graph.nodes())) - 2;
    examples.push_back({.input = kernel.input(), .target = target, .kernel = i, .family = i % 3});
  }
  TrainingSpec training;
  training.epochs = 3;
  made.network = graph_module().train(small(), kTestWidths, training, examples, {}, {});
  return made;
}

TEST(GraphModule, LoadsOnceAndTellsItsVersionAndItsBlas) {
  ASSERT_TRUE(has_graph_module());
  GraphModule& module = graph_module();
  EXPECT_EQ(&module, &graph_module());
  EXPECT_EQ(module.version().find("LibTorch "), 0U) << module.version();
  EXPECT_NE(module.version().find(", "), std::string::npos) << module.version();
}

TEST(GraphModule, AllThreadsGetTheSameModuleAndTheSamePredictions) {
  const Trained made = trained();
  const std::vector<GraphInput> inputs = inputs_of(made.kernels);
  std::vector<std::vector<float>> out(4, std::vector<float>(inputs.size()));
  std::vector<GraphModule*> modules(out.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < out.size(); ++i) {
    threads.emplace_back([&, i] {
      modules[i] = &graph_module();
      for (int again = 0; again < 5; ++again) made.network->predict(inputs, out[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(modules[i], &graph_module());
    EXPECT_EQ(out[i], out[0]);
  }
  for (const float value : out[0]) EXPECT_TRUE(std::isfinite(value));
}

TEST(GraphModule, LoadsWhatItSavedAndRefusesOtherWeights) {
  const Trained made = trained();
  const std::string weights = made.network->save();
  const auto loaded = graph_module().load(small(), kTestWidths, weights);
  EXPECT_EQ(loaded->save(), weights);
  const std::vector<GraphInput> inputs = inputs_of(made.kernels);
  std::vector<float> before(inputs.size()), after(inputs.size());
  made.network->predict(inputs, before);
  loaded->predict(inputs, after);
  EXPECT_EQ(before, after);

  NetworkSpec other = small();
  other.graph = GraphLayer::kSageUndirected;
  EXPECT_THROW((void)graph_module().load(other, kTestWidths, weights), Error);
  const std::string cut = weights.substr(0, weights.size() / 2);
  EXPECT_THROW((void)graph_module().load(small(), kTestWidths, cut), Error);
  other.hidden = 10;
  other.graph = GraphLayer::kGat;
  EXPECT_THROW((void)graph_module().load(other, kTestWidths, weights), Error);
}

TEST(GraphParameters, HoldEveryFieldWithItsDefaultInRange) {
  NetworkSpec network;
  for (const auto& parameter : network_parameters().parameters()) {
    const std::string before = parameter.get(network);
    parameter.set(network, before);
    EXPECT_EQ(parameter.get(network), before) << parameter.name;
  }
  TrainingSpec training;
  for (const auto& parameter : training_parameters().parameters()) {
    const std::string before = parameter.get(training);
    parameter.set(training, before);
    EXPECT_EQ(parameter.get(training), before) << parameter.name;
    EXPECT_NE(parameter.name, "seed");
  }
  EXPECT_EQ(network_parameters().parameters().size(), 26U);
  EXPECT_EQ(training_parameters().parameters().size(), 18U);
}

}  // namespace
}  // namespace tilecast::learned
