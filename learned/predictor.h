// A trained model with its features: kernels in, log times (or another quantity, learned/target.h)
// out. What a model directory holds.
//
// Thread-safe, deterministic. Whoever wants times of programs wraps it: learned/learned_model.h.
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
  // True: the numbers order the tiles of one kernel and mean nothing else (trained to rank).
  [[nodiscard]] virtual bool ranks_only() const = 0;
  [[nodiscard]] virtual bool needs_prior() const = 0;
  // What predict() answers: times, or a quantity that is none.
  [[nodiscard]] virtual const Target& target() const;
  // log(seconds) per query, or a score, lower = faster; of a target that is no time: the quantity
  // in its unit. `priors`: the analytical answers when needs_prior(), one per query; else ignored.
  // Who knows the prior of a query without a tile takes it for the query with that prior's tile.
  virtual void predict(std::span<const analytical::KernelQuery> queries,
                       const hwdesc::Device& device, Priors priors,
                       std::span<double> out) const = 0;
  // What it is made of: one of the two, the other is null.
  [[nodiscard]] virtual const GbtPredictorParts* trees() const { return nullptr; }
  [[nodiscard]] virtual const NetworkPredictorParts* network() const { return nullptr; }
};

// Of a model of text: what it knows. Null: no text.
[[nodiscard]] const Vocabulary* vocabulary_of(const Predictor& predictor);

// What `predictor` needs of `prior`, the analytical model: its answers, or nothing.
[[nodiscard]] std::vector<std::optional<analytical::Estimate>> priors_for(
    const Predictor& predictor, const analytical::CostModel& prior,
    std::span<const analytical::KernelQuery> queries, const hwdesc::Device& device);

// out = what the model predicts x deviation + mean.
struct Standardisation {
  // Of log(seconds), or of the scaled quantity, in the training set; ranking: 0 and 1.
  double mean = 0, deviation = 1;
};

// `own` predicts what a learner of `target` is shown. Times: `own` itself. Residuals:
// log(measured / analytical), or a score that was trained on top of physics; adds log(analytical
// time), NaN where physics has no answer. Others: scaled(); comes back in the quantity's unit. Made
// of what `own` is.
[[nodiscard]] std::unique_ptr<Predictor> answering(const Target& target,
                                                   std::unique_ptr<Predictor> own);
// Error "model NAME: predicts ..., no times" unless `predictor` predicts times.
void require_times(const Predictor& predictor, std::string_view name);

// Trees over a table. No allocation per query in the steady state of a thread.
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
  FeatureScaler node_scaler, at_nodes_scaler, at_kernel_scaler;  // of no columns: unused
  std::unique_ptr<GraphNetwork> network;
  Standardisation target;
  bool ranks_only = false;
};
[[nodiscard]] std::unique_ptr<Predictor> make_predictor(NetworkPredictorParts parts);

}  // namespace tilecast::learned
