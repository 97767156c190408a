#include "learned/predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "base/error.h"

namespace tilecast::learned {
namespace {

using analytical::KernelQuery;

// A chunk of queries of one device, small enough for their features to stay in the cache.
struct Chunk {
  std::span<const KernelQuery> queries;
  const hwdesc::Device& device;
  Priors priors;
};
constexpr std::size_t kChunkQueries = 1024;

void extract(const TableFeatures& features, const Chunk& chunk, std::vector<float>& rows) {
  rows.resize(chunk.queries.size() * features.width());
  features.extract(chunk.queries, chunk.device, chunk.priors, rows);
}

class ChunkedPredictor : public Predictor {
 public:
  explicit ChunkedPredictor(Standardisation target) : target_(target) {}

  void predict(std::span<const KernelQuery> queries, const hwdesc::Device& device, Priors priors,
               std::span<double> out) const final {
    TC_CHECK(out.size() == queries.size(), "one place per query");
    TC_CHECK(!needs_prior() || priors.size() == queries.size(), "a prior per query");
    std::vector<KernelQuery> stated;
    if (needs_prior()) queries = with_tiles(queries, priors, stated);
    for (std::size_t first = 0; first < queries.size(); first += kChunkQueries) {
      const std::size_t count = std::min(kChunkQueries, queries.size() - first);
      const std::span<double> values = out.subspan(first, count);
      predict_chunk({queries.subspan(first, count), device,
                     needs_prior() ? priors.subspan(first, count) : Priors{}},
                    values);
      for (double& value : values) value = value * target_.deviation + target_.mean;
    }
  }

 private:
  // Predictions before destandardisation.
  virtual void predict_chunk(const Chunk& chunk, std::span<double> out) const = 0;

  Standardisation target_;
};

class GbtPredictor final : public ChunkedPredictor {
 public:
  explicit GbtPredictor(GbtPredictorParts parts)
      : ChunkedPredictor(parts.target), parts_(std::move(parts)), features_(parts_.features) {
    TC_CHECK(parts_.model.columns() == features_.width(), "trees of another width");
  }

  [[nodiscard]] bool ranks_only() const override { return parts_.ranks_only; }
  [[nodiscard]] bool needs_prior() const override { return features_.needs_prior(); }
  [[nodiscard]] const GbtPredictorParts* trees() const override { return &parts_; }

 private:
  void predict_chunk(const Chunk& chunk, std::span<double> out) const override {
    static thread_local std::vector<float> rows, margins;
    extract(features_, chunk, rows);
    margins.resize(out.size());
    parts_.model.predict(rows, margins);
    std::ranges::copy(margins, out.begin());
  }

  GbtPredictorParts parts_;
  TableFeatures features_;
};

class NetworkPredictor final : public ChunkedPredictor {
 public:
  explicit NetworkPredictor(NetworkPredictorParts parts)
      : ChunkedPredictor(parts.target),
        parts_(std::move(parts)),
        at_nodes_(parts_.features.at_nodes),
        at_kernel_(parts_.features.at_kernel) {
    TC_CHECK(parts_.node_scaler.width() == node_schema(parts_.features).columns.size(),
             "a scaler of other node features");
    TC_CHECK(parts_.at_nodes_scaler.width() == at_nodes_.width(), "a scaler of another width");
    TC_CHECK(parts_.at_kernel_scaler.width() == at_kernel_.width(), "a scaler of another width");
  }

  [[nodiscard]] bool ranks_only() const override { return parts_.ranks_only; }
  [[nodiscard]] bool needs_prior() const override {
    return at_nodes_.needs_prior() || at_kernel_.needs_prior();
  }
  [[nodiscard]] const NetworkPredictorParts* network() const override { return &parts_; }

 private:
  using Graphs = std::map<GraphKey, KernelGraph>;

  // The scaled graph; queries with equal graphs share it.
  const KernelGraph* graph_of(const KernelQuery& query, const hwdesc::Device& device,
                              Graphs& graphs) const {
    const auto [known, is_new] = graphs.try_emplace(graph_key(query, parts_.features));
    if (is_new) {
      known->second = make_graph(query, device, parts_.features);
      parts_.node_scaler.apply(known->second.features);
    }
    return &known->second;
  }

  void predict_chunk(const Chunk& chunk, std::span<double> out) const override {
    std::vector<float> at_nodes, at_kernel;
    extract(at_nodes_, chunk, at_nodes);
    extract(at_kernel_, chunk, at_kernel);
    parts_.at_nodes_scaler.apply(at_nodes);
    parts_.at_kernel_scaler.apply(at_kernel);
    const std::size_t node_width = at_nodes_.width(), kernel_width = at_kernel_.width();
    Graphs graphs;
    std::vector<GraphInput> inputs(chunk.queries.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i] = {.graph = graph_of(chunk.queries[i], chunk.device, graphs),
                   .at_nodes = std::span(at_nodes).subspan(i * node_width, node_width),
                   .at_kernel = std::span(at_kernel).subspan(i * kernel_width, kernel_width)};
    }
    std::vector<float> values(inputs.size());
    parts_.network->predict(inputs, values);
    std::ranges::copy(values, out.begin());
  }

