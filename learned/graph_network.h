// Interface to graph networks over kernels, without LibTorch. The implementation is a module
// (learned/torch) that graph_module() loads on first use.
//
//   GraphModule& module = graph_module();
//   auto network = module.train(spec, widths, training, train, validation, hooks);
//   network->predict(inputs, out);
//
// Architecture: Kaufman et al., MLSys 2021, section 3.2: opcode embedding and node features ->
// GraphSAGE (Hamilton et al., NeurIPS 2017), GAT (Velickovic et al., ICLR 2018) or nothing -> a
// reduction over nodes -> one number per kernel. Inputs must be scaled (feature_scaler.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "learned/kernel_graph.h"
#include "learned/network_spec.h"

namespace tilecast::learned {

struct NetworkWidths {
  std::int32_t opcodes = 0;   // opcode_count()
  std::size_t node = 0;       // features per node
  std::size_t at_nodes = 0;   // kernel features added to every node (option 1)
  std::size_t at_kernel = 0;  // kernel features added to the kernel's embedding (option 2)
};

// One input, with all features scaled. Spans must outlive the call.
struct GraphInput {
  const KernelGraph* graph = nullptr;  // at least one node; shared by the tiles of a kernel
  std::span<const float> at_nodes, at_kernel;
};
struct GraphExample {
  GraphInput input;
  float target = 0;  // standardised log of seconds
  // Added to the network's output in every loss, so that the network learns the remainder.
  float margin = 0;
  std::uint32_t kernel = 0;  // examples of one kernel are ranked against each other
  std::uint32_t family = 0;  // program family
  float weight = 1;          // proportional to 1 / variance of the target; above 0
};

// Trained weights. predict() is thread-safe.
class GraphNetwork {
 public:
  virtual ~GraphNetwork() = default;
  virtual void predict(std::span<const GraphInput> inputs, std::span<float> out) const = 0;
  // Contents of a weights file: magic, version, the architecture as text, then name, shape and
  // little-endian floats of each tensor, then a checksum (learned/torch/network.cpp). Equal
  // networks give equal bytes.
  [[nodiscard]] virtual std::string save() const = 0;
};

struct EpochReport {
  int epoch = 0;          // from 1
  int steps = 0;          // batches since the start
  double loss = 0;        // mean over the epoch
  double validation = 0;  // validation_error() in torch/train.h
  double best = 0;        // least validation error so far
  double seconds = 0;     // since the start
};
struct TrainingHooks {
  std::function<bool(const EpochReport&)> epoch = {};  // return false to stop
  // A file that is rewritten after every epoch. If it exists, training resumes from it with
  // bit-identical results; a file of another spec or data set is refused. Empty: no checkpoint.
  std::string checkpoint = {};
};

class GraphModule {
 public:
  virtual ~GraphModule() = default;
  // Throws Error with the reason if the weights are corrupted, truncated or of another
  // architecture.
  [[nodiscard]] virtual std::unique_ptr<GraphNetwork> load(const NetworkSpec& spec,
                                                           const NetworkWidths& widths,
                                                           std::string_view weights) = 0;
  // Deterministic for a seed. Keeps the epoch with the best validation error, or the last one if
  // `validation` is empty. Several trainings may run concurrently.
  [[nodiscard]] virtual std::unique_ptr<GraphNetwork> train(
      const NetworkSpec& spec, const NetworkWidths& widths, const TrainingSpec& training,
      std::span<const GraphExample> train, std::span<const GraphExample> validation,
      const TrainingHooks& hooks) = 0;
  // Threads inside one operation (LibTorch and its BLAS); 1 by default.
  virtual void set_threads(int threads) = 0;
  // "LibTorch 1.13.1, OpenBLAS"; reports if the BLAS is the reference one, which is far slower.
  [[nodiscard]] virtual std::string version() const = 0;
};

// Loads the module, and with it LibTorch, once per process. Searches $TILECAST_TORCH_MODULE (only
// there if it is set), the program's folder, ../lib/tilecast relative to it, the install location
// and the build location. Throws Error listing these places if there is none, or if it is of
// another build. Thread-safe.
[[nodiscard]] GraphModule& graph_module();
[[nodiscard]] bool has_graph_module();  // whether the file exists; does not load it

}  // namespace tilecast::learned
