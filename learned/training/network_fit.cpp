#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/error.h"
#include "learned/training/fit.h"

namespace tilecast::learned {
namespace {

// Least and greatest value per column, as two rows: all that a scaler looks at.
class Extremes {
 public:
  explicit Extremes(std::size_t width) : width_(width), rows_(2 * width, std::nanf("")) {}

  void add(std::span<const float> rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      float& low = rows_[i % width_];
      float& high = rows_[width_ + i % width_];
      low = std::fmin(low, rows[i]);  // fmin passes NaN over
      high = std::fmax(high, rows[i]);
    }
  }
  [[nodiscard]] std::span<const float> rows() const { return rows_; }

 private:
  std::size_t width_;
  std::vector<float> rows_;
};

struct Scaled {
  std::size_t width = 0;
  std::vector<float> rows;
  FeatureScaler scaler;

  [[nodiscard]] std::span<const float> row(std::size_t i) const {
    return std::span(rows).subspan(i * width, width);
  }
};

class NetworkFitter final : public Fitter {
 public:
  NetworkFitter(const LearnerSpec& spec, const Examples& examples, const TrainValidation& split,
                int threads, std::span<const std::size_t> labelled)
      : features_(spec.network_features),
        target_(standardisation_of(examples, joined(labelled, split.train))),
        labelled_rows_(labelled.size()),
        train_rows_(split.train.size()) {
    const std::vector<std::size_t> rows =
        joined(joined(by_kernel(examples, labelled), by_kernel(examples, split.train)),
               by_kernel(examples, split.validation));
    at_nodes_ = scaled(features_.at_nodes, examples, rows, threads);
    at_kernel_ = scaled(features_.at_kernel, examples, rows, threads);
    const std::vector<std::size_t> graph_of = make_graphs(examples, rows);
    const std::vector<float> targets = standard_targets(examples, rows, target_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Example& example = examples.rows[rows[i]];
      examples_.push_back({.input = {.graph = &graphs_[graph_of[i]],
                                     .at_nodes = at_nodes_.row(i),
                                     .at_kernel = at_kernel_.row(i)},
                           .target = targets[i],
                           .kernel = example.kernel,
                           .family = example.family,
                           .weight = static_cast<float>(example.weight)});
    }
  }
  NetworkFitter(const NetworkFitter&) = delete;  // examples point into it
  NetworkFitter& operator=(const NetworkFitter&) = delete;

  [[nodiscard]] FitResult fit(const LearnerSpec& spec, const FitHooks& hooks) const override {
    const bool validates = examples_.size() > fitted_rows();
    double best = std::numeric_limits<double>::infinity();
    TrainingSpec training = spec.training;
    training.seed = spec.seed;
    TrainingHooks training_hooks{.checkpoint = hooks.checkpoint,
                                 .start = of_labels(spec.network, training)};
    const int before = training_hooks.start.empty() ? 0 : training.epochs / 2;
    training.epochs -= before;
    training_hooks.epoch = [&](const EpochReport& epoch) {
      if (validates) best = std::min(best, epoch.best);
      if (hooks.step) hooks.step({before + epoch.epoch, epoch.loss, epoch.validation});
      return true;
    };
    const std::span<const GraphExample> all(examples_);
    NetworkPredictorParts parts{.features = features_,
                                .spec = spec.network,
                                .node_scaler = node_scaler_,
                                .at_nodes_scaler = at_nodes_.scaler,
                                .at_kernel_scaler = at_kernel_.scaler,
                                .network = nullptr,
                                .target = spec.ranks_only() ? Standardisation{} : target_,
                                .ranks_only = spec.ranks_only()};
    parts.network = graph_module().train(spec.network, widths(), training,
                                         all.subspan(labelled_rows_, train_rows_),
                                         all.subspan(fitted_rows()), training_hooks);
    return {make_predictor(std::move(parts)), best};
  }

 private:
  // Labels and measured training rows: what scales follow from.
  [[nodiscard]] std::size_t fitted_rows() const { return labelled_rows_ + train_rows_; }

  // The weights after half of the epochs on the labels; empty without labels.
  [[nodiscard]] std::string of_labels(const NetworkSpec& network, TrainingSpec training) const {
    training.epochs /= 2;
    if (labelled_rows_ == 0 || training.epochs == 0) return {};
    const auto labelled = std::span<const GraphExample>(examples_).first(labelled_rows_);
    return graph_module().train(network, widths(), training, labelled, {}, {})->save();
  }

  [[nodiscard]] Scaled scaled(const FeatureSelection& selection, const Examples& examples,
                              std::span<const std::size_t> rows, int threads) const {
    const TableFeatures features(selection);
    Scaled result{.width = features.width(), .rows = {}, .scaler = {}};
    if (result.width == 0) return result;
    result.rows = feature_rows(features, examples, rows, threads);
    const auto fitted = std::span(result.rows).first(fitted_rows() * result.width);
    result.scaler = FeatureScaler(fitted, result.width, features_.logarithmic);
    result.scaler.apply(result.rows);
    return result;
  }

  // One graph per kernel object, scaled by those of the training rows; which one each row has.
  std::vector<std::size_t> make_graphs(const Examples& examples,
                                       const std::vector<std::size_t>& rows) {
    const std::size_t width = node_schema(features_.encoding).columns.size();
    Extremes extremes(width);
    std::unordered_map<const ir::Kernel*, std::size_t> numbers;
    std::vector<std::size_t> graph_of;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const ir::Kernel& kernel = examples.queries[rows[i]].kernel;
      const auto [known, is_new] = numbers.emplace(&kernel, graphs_.size());
      graph_of.push_back(known->second);
      if (!is_new) continue;
      graphs_.push_back(make_graph(kernel, features_.encoding));
      if (graphs_.back().nodes() == 0) throw Error(kernel.name() + ": a kernel without ops");
      if (i < fitted_rows()) extremes.add(graphs_.back().features);
    }
    node_scaler_ = FeatureScaler(extremes.rows(), width, features_.logarithmic);
    for (KernelGraph& graph : graphs_) node_scaler_.apply(graph.features);
    return graph_of;
  }

  [[nodiscard]] NetworkWidths widths() const {
    return {.opcodes = opcode_count(features_.encoding),
            .node = node_scaler_.width(),
            .at_nodes = at_nodes_.width,
            .at_kernel = at_kernel_.width};
  }

  NetworkFeatures features_;
  Standardisation target_;
  std::size_t labelled_rows_, train_rows_;
  Scaled at_nodes_, at_kernel_;
  std::vector<KernelGraph> graphs_;
  FeatureScaler node_scaler_;
  std::vector<GraphExample> examples_;  // labelled ones, training rows, validation
};

}  // namespace

std::unique_ptr<Fitter> make_network_fitter(const LearnerSpec& spec, const Examples& examples,
                                            const TrainValidation& split, int threads,
                                            std::span<const std::size_t> labelled) {
  return std::make_unique<NetworkFitter>(spec, examples, split, threads, labelled);
}

}  // namespace tilecast::learned
