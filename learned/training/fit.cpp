#include "learned/training/fit.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

#include "base/error.h"

namespace tilecast::learned {
namespace {

// The vocabulary of these rows' texts; empty if the learner reads no text.
Vocabulary vocabulary_of(const LearnerSpec& spec, const Examples& examples,
                         std::span<const std::size_t> rows) {
  if (!spec.reads_text()) return {};
  TokenCounts counts;
  for (const std::size_t row : rows) {
    counts.add(examples.shown(row), *examples.rows[row].device, spec.text);
  }
  return {spec.text, counts};
}

// Weighted mean and deviation of log(seconds) of these rows; a deviation of 0 becomes 1.
Standardisation standardisation_of(const Examples& examples, std::span<const std::size_t> rows) {
  TC_CHECK(!rows.empty(), "no rows to train on");
  double whole = 0;
  for (const std::size_t row : rows) whole += examples.rows[row].weight;
  Standardisation target{.mean = 0, .deviation = 0};
  for (const std::size_t row : rows) {
    target.mean += examples.rows[row].weight * examples.rows[row].target / whole;
  }
  for (const std::size_t row : rows) {
    const double off = examples.rows[row].target - target.mean;
    target.deviation += examples.rows[row].weight * off * off / whole;
  }
  constexpr double kEqualTimes = 1e-9;  // in log(seconds)
  target.deviation = std::sqrt(target.deviation);
  if (target.deviation < kEqualTimes) target.deviation = 1;
  return target;
}

std::vector<float> standard_targets(const Examples& examples, std::span<const std::size_t> rows,
                                    const Standardisation& target) {
  std::vector<float> result;
  for (const std::size_t row : rows) {
    result.push_back(
        static_cast<float>((examples.rows[row].target - target.mean) / target.deviation));
  }
  return result;
}

// Weights of these rows; empty if all are 1.
std::vector<float> row_weights(const Examples& examples, std::span<const std::size_t> rows) {
  std::vector<float> weights;
  for (const std::size_t row : rows) {
    weights.push_back(static_cast<float>(examples.rows[row].weight));
  }
  if (std::ranges::all_of(weights, [](float weight) { return weight == 1; })) weights.clear();
  return weights;
}

// The scale of these rows' targets; ranks have none.
Standardisation target_of(const LearnerSpec& spec, const Examples& examples,
                          std::span<const std::size_t> rows) {
  return spec.ranks_only() ? Standardisation{} : standardisation_of(examples, rows);
}

// Stably sorted by kernel.
std::vector<std::size_t> by_kernel(const Examples& examples, std::span<const std::size_t> rows) {
  std::vector<std::size_t> order(rows.begin(), rows.end());
  std::ranges::stable_sort(order, {}, [&](std::size_t row) { return examples.rows[row].kernel; });
  return order;
}

class TreeFitter final : public Fitter {
 public:
  TreeFitter(const LearnerSpec& spec, const Examples& examples, const TrainValidation& split,
             int threads)
      : selection_(with_vocabulary(spec, examples, split.train)),
        features_(selection_),
        target_(target_of(spec, examples, split.train)),
        train_(table_of(examples, split.train, threads)),
        validation_(table_of(examples, split.validation, threads)) {
    if (!spec.target.residual || !spec.ranks()) return;
    start_from_physics(examples, split.train, train_);
    start_from_physics(examples, split.validation, validation_);
  }

  [[nodiscard]] FitResult fit(const LearnerSpec& spec, const FitHooks& hooks) const override {
    double best = std::numeric_limits<double>::infinity();
    GbtSpec gbt = spec.gbt;
    gbt.seed = spec.seed;
    const auto report = [&](const GbtRound& round) {
      if (validation_.rows() > 0) best = std::min(best, round.validation);
      if (hooks.step) hooks.step({round.round, round.train, round.validation});
      return true;
    };
    GbtPredictorParts parts{
        .features = selection_,
        .model = train_gbt(train_, validation_, gbt, {.round = report, .threads = hooks.threads}),
        .target = target_,
        .ranks_only = spec.ranks_only()};
    return {make_predictor(std::move(parts)), best};
  }

 private:
  static FeatureSelection with_vocabulary(const LearnerSpec& spec, const Examples& examples,
                                          std::span<const std::size_t> rows) {
    FeatureSelection selection = spec.features;
    selection.vocabulary = vocabulary_of(spec, examples, rows);
    return selection;
  }

  // Starts trees from analytical times; turns targets back into times, whose order rankings learn.
  void start_from_physics(const Examples& examples, std::span<const std::size_t> rows,
                          GbtTable& table) const {
    for (const std::size_t row : by_kernel(examples, rows)) {
      const double log_time = std::log(examples.priors[row]->time.value);
      table.margins.push_back(static_cast<float>(log_time / target_.deviation));
      table.targets[table.margins.size() - 1] += table.margins.back();
    }
  }

  [[nodiscard]] GbtTable table_of(const Examples& examples, std::span<const std::size_t> rows,
                                  int threads) const {
    const std::vector<std::size_t> order = by_kernel(examples, rows);
    GbtTable table{.columns = features_.width(),
                   .values = feature_rows(features_, examples, order, threads),
                   .targets = standard_targets(examples, order, target_),
                   .margins = {},
                   .groups = {},
                   .weights = row_weights(examples, order)};
    for (const std::size_t row : order) table.groups.push_back(examples.rows[row].kernel);
    return table;
  }

  FeatureSelection selection_;
  TableFeatures features_;
  Standardisation target_;
  GbtTable train_, validation_;
};

// Minimum and maximum per column, as two rows: all that a scaler needs.
class Extremes {
 public:
  explicit Extremes(std::size_t width) : width_(width), rows_(2 * width, std::nanf("")) {}

