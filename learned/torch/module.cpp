// The module that learned/graph_network.cpp loads: its C symbols, and GraphModule implemented by
// Network.
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/version.h>

#include "base/error.h"
#include "base/plugin.h"
#include "learned/graph_module_abi.h"
#include "learned/torch/train.h"

namespace tilecast::learned::torch_module {
namespace {

// Converts LibTorch's exceptions to Error, keeping the message without the backtrace.
template <class Call>
auto translated(const Call& call) {
  try {
    return call();
  } catch (const c10::Error& error) {
    throw Error(fmt::format("LibTorch: {}", error.what_without_backtrace()));
  }
}

class TorchNetwork final : public GraphNetwork {
 public:
  TorchNetwork(std::unique_ptr<Network> network, const NetworkWidths& widths)
      : network_(std::move(network)), widths_(widths) {}

  void predict(std::span<const GraphInput> inputs, std::span<float> out) const override {
    translated([&] { predict_network(*network_, widths_, inputs, out); });
  }
  [[nodiscard]] std::string save() const override {
    return translated([&] { return save_weights(*network_); });
  }

 private:
  std::unique_ptr<Network> network_;
  NetworkWidths widths_;
};

class TorchModule final : public GraphModule {
 public:
  // One thread per operation until set_threads(), as several trainings and predictions may run.
  TorchModule() {
    torch_module::set_threads(1);
    try {
      at::set_num_interop_threads(1);
    } catch (const c10::Error&) {
      // LibTorch was used in this process before; its setting is kept.
    }
  }

  [[nodiscard]] std::unique_ptr<GraphNetwork> load(const NetworkSpec& spec,
                                                   const NetworkWidths& widths,
                                                   std::string_view weights) override {
    return translated([&]() -> std::unique_ptr<GraphNetwork> {
      auto network = std::make_unique<Network>(spec, widths, /*seed=*/0);
      load_weights(*network, weights);
      return std::make_unique<TorchNetwork>(std::move(network), widths);
    });
  }

  [[nodiscard]] std::unique_ptr<GraphNetwork> train(const NetworkSpec& spec,
                                                    const NetworkWidths& widths,
                                                    const TrainingSpec& training,
                                                    std::span<const GraphExample> train,
                                                    std::span<const GraphExample> validation,
                                                    const TrainingHooks& hooks) override {
    return translated([&]() -> std::unique_ptr<GraphNetwork> {
      auto network = train_network(spec, widths, training, train, validation, hooks);
      return std::make_unique<TorchNetwork>(std::move(network), widths);
    });
  }

  void set_threads(int threads) override { torch_module::set_threads(threads); }

  [[nodiscard]] std::string version() const override {
    return fmt::format("LibTorch {}.{}.{}, {}", TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR,
                       TORCH_VERSION_PATCH, blas_name());
  }
};

GraphModule* the_module() {
  static TorchModule module;
  return &module;
}

}  // namespace
}  // namespace tilecast::learned::torch_module

TILECAST_PLUGIN(torch, tilecast::learned::kGraphModuleAbi,
                tilecast::learned::torch_module::the_module())
