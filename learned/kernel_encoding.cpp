#include "learned/kernel_encoding.h"

#include <fmt/format.h>

#include <numeric>

#include "base/error.h"

namespace tilecast::learned {
namespace {

constexpr int kTextVersion = 1;  // version of the tokens' definition

bool has_values(const TextSpec& spec) {
  return spec.numbers == NumberTokens::kValue;
}

}  // namespace

KernelGraph make_text_graph(const TokenIds& text, const TextSpec& spec) {
  KernelGraph graph;
  graph.opcodes = text.ids;
  if (has_values(spec)) graph.features = text.values;
  graph.topological.resize(text.ids.size());
  std::iota(graph.topological.begin(), graph.topological.end(), 0);
  return graph;
}

KernelGraph make_graph(const analytical::KernelQuery& query, const hwdesc::Device& device,
                       const NetworkFeatures& features) {
  if (features.encoding != GraphEncoding::kText) {
    return make_graph(query, device, features.encoding);
  }
  TC_CHECK(!features.vocabulary.empty(), "text without a vocabulary");
  return make_text_graph(features.vocabulary.encode(query, device), features.vocabulary.spec());
}

FeatureSchema node_schema(const NetworkFeatures& features) {
  if (features.encoding != GraphEncoding::kText) return node_schema(features.encoding);
  FeatureSchema schema{.name = fmt::format("text.node/vocabulary-{}", features.vocabulary.hash()),
                       .version = kTextVersion,
                       .columns = {}};
  if (has_values(features.vocabulary.spec())) {
    schema.columns.push_back(
        {"node.value", "1", "The number that the token stands for, else 0.", FeatureGroup::kNode});
  }
  return schema;
}

std::int32_t opcode_count(const NetworkFeatures& features) {
  return features.encoding == GraphEncoding::kText
             ? static_cast<std::int32_t>(features.vocabulary.size())
             : opcode_count(features.encoding);
}

GraphKey graph_key(const analytical::KernelQuery& query, const NetworkFeatures& features) {
  const bool of_tile = features.encoding == GraphEncoding::kText
                           ? features.vocabulary.spec().level == TextLevel::kLoops
                           : sees_tile(features.encoding);
  GraphKey key{.kernel = &query.kernel};
  if (of_tile && query.tile != nullptr) key.tile = to_string(*query.tile);
  return key;
}

}  // namespace tilecast::learned
