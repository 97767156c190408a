// A trained model with its feature extraction, as stored in a model directory: predicts log times
// of kernels, or another quantity (Target). Thread-safe, deterministic.
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
#include "learned/kernel_graph.h"

namespace tilecast::learned {

// The quantity that a model predicts: a kernel's time, or another quantity of measurement sets.
//
// Times are learned as logarithms, or as the logarithm of their ratio to the analytical time
// (residual), since trees and networks extrapolate badly and physics does not. Other quantities are
// learned unchanged or as log(1 + value) and predicted in their own unit. Thread-safe.

inline constexpr std::string_view kRuntime = "runtime";

// Scale on which a quantity is learned. kLog1p is for counts and cycles that span decades.
enum class TargetScale { kIdentity, kLog1p };
inline constexpr std::string_view kTargetScales[] = {"identity", "log1p"};

struct Target {
  std::string quantity = std::string(kRuntime);  // or one of measured::Manifest::quantities
  std::string unit = "s";                        // as in the measurement sets; "": not known yet
  bool count = false;                            // whole numbers
  bool residual = false;                         // for times only
  TargetScale scale = TargetScale::kIdentity;    // for quantities other than time
  friend bool operator==(const Target&, const Target&) = default;

  [[nodiscard]] bool is_time() const { return quantity == kRuntime; }
};

// The target as text in settings: time, residual, or the quantity's name. The unit is not included.
[[nodiscard]] std::string setting_of(const Target& target);
[[nodiscard]] Target target_of_setting(std::string_view setting);

// Converts a quantity other than time from its unit to the learner's scale, and back. kLog1p:
// scaled() gives NaN for negative values; unscaled() returns at least 0.
[[nodiscard]] double scaled(const Target& target, double value);
[[nodiscard]] double unscaled(const Target& target, double value);

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

// Queries with the tiles of `priors` where they state none (analytical::with_tile_of), so that a
// learned model sees one kernel whoever chose the tile; copies are stored in `stated`.
[[nodiscard]] std::span<const analytical::KernelQuery> with_tiles(
    std::span<const analytical::KernelQuery> queries, Priors priors,
    std::vector<analytical::KernelQuery>& stated);

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
