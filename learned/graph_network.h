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
#include "learned/parameter_table.h"

namespace tilecast::learned {

enum class GraphLayer { kNone, kSage, kSageUndirected, kGat };
inline constexpr std::string_view kGraphLayers[] = {"none", "sage", "sage_undirected", "gat"};
enum class Aggregate { kMean, kSum, kMax };  // over neighbours
inline constexpr std::string_view kAggregates[] = {"mean", "sum", "max"};
enum class Reduction { kPerNode, kColumnWise, kLstm, kTransformer };  // of nodes to a kernel
inline constexpr std::string_view kReductions[] = {"per_node", "column_wise", "lstm",
                                                   "transformer"};

struct NetworkSpec {
  GraphLayer graph = GraphLayer::kSage;
  int hops = 2;           // 0 ... 3; 0: as kNone
  int hidden = 64;        // width of node embeddings
  int opcode_width = 16;  // of the opcode embedding
  int heads = 4;          // GAT and Transformer; divides hidden
  int neighbours = 20;    // at most, per node and direction: the first ones
  Aggregate aggregate = Aggregate::kMean;
  bool l2_norm = true;  // of embeddings after each hop (GraphSAGE, equation of section 3.2)
  Reduction reduction = Reduction::kColumnWise;
  bool pool_mean = true, pool_max = true, pool_sum = false;  // kColumnWise: any, at least one
  int reduction_layers = 1;                                  // of the Transformer encoder
  double dropout = 0;
};
[[nodiscard]] const ParameterTable<NetworkSpec>& network_parameters();

enum class NetworkLoss { kLogTime, kHuber, kRankHinge, kRankLogistic };
inline constexpr std::string_view kNetworkLosses[] = {"log_time", "huber", "rank_hinge",
                                                      "rank_logistic"};
enum class Balance { kNone, kFamily };  // how examples are drawn
inline constexpr std::string_view kBalances[] = {"none", "family"};

struct TrainingSpec {
  NetworkLoss loss = NetworkLoss::kLogTime;
  int epochs = 60;  // each draws as many examples as there are
  int batch = 64;   // examples; ranking: kernels, of each at most `tiles` tiles
  int tiles = 16;
  double learning_rate = 2e-3;
  double decay = 0.98;  // of the learning rate, per epoch
  double clip = 1;      // of the gradient's norm; 0: never
  double weight_decay = 0;
  int patience = 15;  // epochs without a better validation; 0: never stops early
  Balance balance = Balance::kFamily;
  // Every kernel counts the same, however many tiles it has. GraphExample::weight multiplies;
  // without this it counts in losses of log time alone.
  bool weigh_kernels = false;
  std::uint64_t seed = 1;
};
[[nodiscard]] const ParameterTable<TrainingSpec>& training_parameters();
[[nodiscard]] constexpr bool ranks(NetworkLoss loss) {
  return loss >= NetworkLoss::kRankHinge;
}

struct NetworkWidths {
  std::int32_t opcodes = 0;   // opcode_count()
  std::size_t node = 0;       // features per node
  std::size_t at_nodes = 0;   // features of the kernel that go to every node (option 1)
  std::size_t at_kernel = 0;  // those that join the kernel's embedding (option 2)
};

// One question; everything scaled. Spans must outlive the call.
struct GraphInput {
  const KernelGraph* graph = nullptr;  // at least one node; shared by the tiles of a kernel
  std::span<const float> at_nodes, at_kernel;
};
struct GraphExample {
  GraphInput input;
  float target = 0;          // standardised log of seconds
  std::uint32_t kernel = 0;  // examples of one kernel are ranked against each other
  std::uint32_t family = 0;  // program family
  float weight = 1;          // 1 / variance of the target, up to a factor; above 0
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
  int epoch = 0;    // from 1
  double loss = 0;  // mean over the epoch
  double validation =
      0;               // log_time, huber: RMSE of the target; ranking: 1 - share of pairs in order
  double best = 0;     // the least validation so far
  double seconds = 0;  // since the start
};
struct TrainingHooks {
  std::function<bool(const EpochReport&)> epoch = {};  // false: stop here
  // A file that is rewritten after every epoch and resumed from, to the same bits, when it is
  // there; one of another spec or data set is refused. Empty: none.
  std::string checkpoint = {};
  std::string start = {};  // weights to go on from (GraphNetwork::save()); empty: drawn anew
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
