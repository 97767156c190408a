// A trained model with its feature extraction, as stored in a model directory: predicts log times
// of kernels, or another quantity (learned/target.h). Thread-safe, deterministic.
// learned/learned_model.h wraps it as a CostModel.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analytical/cost_model.h"
#include "learned/feature_scaler.h"
#include "learned/gbt_model.h"
#include "learned/graph_network.h"
#include "learned/kernel_encoding.h"
#include "learned/target.h"

namespace tilecast::learned {

struct GbtPredictorParts;
struct NetworkPredictorParts;

using Priors = std::span<const std::optional<analytical::Estimate>>;

class Predictor {
 public:
  virtual ~Predictor() = default;
  // True if trained to rank: outputs are only comparable between tiles of one kernel.
  [[nodiscard]] virtual bool ranks_only() const = 0;
  [[nodiscard]] virtual bool needs_prior() const = 0;
  // What predict() returns: a time or another quantity.
  [[nodiscard]] virtual const Target& target() const;
  // Writes per query log(seconds), or a score where lower is faster, or, for targets other than
  // time, the quantity in its unit. `priors`: the analytical estimates, one per query, if
  // needs_prior(); else ignored. The prior of a query without a tile may be used for the query with
  // that prior's tile.
  virtual void predict(std::span<const analytical::KernelQuery> queries,
                       const hwdesc::Device& device, Priors priors,
                       std::span<double> out) const = 0;
  // The model's parts: one of the two is non-null.
  [[nodiscard]] virtual const GbtPredictorParts* trees() const { return nullptr; }
  [[nodiscard]] virtual const NetworkPredictorParts* network() const { return nullptr; }
};

// The vocabulary of a model of text; nullptr for other models.
[[nodiscard]] const Vocabulary* vocabulary_of(const Predictor& predictor);

// The priors that `predictor` needs: estimates of `prior`, or none.
[[nodiscard]] std::vector<std::optional<analytical::Estimate>> priors_for(
    const Predictor& predictor, const analytical::CostModel& prior,
    std::span<const analytical::KernelQuery> queries, const hwdesc::Device& device);

// output = raw prediction x deviation + mean
struct Standardisation {
  // Of log(seconds) or the scaled quantity in the training set; 0 and 1 when ranking.
  double mean = 0, deviation = 1;
};

// Converts predictions of the learner's scale to the target. Times: returns `own` itself. Residuals
// (log(measured / analytical), or a score trained on top of physics): adds log(analytical time),
// NaN without an analytical estimate. Other quantities: applies unscaled(). The result has the
// parts of `own`.
[[nodiscard]] std::unique_ptr<Predictor> answering(const Target& target,
                                                   std::unique_ptr<Predictor> own);
// Throws Error "model NAME: predicts ..., no times" unless `predictor` predicts times.
void require_times(const Predictor& predictor, std::string_view name);

// Trees over a table. Does not allocate per query after a thread's first calls.
struct GbtPredictorParts {
  FeatureSelection features;
  GbtModel model;
  Standardisation target;
  bool ranks_only = false;
};
[[nodiscard]] std::unique_ptr<Predictor> make_predictor(GbtPredictorParts parts);

inline constexpr std::string_view kScales[] = {"linear", "logarithmic"};
struct NetworkPredictorParts {
  NetworkFeatures features;
  NetworkSpec spec;
  FeatureScaler node_scaler, at_nodes_scaler, at_kernel_scaler;  // unused if without columns
  std::unique_ptr<GraphNetwork> network;
  Standardisation target;
  bool ranks_only = false;
};
[[nodiscard]] std::unique_ptr<Predictor> make_predictor(NetworkPredictorParts parts);

}  // namespace tilecast::learned
