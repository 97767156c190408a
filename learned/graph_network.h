// Graph networks over kernels, as an interface without LibTorch: what is needed of it lives in a
// module (learned/torch) that graph_module() loads on first use.
//
//   GraphModule& module = graph_module();
//   auto network = module.train(spec, widths, training, train, validation, hooks);
//   network->predict(inputs, out);
//
// Architecture: Kaufman et al., MLSys 2021, section 3.2: opcode embedding and node features ->
// GraphSAGE (Hamilton et al., NeurIPS 2017), GAT (Velickovic et al., ICLR 2018) or nothing -> a
// reduction over nodes -> one number per kernel. Inputs are scaled already (feature_scaler.h).
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
  std::int32_t opcodes = 0;    // opcode_count()
  std::size_t node = 0;        // features per node
  std::size_t at_nodes = 0;    // features of the kernel that go to every node (option 1)
  std::size_t at_kernel = 0;   // those that join the kernel's embedding (option 2)
  std::size_t configured = 0;  // features of the nodes that a run configures
  // Numbers per kernel. More than one: a training of several tasks, which others start from
  // (TrainingHooks::start); it cannot predict.
  std::size_t outputs = 1;
};

// One question; everything scaled. Spans must outlive the call.
struct GraphInput {
  const KernelGraph* graph = nullptr;  // at least one node; shared by the tiles of a kernel
  std::span<const float> at_nodes, at_kernel;
  // Nodes of the graph that this run configures, and a row of features of each; others have zeros.
  std::span<const std::int32_t> configured_nodes = {};
  std::span<const float> configured = {};
};
struct GraphExample {
  GraphInput input;
  float target = 0;  // standardised log of seconds
  // Added to what the network says, under every loss, so that it learns the rest of the target.
  float margin = 0;
  std::span<const float> tasks = {};  // in place of target, by output, where there are several
  std::uint32_t kernel = 0;           // examples of one kernel are ranked against each other
  std::uint32_t family = 0;           // program family
  float weight = 1;                   // 1 / variance of the target, up to a factor; above 0
};

// Trained weights. predict() is thread-safe.
class GraphNetwork {
 public:
  virtual ~GraphNetwork() = default;
  virtual void predict(std::span<const GraphInput> inputs, std::span<float> out) const = 0;
  // A plain file: magic, version, the architecture as text, then name, shape and little-endian
  // floats of each tensor, then a checksum (learned/torch/weights.cpp). Equal networks give equal
  // bytes.
  [[nodiscard]] virtual std::string save() const = 0;
};

struct EpochReport {
  int epoch = 0;          // from 1
  int steps = 0;          // batches since the start
  double loss = 0;        // mean over the epoch
  double validation = 0;  // torch/train.h, validation_error()
  double best = 0;        // the least validation so far
  double seconds = 0;     // since the start
};
struct TrainingHooks {
  std::function<bool(const EpochReport&)> epoch = {};  // false: stop here
  // A file that is rewritten after every epoch and resumed from, to the same bits, when it is
  // there; one of another spec or data set is refused. Empty: none.
  std::string checkpoint = {};
  // Weights to go on from (GraphNetwork::save()), of a network of `start_outputs`; empty: drawn
  // anew. new_head: without its last layer, which starts from 0; frozen: and alone learns.
  std::string start = {};
  std::size_t start_outputs = 1;
  bool new_head = false, frozen = false;
};

class GraphModule {
 public:
  virtual ~GraphModule() = default;
  // Throws Error with the reason when the weights are not those of this network: corrupted,
  // truncated, of another architecture.
  [[nodiscard]] virtual std::unique_ptr<GraphNetwork> load(const NetworkSpec& spec,
                                                           const NetworkWidths& widths,
                                                           std::string_view weights) = 0;
  // Deterministic for a seed. `validation` may be empty: the last epoch is kept then, else the
  // best. Several trainings may run at once.
  [[nodiscard]] virtual std::unique_ptr<GraphNetwork> train(
      const NetworkSpec& spec, const NetworkWidths& widths, const TrainingSpec& training,
      std::span<const GraphExample> train, std::span<const GraphExample> validation,
      const TrainingHooks& hooks) = 0;
  // Threads inside one operation (LibTorch and its BLAS); 1 until said otherwise.
  virtual void set_threads(int threads) = 0;
  // "LibTorch 1.13.1, OpenBLAS"; says so when the BLAS is the reference one, which is far slower.
  [[nodiscard]] virtual std::string version() const = 0;
};

// Loads the module once; from then on the process holds LibTorch. It is looked for at
// $TILECAST_TORCH_MODULE (nowhere else, if set), beside the program, in ../lib/tilecast of it,
// where it is installed and where it was built. Throws Error saying where it was looked for, and
// that a build with TILECAST_WITH_TORCH=OFF has none; or that it is of another build. Thread-safe.
[[nodiscard]] GraphModule& graph_module();
[[nodiscard]] bool has_graph_module();  // there is a file; loads nothing

}  // namespace tilecast::learned
