// How a network sees a query: its kernel as a graph of ops, or its text as a row of tokens.
//
//   KernelGraph graph = make_graph(query, device, features);
//
// Text (GraphEncoding::kText): nodes are the tokens in their order, opcodes their numbers in the
// vocabulary, and there are no edges. With NumberTokens::kValue a node has one feature, the number.
// Thread-safe.
#pragma once

#include "learned/kernel_graph.h"
#include "learned/table_features.h"

namespace tilecast::learned {

// Which features of the kernel a network sees, and where (Kaufman et al., MLSys 2021, figure 3).
struct NetworkFeatures {
  GraphEncoding encoding = GraphEncoding::kTilecast;
  FeatureSelection at_nodes, at_kernel;  // options 1 and 2
  bool logarithmic = true;               // scale of FeatureScaler
  Vocabulary vocabulary = {};            // of kText; a training fills it
};

[[nodiscard]] KernelGraph make_graph(const analytical::KernelQuery& query,
                                     const hwdesc::Device& device, const NetworkFeatures& features);
[[nodiscard]] KernelGraph make_text_graph(const TokenIds& text, const TextSpec& spec);
// Names the columns of the graphs' features, and through its hash what opcodes mean.
[[nodiscard]] FeatureSchema node_schema(const NetworkFeatures& features);
[[nodiscard]] std::int32_t opcode_count(const NetworkFeatures& features);

// Tells graphs apart: equal keys of one device have equal graphs.
struct GraphKey {
  const ir::Kernel* kernel = nullptr;
  std::string tile = {};  // where the graph depends on it
  auto operator<=>(const GraphKey&) const = default;
};
[[nodiscard]] GraphKey graph_key(const analytical::KernelQuery& query,
                                 const NetworkFeatures& features);

}  // namespace tilecast::learned
