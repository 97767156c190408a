#include "learned/network_spec.h"

#include <fmt/format.h>

namespace tilecast::learned {

const ParameterTable<NetworkSpec>& network_parameters() {
  static const ParameterTable<NetworkSpec> table = [] {
    ParameterTable<NetworkSpec> rows;
    rows.choice("graph", &NetworkSpec::graph, kGraphLayers, "What nodes learn from neighbours.")
        .number("hops", &NetworkSpec::hops, 0, 8, "How far neighbours are; layers of none, conv1d.")
        .flag("top_down", &NetworkSpec::top_down, "Nodes learn from producers (parents) alone.")
        .flag("encoder", &NetworkSpec::encoder,
              "A feed-forward layer of each node stands before all others.")
        .number("module_layers", &NetworkSpec::module_layers, 0, 8,
                "Feed-forward layers of each node before the hops.")
        .number("final_layers", &NetworkSpec::final_layers, 0, 8,
                "Feed-forward layers of each node after the hops.")
        .number("hidden", &NetworkSpec::hidden, 4, 1024, "Width of node embeddings.")
        .number("opcode_width", &NetworkSpec::opcode_width, 1, 256, "Width of opcode embeddings.")
        .number("heads", &NetworkSpec::heads, 1, 16,
                "Attention heads of gat and transformer; a divisor of hidden.")
        .number("reduction_heads", &NetworkSpec::reduction_heads, 0, 16,
                "Those of the transformer where they are not as many; 0: as many.")
        .number("neighbours", &NetworkSpec::neighbours, 1, 1000,
                "Neighbours per node and direction, at most: the first ones.")
        .flag("sample_neighbours", &NetworkSpec::sample_neighbours,
              "Training draws the neighbours of each batch anew.")
        .choice("aggregate", &NetworkSpec::aggregate, kAggregates, "Over neighbours (sage, gcn).")
        .flag("l2_norm", &NetworkSpec::l2_norm, "Embeddings of length 1 after each hop (sage).")
        .choice("reduction", &NetworkSpec::reduction, kReductions, "Of nodes to a kernel.")
        .flag("pool_mean", &NetworkSpec::pool_mean, "Mean over nodes (column_wise).")
        .flag("pool_max", &NetworkSpec::pool_max, "Maximum over nodes (column_wise).")
        .flag("pool_sum", &NetworkSpec::pool_sum, "Sum over nodes (column_wise).")
        .number("reduction_layers", &NetworkSpec::reduction_layers, 1, 4,
                "Layers of the transformer.")
        .number("filter", &NetworkSpec::filter, 1, 16, "Nodes that one sees (conv1d).")
        .number("wide_filter", &NetworkSpec::wide_filter, 0, 16,
                "The same for half of the columns, where it is another; 0: no (conv1d).")
        .flag("positions", &NetworkSpec::positions,
              "A code of nodes' places is added before the reduction.")
        .number("head_layers", &NetworkSpec::head_layers, 0, 4,
                "Hidden layers from a kernel to its number.")
        .number("head_width", &NetworkSpec::head_width, 4, 1024,
                "Width of the first of them; each next one is half as wide.")
        .flag("biases", &NetworkSpec::biases, "Of all layers.")
        .number("dropout", &NetworkSpec::dropout, 0, 0.9,
                "Share of the values that is zeroed after each layer, in training.");
    return rows;
  }();
  return table;
}

const ParameterTable<TrainingSpec>& training_parameters() {
  static const ParameterTable<TrainingSpec> table = [] {
    ParameterTable<TrainingSpec> rows;
    rows.choice("loss", &TrainingSpec::loss, kNetworkLosses, "What training minimises.")
        .number("rank_weight", &TrainingSpec::rank_weight, 0, 1,
                "Share of a rank loss; the rest is squared error of log time.")
        .number("quantile", &TrainingSpec::quantile, 0.01, 0.99,
                "The one that 'quantile' predicts.")
        .number("epochs", &TrainingSpec::epochs, 1, 100000,
                "Each draws as many examples as there are.")
        .number("steps", &TrainingSpec::steps, 0, 1e9,
                "Batches after which training ends; 0: after the epochs.")
        .number("batch", &TrainingSpec::batch, 1, 65536, "Examples of a step; ranking: kernels.")
        .number("tiles", &TrainingSpec::tiles, 2, 4096, "Tiles of a kernel in a step, at most.")
        .number("learning_rate", &TrainingSpec::learning_rate, 1e-7, 1, "Of Adam, at the start.")
        .number("decay", &TrainingSpec::decay, 0.01, 1, "Of the learning rate, per epoch.")
        .number("plateau", &TrainingSpec::plateau, 0, 100000,
                "Epochs without a better validation until the rate falls; 0: never.")
        .number("plateau_decay", &TrainingSpec::plateau_decay, 0.01, 1, "Of the rate, then.")
        .number("plateau_gain", &TrainingSpec::plateau_gain, 0, 0.9,
                "Share by which a validation is better.")
        .number("least_rate", &TrainingSpec::least_rate, 0, 1, "The rate falls no further.")
        .number("clip", &TrainingSpec::clip, 0, 1e6, "Of the gradient's norm; 0: never.")
        .number("weight_decay", &TrainingSpec::weight_decay, 0, 1, "Of the weights, per step.")
        .number("patience", &TrainingSpec::patience, 0, 100000,
                "Epochs without a better validation until it stops; 0: never.")
        .choice("balance", &TrainingSpec::balance, kBalances, "How examples are drawn.")
        .flag("weigh_kernels", &TrainingSpec::weigh_kernels,
              "Every kernel counts the same, however many tiles it has.");
    return rows;
  }();
  return table;
}

std::string contradiction(const NetworkSpec& spec) {
  if (!heads_divide(spec)) {
    return fmt::format("heads: got {} and {} with hidden {}, expected divisors of it", spec.heads,
                       reduction_heads_of(spec), spec.hidden);
  }
  if (spec.reduction == Reduction::kColumnWise && !spec.pool_mean && !spec.pool_max &&
      !spec.pool_sum) {
    return "reduction: column_wise without a pool, expected pool_mean, pool_max or pool_sum";
  }
  if (!spec.encoder &&
      (spec.hops == 0 || spec.module_layers > 0 || spec.graph == GraphLayer::kConv1d)) {
    return "encoder: no leaves nothing before the hops; expected hops of 1 or more, no "
           "module_layers and another graph than conv1d";
  }
  if (spec.head_layers > 0 && spec.reduction == Reduction::kPerNode) {
    return "head_layers: a sum of scalars, per_node, has no head; expected another reduction";
  }
  return "";
}

}  // namespace tilecast::learned
