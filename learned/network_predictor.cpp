#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "learned/predictor.h"

namespace tilecast::learned {
namespace {

using analytical::KernelQuery;

constexpr std::size_t kChunk = 1024;  // queries whose features exist at a time

// Scaled graphs of the kernels of one call: tiles of one kernel share theirs.
class Graphs {
 public:
  Graphs(GraphEncoding encoding, const FeatureScaler& scaler)
      : encoding_(encoding), scaler_(scaler) {}

  const KernelGraph& of(const ir::Kernel& kernel) {
    if (const auto known = graphs_.find(&kernel); known != graphs_.end()) return known->second;
    KernelGraph graph = make_graph(kernel, encoding_);
    if (graph.nodes() == 0) throw Error(kernel.name() + ": a kernel without ops has no graph");
    scaler_.apply(graph.features);
    return graphs_.emplace(&kernel, std::move(graph)).first->second;
  }

 private:
  GraphEncoding encoding_;
  const FeatureScaler& scaler_;
  std::unordered_map<const ir::Kernel*, KernelGraph> graphs_;
};

class NetworkPredictor final : public Predictor {
 public:
  explicit NetworkPredictor(NetworkPredictorParts parts)
      : parts_(std::move(parts)),
        at_nodes_(parts_.features.at_nodes),
        at_kernel_(parts_.features.at_kernel) {
    TC_CHECK(parts_.node_scaler.width() == node_schema(parts_.features.encoding).columns.size(),
             "a scaler of other node features");
    TC_CHECK(parts_.at_nodes_scaler.width() == at_nodes_.width(), "a scaler of another width");
    TC_CHECK(parts_.at_kernel_scaler.width() == at_kernel_.width(), "a scaler of another width");
  }

  [[nodiscard]] bool ranks_only() const override { return parts_.ranks_only; }
  [[nodiscard]] bool needs_prior() const override {
    return at_nodes_.needs_prior() || at_kernel_.needs_prior();
  }
  [[nodiscard]] const NetworkPredictorParts* network() const override { return &parts_; }

  void predict(std::span<const KernelQuery> queries, const hwdesc::Device& device, Priors priors,
               std::span<double> out) const override {
    TC_CHECK(out.size() == queries.size(), "one place per query");
    std::vector<std::optional<analytical::Estimate>> asked;
    if (needs_prior()) priors = given_or_asked(priors, queries, device, asked);
    Graphs graphs(parts_.features.encoding, parts_.node_scaler);
    for (std::size_t first = 0; first < queries.size(); first += kChunk) {
      const std::size_t count = std::min(kChunk, queries.size() - first);
      predict_chunk({queries.subspan(first, count), device,
                     needs_prior() ? priors.subspan(first, count) : Priors{}},
                    graphs, out.subspan(first, count));
    }
  }

 private:
  struct Chunk {
    std::span<const KernelQuery> queries;
    const hwdesc::Device& device;
    Priors priors;
  };

  [[nodiscard]] static std::vector<float> scaled(const TableFeatures& features,
                                                 const FeatureScaler& scaler, const Chunk& chunk) {
    std::vector<float> rows(chunk.queries.size() * features.width());
    if (rows.empty()) return rows;
    features.extract(chunk.queries, chunk.device, chunk.priors, rows);
    scaler.apply(rows);
    return rows;
  }

  void predict_chunk(const Chunk& chunk, Graphs& graphs, std::span<double> out) const {
    const std::vector<float> at_nodes = scaled(at_nodes_, parts_.at_nodes_scaler, chunk);
    const std::vector<float> at_kernel = scaled(at_kernel_, parts_.at_kernel_scaler, chunk);
    const std::size_t node_width = at_nodes_.width(), kernel_width = at_kernel_.width();
    std::vector<GraphInput> inputs(chunk.queries.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i] = {.graph = &graphs.of(chunk.queries[i].kernel),
                   .at_nodes = std::span(at_nodes).subspan(i * node_width, node_width),
                   .at_kernel = std::span(at_kernel).subspan(i * kernel_width, kernel_width)};
    }
    std::vector<float> said(inputs.size());
    parts_.network->predict(inputs, said);
    std::ranges::transform(said, out.begin(), [this](float value) {
      return static_cast<double>(value) * parts_.target.deviation + parts_.target.mean;
    });
  }

  NetworkPredictorParts parts_;
  TableFeatures at_nodes_, at_kernel_;
};

}  // namespace

std::unique_ptr<Predictor> make_predictor(NetworkPredictorParts parts) {
  return std::make_unique<NetworkPredictor>(std::move(parts));
}

}  // namespace tilecast::learned