  NetworkPredictorParts parts_;
  TableFeatures at_nodes_, at_kernel_;
};

// Base of predictors that transform another one's output and expose its parts.
class Changed : public Predictor {
 public:
  explicit Changed(std::unique_ptr<Predictor> own) : own_(std::move(own)) {
    TC_CHECK(own_ != nullptr, "nothing to change");
  }

  [[nodiscard]] bool ranks_only() const override { return own_->ranks_only(); }
  [[nodiscard]] const GbtPredictorParts* trees() const override { return own_->trees(); }
  [[nodiscard]] const NetworkPredictorParts* network() const override { return own_->network(); }

 protected:
  [[nodiscard]] const Predictor& own() const { return *own_; }

 private:
  std::unique_ptr<Predictor> own_;
};

class OnPrior final : public Changed {
 public:
  using Changed::Changed;

  [[nodiscard]] bool needs_prior() const override { return true; }

  void predict(std::span<const KernelQuery> queries, const hwdesc::Device& device, Priors priors,
               std::span<double> out) const override {
    TC_CHECK(priors.size() == queries.size(), "a prior per query");
    std::vector<KernelQuery> stated;
    own().predict(with_tiles(queries, priors, stated), device, priors, out);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] += priors[i] ? std::log(priors[i]->time.value) : std::nan("");
    }
  }
};

class OfQuantity final : public Changed {
 public:
  OfQuantity(std::unique_ptr<Predictor> own, Target target)
      : Changed(std::move(own)), target_(std::move(target)) {}

  [[nodiscard]] bool needs_prior() const override { return own().needs_prior(); }
  [[nodiscard]] const Target& target() const override { return target_; }

  void predict(std::span<const KernelQuery> queries, const hwdesc::Device& device, Priors priors,
               std::span<double> out) const override {
    own().predict(queries, device, priors, out);
    for (double& value : out) value = unscaled(target_, value);
  }

 private:
  Target target_;
};

}  // namespace

const Target& Predictor::target() const {
  static const Target time;
  return time;
}

std::vector<std::optional<analytical::Estimate>> priors_for(const Predictor& predictor,
                                                            const analytical::CostModel& prior,
                                                            std::span<const KernelQuery> queries,
                                                            const hwdesc::Device& device) {
  if (!predictor.needs_prior()) return {};
  return prior.estimate(queries, device);
}

std::span<const KernelQuery> with_tiles(std::span<const KernelQuery> queries, Priors priors,
                                        std::vector<KernelQuery>& stated) {
  if (std::ranges::all_of(queries,
                          [](const KernelQuery& query) { return query.tile != nullptr; })) {
    return queries;
  }
  stated.reserve(queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    stated.push_back(analytical::with_tile_of(priors[i], queries[i]));
  }
  return stated;
}

const Vocabulary* vocabulary_of(const Predictor& predictor) {
  const Vocabulary* found = nullptr;
  if (const GbtPredictorParts* trees = predictor.trees()) found = &trees->features.vocabulary;
  if (const NetworkPredictorParts* network = predictor.network()) {
    found = &network->features.vocabulary;
  }
  return found == nullptr || found->empty() ? nullptr : found;
}

std::unique_ptr<Predictor> answering(const Target& target, std::unique_ptr<Predictor> own) {
  if (!target.is_time()) return std::make_unique<OfQuantity>(std::move(own), target);
  return target.residual ? std::make_unique<OnPrior>(std::move(own)) : std::move(own);
}

void require_times(const Predictor& predictor, std::string_view name) {
  const Target& target = predictor.target();
  if (target.is_time()) return;
  throw Error(
      fmt::format("model {}: predicts {} in {}, no times; expected a model whose target is "
                  "time or residual",
                  name, target.quantity, target.unit));
}

std::unique_ptr<Predictor> make_predictor(GbtPredictorParts parts) {
  return std::make_unique<GbtPredictor>(std::move(parts));
}

std::unique_ptr<Predictor> make_predictor(NetworkPredictorParts parts) {
  return std::make_unique<NetworkPredictor>(std::move(parts));
}

namespace {

constexpr std::string_view kTimeSetting = "time", kResidualSetting = "residual";

}  // namespace

std::string setting_of(const Target& target) {
  if (!target.is_time()) return target.quantity;
  return std::string(target.residual ? kResidualSetting : kTimeSetting);
}

Target target_of_setting(std::string_view setting) {
  if (setting == kTimeSetting || setting == kRuntime) return {};
  if (setting == kResidualSetting) return {.residual = true};
  return {.quantity = std::string(setting), .unit = ""};
}

double scaled(const Target& target, double value) {
  if (target.scale == TargetScale::kIdentity) return value;
  return value >= 0 ? std::log1p(value) : std::numeric_limits<double>::quiet_NaN();
}

double unscaled(const Target& target, double value) {
  if (target.scale == TargetScale::kIdentity) return value;
  return std::max(0.0, std::expm1(value));
}

}  // namespace tilecast::learned
