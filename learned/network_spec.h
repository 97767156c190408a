// What a graph network is and how it is trained: the settings of both, as data.
//
// Every setting of Kaufman et al., MLSys 2021, Tables 5 to 7 can be written. Their networks without
// a graph have module_layers and no hops; biases: no, final_layers: 3, opcode_width: 256.
#pragma once

#include <cstdint>
#include <string_view>

#include "learned/parameter_table.h"

namespace tilecast::learned {

// kConv1d: no graph, but convolutions along the nodes in topological order (of text: the tokens).
enum class GraphLayer { kNone, kSage, kSageUndirected, kGat, kConv1d };
inline constexpr std::string_view kGraphLayers[] = {"none", "sage", "sage_undirected", "gat",
                                                    "conv1d"};
enum class Aggregate { kMean, kSum, kMax };  // over neighbours
inline constexpr std::string_view kAggregates[] = {"mean", "sum", "max"};
enum class Reduction { kPerNode, kColumnWise, kLstm, kTransformer };  // of nodes to a kernel
inline constexpr std::string_view kReductions[] = {"per_node", "column_wise", "lstm",
                                                   "transformer"};

struct NetworkSpec {
  GraphLayer graph = GraphLayer::kSage;
  int hops = 2;             // 0 ... 8; 0: as kNone
  int module_layers = 0;    // feed-forward layers of each node before the hops
  int final_layers = 0;     // and after them, before the reduction
  int hidden = 64;          // width of node embeddings
  int opcode_width = 16;    // of the opcode embedding
  int heads = 4;            // GAT and Transformer; divides hidden
  int reduction_heads = 0;  // of the Transformer, where they are not as many; 0: as many
  int neighbours = 20;      // at most, per node and direction: the first ones
  Aggregate aggregate = Aggregate::kMean;
  bool l2_norm = true;  // of embeddings after each hop (GraphSAGE, equation of section 3.2)
  Reduction reduction = Reduction::kColumnWise;
  bool pool_mean = true, pool_max = true, pool_sum = false;  // kColumnWise: any, at least one
  int reduction_layers = 1;                                  // of the Transformer encoder
  int filter = 2, wide_filter = 0;  // kConv1d: nodes one sees; of half of the columns; 0: of none
  bool positions = false;           // a code of nodes' places is added before the reduction
  int head_layers = 0;              // feed-forward layers between the reduction and the last
  bool biases = true;               // of all layers
  double dropout = 0;
};
[[nodiscard]] const ParameterTable<NetworkSpec>& network_parameters();

enum class NetworkLoss { kLogTime, kHuber, kQuantile, kRankHinge, kRankLogistic, kRankAllPairs };
inline constexpr std::string_view kNetworkLosses[] = {
    "log_time", "huber", "quantile", "rank_hinge", "rank_logistic", "rank_all_pairs"};
enum class Balance { kNone, kFamily };  // how examples are drawn
inline constexpr std::string_view kBalances[] = {"none", "family"};

// Heads of the Transformer.
[[nodiscard]] constexpr int reduction_heads_of(const NetworkSpec& spec) {
  return spec.reduction_heads > 0 ? spec.reduction_heads : spec.heads;
}
// Whether the attention heads in use divide the width.
[[nodiscard]] constexpr bool heads_divide(const NetworkSpec& spec) {
  return (spec.graph != GraphLayer::kGat || spec.hidden % spec.heads == 0) &&
         (spec.reduction != Reduction::kTransformer || spec.hidden % reduction_heads_of(spec) == 0);
}

struct TrainingSpec {
  NetworkLoss loss = NetworkLoss::kLogTime;
  // Ranking: the rest of the loss is squared error, so that below 1 predictions are times.
  double rank_weight = 1;
  double quantile = 0.1;
  int epochs = 60;  // each draws as many examples as there are
  int steps = 0;    // above 0: training ends after this many batches instead, in an epoch or not
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
[[nodiscard]] constexpr bool ranks_only(const TrainingSpec& training) {
  return ranks(training.loss) && training.rank_weight == 1;
}
// How long it trains: steps where they are given, else epochs.
[[nodiscard]] constexpr int& length_of(TrainingSpec& training) {
  return training.steps > 0 ? training.steps : training.epochs;
}

}  // namespace tilecast::learned