  void add(std::span<const float> rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      float& low = rows_[i % width_];
      float& high = rows_[width_ + i % width_];
      low = std::fmin(low, rows[i]);  // fmin ignores NaN
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
                int threads)
      : features_(spec.network_features),
        target_(target_of(spec, examples, split.train)),
        train_rows_(split.train.size()) {
    std::vector<std::size_t> rows = by_kernel(examples, split.train);
    features_.vocabulary = vocabulary_of(spec, examples, rows);
    std::ranges::copy(by_kernel(examples, split.validation), std::back_inserter(rows));
    at_nodes_ = scaled(features_.at_nodes, examples, rows, threads);
    at_kernel_ = scaled(features_.at_kernel, examples, rows, threads);
    const std::vector<std::size_t> graph_of = make_graphs(examples, rows);
    const std::vector<float> targets = standard_targets(examples, rows, target_);
    const bool on_physics = spec.target.residual && spec.ranks();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Example& example = examples.rows[rows[i]];
      const double physics = on_physics ? std::log(examples.priors[rows[i]]->time.value) : 0;
      const auto margin = static_cast<float>(physics / target_.deviation);
      examples_.push_back({.input = {.graph = &graphs_[graph_of[i]],
                                     .at_nodes = at_nodes_.row(i),
                                     .at_kernel = at_kernel_.row(i)},
                           .target = targets[i] + margin,
                           .margin = margin,
                           .kernel = example.kernel,
                           .family = example.family,
                           .weight = static_cast<float>(example.weight)});
    }
  }
  NetworkFitter(const NetworkFitter&) = delete;  // examples point into it
  NetworkFitter& operator=(const NetworkFitter&) = delete;

  [[nodiscard]] FitResult fit(const LearnerSpec& spec, const FitHooks& hooks) const override {
    const bool validates = examples_.size() > train_rows_;
    double best = std::numeric_limits<double>::infinity();
    TrainingSpec training = spec.training;
    training.seed = spec.seed;
    TrainingHooks training_hooks{.checkpoint = hooks.checkpoint};
    training_hooks.epoch = [&](const EpochReport& epoch) {
      if (validates) best = std::min(best, epoch.best);
      const int done = training.steps > 0 ? epoch.steps : epoch.epoch;
      if (hooks.step) hooks.step({done, epoch.loss, epoch.validation});
      return true;
    };
    const std::span<const GraphExample> all(examples_);
    NetworkPredictorParts parts{.features = features_,
                                .spec = spec.network,
                                .node_scaler = node_scaler_,
                                .at_nodes_scaler = at_nodes_.scaler,
                                .at_kernel_scaler = at_kernel_.scaler,
                                .network = nullptr,
                                .target = target_,
                                .ranks_only = spec.ranks_only()};
    parts.network = graph_module().train(spec.network, widths(), training, all.first(train_rows_),
                                         all.subspan(train_rows_), training_hooks);
    return {make_predictor(std::move(parts)), best};
  }

 private:
  [[nodiscard]] Scaled scaled(const FeatureSelection& selection, const Examples& examples,
                              std::span<const std::size_t> rows, int threads) const {
    const TableFeatures features(selection);
    Scaled result{.width = features.width(), .rows = {}, .scaler = {}};
    if (result.width == 0) return result;
    result.rows = feature_rows(features, examples, rows, threads);
    const auto fitted = std::span(result.rows).first(train_rows_ * result.width);
    result.scaler = FeatureScaler(fitted, result.width, features_.logarithmic);
    result.scaler.apply(result.rows);
    return result;
  }

  // One graph per kernel object (and per tile, if relevant), with the scales of the training rows.
  // Returns the graph of each row.
  std::vector<std::size_t> make_graphs(const Examples& examples,
                                       const std::vector<std::size_t>& rows) {
    const std::size_t width = node_schema(features_).columns.size();
    Extremes extremes(width);
    std::map<GraphKey, std::size_t> numbers;
    std::vector<std::size_t> graph_of;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const analytical::KernelQuery query = examples.shown(rows[i]);
      const auto [known, is_new] = numbers.emplace(graph_key(query, features_), graphs_.size());
      graph_of.push_back(known->second);
      if (!is_new) continue;
      graphs_.push_back(make_graph(query, *examples.rows[rows[i]].device, features_));
      if (graphs_.back().nodes() == 0) throw Error(query.kernel.name() + ": a kernel without ops");
      if (i < train_rows_) extremes.add(graphs_.back().features);
    }
    node_scaler_ = FeatureScaler(extremes.rows(), width, features_.logarithmic);
    for (KernelGraph& graph : graphs_) node_scaler_.apply(graph.features);
    return graph_of;
  }

  [[nodiscard]] NetworkWidths widths() const {
    return {.opcodes = opcode_count(features_),
            .node = node_scaler_.width(),
            .at_nodes = at_nodes_.width,
            .at_kernel = at_kernel_.width};
  }

  NetworkFeatures features_;
  Standardisation target_;
  std::size_t train_rows_;
  Scaled at_nodes_, at_kernel_;
  std::vector<KernelGraph> graphs_;
  FeatureScaler node_scaler_;
  std::vector<GraphExample> examples_;  // training rows, validation rows
};

}  // namespace

std::unique_ptr<Fitter> make_fitter(const LearnerSpec& spec, const Examples& examples,
                                    const TrainValidation& split, int threads) {
  if (spec.kind == LearnerKind::kXgboost) {
    return std::make_unique<TreeFitter>(spec, examples, split, threads);
  }
  return std::make_unique<NetworkFitter>(spec, examples, split, threads);
}

}  // namespace tilecast::learned
