// Encodes a query for a network: the kernel as a graph of ops, or its text as a sequence of tokens.
//
//   KernelGraph graph = make_graph(query, device, features);
//
// Text (GraphEncoding::kText): nodes are the tokens in order, opcodes their numbers in the
// vocabulary, and there are no edges. With NumberTokens::kValue each node has one feature, the
// number's value. Thread-safe.
#pragma once

#include "learned/kernel_graph.h"
#include "learned/table_features.h"

namespace tilecast::learned {

// A network's kernel features and where they enter (Kaufman et al., MLSys 2021, figure 3).
struct NetworkFeatures {
  GraphEncoding encoding = GraphEncoding::kTilecast;
  FeatureSelection at_nodes, at_kernel;  // options 1 and 2
  bool logarithmic = true;               // log scale of FeatureScaler
  Vocabulary vocabulary = {};            // kText only; set by training
};

[[nodiscard]] KernelGraph make_graph(const analytical::KernelQuery& query,
                                     const hwdesc::Device& device, const NetworkFeatures& features);
[[nodiscard]] KernelGraph make_text_graph(const TokenIds& text, const TextSpec& spec);
// Schema of the graphs' node features; its hash also covers the meaning of opcodes.
[[nodiscard]] FeatureSchema node_schema(const NetworkFeatures& features);
[[nodiscard]] std::int32_t opcode_count(const NetworkFeatures& features);

// Key of a graph: on one device, equal keys have equal graphs.
struct GraphKey {
  const ir::Kernel* kernel = nullptr;
  std::string tile = {};  // empty if the graph does not depend on the tile
  auto operator<=>(const GraphKey&) const = default;
};
[[nodiscard]] GraphKey graph_key(const analytical::KernelQuery& query,
                                 const NetworkFeatures& features);

}  // namespace tilecast::learned
