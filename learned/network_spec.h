// Settings of a graph network and of its training.
//
// Can express every setting of Kaufman et al., MLSys 2021, Tables 5 to 7. Their networks without a
// graph have module_layers and no hops; biases: no, final_layers: 3, opcode_width: 256.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "learned/parameter_table.h"

namespace tilecast::learned {

// kConv1d: convolutions along the nodes in topological order (for text: the tokens), without edges.
enum class GraphLayer { kNone, kSage, kSageUndirected, kGat, kGcn, kConv1d };
inline constexpr std::string_view kGraphLayers[] = {"none", "sage", "sage_undirected",
                                                    "gat",  "gcn",  "conv1d"};
enum class Aggregate { kMean, kSum, kMax };  // over neighbours
inline constexpr std::string_view kAggregates[] = {"mean", "sum", "max"};
// Reduction of nodes to a kernel. kNone: uses only the kernel's features, no nodes.
enum class Reduction { kPerNode, kColumnWise, kLstm, kTransformer, kNone };
inline constexpr std::string_view kReductions[] = {"per_node", "column_wise", "lstm", "transformer",
                                                   "none"};

struct NetworkSpec {
  GraphLayer graph = GraphLayer::kSage;
  int hops = 2;             // 0 ... 8; 0: as kNone
  bool top_down = false;    // nodes receive messages from their producers (parents) only
  bool encoder = true;      // start with a feed-forward layer per node, else with the first hop
  int module_layers = 0;    // feed-forward layers per node before the hops
  int final_layers = 0;     // feed-forward layers per node between the hops and the reduction
  int hidden = 64;          // width of node embeddings
  int opcode_width = 16;    // width of the opcode embedding
  int heads = 4;            // GAT and Transformer; divides hidden
  int reduction_heads = 0;  // heads of the Transformer; 0: the same as `heads`
  int neighbours = 20;      // maximum per node and direction; the first ones are used
  bool sample_neighbours = false;  // training draws them anew for each batch (MLSys 2021, Table 5)
  Aggregate aggregate = Aggregate::kMean;
  bool l2_norm = true;  // normalise embeddings after each hop (GraphSAGE, equation of section 3.2)
  Reduction reduction = Reduction::kColumnWise;
  bool pool_mean = true, pool_max = true, pool_sum = false;  // kColumnWise: any, at least one
  int reduction_layers = 1;                                  // layers of the Transformer encoder
  int filter = 2, wide_filter = 0;  // kConv1d, nodes; wide: half the columns, 0: none
  bool positions = false;           // add a positional encoding before the reduction
  // Hidden layers between a kernel's embedding and its number: head_width wide, each next one half
  // as wide. 0 layers: none, or one of width `hidden` if the kernel has features.
  int head_layers = 0, head_width = 128;
  bool biases = true;  // in all layers
  double dropout = 0;
};
[[nodiscard]] const ParameterTable<NetworkSpec>& network_parameters();

enum class NetworkLoss { kLogTime, kHuber, kQuantile, kRankHinge, kRankLogistic, kRankAllPairs };
inline constexpr std::string_view kNetworkLosses[] = {
    "log_time", "huber", "quantile", "rank_hinge", "rank_logistic", "rank_all_pairs"};
enum class Balance { kNone, kFamily };  // sampling of examples
inline constexpr std::string_view kBalances[] = {"none", "family"};

// Number of heads of the Transformer.
[[nodiscard]] constexpr int reduction_heads_of(const NetworkSpec& spec) {
  return spec.reduction_heads > 0 ? spec.reduction_heads : spec.heads;
}
// Why these settings are invalid, as text for an Error; "" if they are valid. A network that reads
// no nodes also needs features at the kernel.
[[nodiscard]] std::string contradiction(const NetworkSpec& spec);
// Whether the numbers of attention heads in use divide `hidden`.
[[nodiscard]] constexpr bool heads_divide(const NetworkSpec& spec) {
  return (spec.graph != GraphLayer::kGat || spec.hidden % spec.heads == 0) &&
         (spec.reduction != Reduction::kTransformer || spec.hidden % reduction_heads_of(spec) == 0);
}

struct TrainingSpec {
  NetworkLoss loss = NetworkLoss::kLogTime;
  // Share of the ranking loss; the rest is squared error, so predictions are times if it is below
  // 1.
  double rank_weight = 1;
  double quantile = 0.1;
  int epochs = 60;  // each draws as many examples as the data set has
  int steps = 0;    // above 0: training ends after this many batches instead
  int batch = 64;   // examples; when ranking: kernels, with at most `tiles` tiles each
  int tiles = 16;
  double learning_rate = 2e-3;
  double decay = 0.98;  // factor on the learning rate per epoch
  // Reduction on a plateau: after `plateau` epochs in which the validation error did not improve by
  // the share plateau_gain, the learning rate is multiplied by plateau_decay, down to least_rate.
  // 0: never.
  int plateau = 0;
  double plateau_decay = 0.9, plateau_gain = 0.01, least_rate = 1e-5;
  double clip = 1;  // maximum norm of the gradient; 0: no clipping
  double weight_decay = 0;
  int patience = 15;  // stop after this many epochs without improvement; 0: never
  Balance balance = Balance::kFamily;
  // Gives every kernel the same total weight, whatever its number of tiles, times
  // GraphExample::weight. Without this, GraphExample::weight applies only in losses of log time.
  bool weigh_kernels = false;
  std::uint64_t seed = 1;
};
[[nodiscard]] const ParameterTable<TrainingSpec>& training_parameters();
[[nodiscard]] constexpr bool ranks(NetworkLoss loss) {
  return loss >= NetworkLoss::kRankHinge;
}
[[nodiscard]] constexpr bool ranks_only(const TrainingSpec& training) {
  return ranks(training.loss) && training.rank_weight == 1;
}
// Length of the training: `steps` if it is set, else `epochs`.
[[nodiscard]] constexpr int& length_of(TrainingSpec& training) {
  return training.steps > 0 ? training.steps : training.epochs;
}

}  // namespace tilecast::learned
