#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "base/error.h"
#include "learned/training/fit.h"
#include "learned/training/pretraining.h"
#include "learned/training/text_variants.h"

namespace tilecast::learned {
namespace {

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
                int threads, std::span<const std::size_t> labelled)
      : features_(spec.network_features),
        target_(target_of(spec, examples, split, labelled)),
        labelled_rows_(labelled.size()),
        variants_(spec.reads_text() ? static_cast<std::size_t>(spec.text.variants) : 0),
        train_rows_(split.train.size() * (1 + variants_)) {
    std::vector<std::size_t> rows = by_kernel(examples, labelled);
    const std::vector<std::size_t> train = by_kernel(examples, split.train);
    rows = joined(rows, train);
    features_.vocabulary = vocabulary_of(spec, examples, rows);
    for (std::size_t i = 0; i < variants_; ++i) rows = joined(rows, train);
    rows = joined(rows, by_kernel(examples, split.validation));
    at_nodes_ = scaled(features_.at_nodes, examples, rows, threads);
    at_kernel_ = scaled(features_.at_kernel, examples, rows, threads);
    const std::vector<std::size_t> graph_of = make_graphs(examples, rows, spec.seed);
    const std::vector<float> targets = standard_targets(examples, rows, target_);
    const bool on_physics = spec.target.residual && spec.ranks();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Example& example = examples.rows[rows[i]];
      const bool starts = on_physics && i >= labelled_rows_;
      const double physics = starts ? std::log(examples.priors[rows[i]]->time.value) : 0;
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
    if (labelled.empty() || goes_on(spec)) return;
    const std::span<const std::size_t> rows_of_labels(rows);
    tasks_ = task_table(spec.pretrain, examples, rows_of_labels.first(labelled.size()));
    for (std::size_t i = 0; i < labelled.size(); ++i) examples_[i].tasks = tasks_.row(i);
  }
  NetworkFitter(const NetworkFitter&) = delete;  // examples point into it
  NetworkFitter& operator=(const NetworkFitter&) = delete;

  [[nodiscard]] FitResult fit(const LearnerSpec& spec, const FitHooks& hooks) const override {
    const bool validates = examples_.size() > fitted_rows();
    double best = std::numeric_limits<double>::infinity();
    TrainingSpec training = spec.training;
    training.seed = spec.seed;
    TrainingHooks training_hooks{.checkpoint = hooks.checkpoint,
                                 .start = weights_of_labels(spec),
                                 .start_outputs = task_outputs(),
                                 .new_head = !goes_on(spec),
                                 .frozen = spec.pretrain.freeze};
    TrainingSpec of_labels = training_of_labels(spec);
    const int before = training_hooks.start.empty() ? 0 : length_of(of_labels);
    if (training_hooks.start.empty()) training_hooks.frozen = false;
    if (spec.pretrain.steps == 0) length_of(training) -= before;
    training_hooks.epoch = [&](const EpochReport& epoch) {
      if (validates) best = std::min(best, epoch.best);
      const int done = training.steps > 0 ? epoch.steps : epoch.epoch;
      if (hooks.step) hooks.step({before + done, epoch.loss, epoch.validation});
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
    parts.network = graph_module().train(spec.network, widths(), training,
                                         all.subspan(labelled_rows_, train_rows_),
                                         all.subspan(fitted_rows()), training_hooks);
    return {make_predictor(std::move(parts)), best};
  }

 private:
  // The rows from which scales are computed: labels and measured training rows.
  [[nodiscard]] std::size_t fitted_rows() const { return labelled_rows_ + train_rows_; }

  // Whether training continues from the labels' weights: only if both learn times alone.
  [[nodiscard]] static bool goes_on(const LearnerSpec& spec) {
    return !spec.target.residual && spec.pretrain.time_alone();
  }
  // Half as long as the learner's training if the spec gives no length; a length of 0: none.
  [[nodiscard]] static TrainingSpec training_of_labels(const LearnerSpec& spec) {
    TrainingSpec training = spec.training;
    training.seed = spec.seed;
    if (!goes_on(spec)) training.loss = NetworkLoss::kLogTime;
    if (spec.pretrain.steps > 0) {
      training.steps = 0;
      training.epochs = spec.pretrain.steps;
    } else if (length_of(training) == 1) {
      training.epochs = training.steps = 0;
    } else {
      length_of(training) /= 2;
    }
    return training;
  }
  [[nodiscard]] std::size_t task_outputs() const { return std::max<std::size_t>(tasks_.width, 1); }

  // Labels and measured times share a scale; ranks have none.
  static Standardisation target_of(const LearnerSpec& spec, const Examples& examples,
                                   const TrainValidation& split,
                                   std::span<const std::size_t> labelled) {
    if (spec.ranks_only()) return {};
    if (!goes_on(spec)) return standardisation_of(examples, split.train);
    return standardisation_of(examples, joined(labelled, split.train));
  }

  // The weights after training on the labels; empty without labels.
  [[nodiscard]] std::string weights_of_labels(const LearnerSpec& spec) const {
    TrainingSpec training = training_of_labels(spec);
    if (labelled_rows_ == 0 || length_of(training) == 0) return {};
    NetworkWidths of_tasks = widths();
    of_tasks.outputs = task_outputs();
    const auto labelled = std::span<const GraphExample>(examples_).first(labelled_rows_);
    return graph_module().train(spec.network, of_tasks, training, labelled, {}, {})->save();
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

  // The variant of a row's text; 0: the original text.
  [[nodiscard]] std::size_t variant_of(std::size_t row) const {
    if (row < labelled_rows_ || row >= fitted_rows()) return 0;
    return (row - labelled_rows_) / (train_rows_ / (1 + variants_));
  }

  [[nodiscard]] KernelGraph graph_of_row(const Examples& examples, std::size_t row,
                                         std::size_t variant, std::uint64_t seed) const {
    const analytical::KernelQuery query = examples.shown(row);
    const hwdesc::Device& device = *examples.rows[row].device;
    if (variant == 0) return make_graph(query, device, features_);
    std::seed_seq numbers{seed, std::uint64_t{row}, std::uint64_t{variant}};
    std::mt19937_64 random(numbers);
    return make_text_graph(encode_variant(features_.vocabulary, query, device, random),
                           features_.vocabulary.spec());
  }

  // One graph per kernel object (and per tile and variant, if relevant), with the scales of the
  // training rows. Returns the graph of each row.
  std::vector<std::size_t> make_graphs(const Examples& examples,
                                       const std::vector<std::size_t>& rows, std::uint64_t seed) {
    const std::size_t width = node_schema(features_).columns.size();
    Extremes extremes(width);
    std::map<std::pair<GraphKey, std::size_t>, std::size_t> numbers;
    std::vector<std::size_t> graph_of;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const analytical::KernelQuery query = examples.shown(rows[i]);
      const std::pair key(graph_key(query, features_), variant_of(i));
      const auto [known, is_new] = numbers.emplace(key, graphs_.size());
      graph_of.push_back(known->second);
      if (!is_new) continue;
      graphs_.push_back(graph_of_row(examples, rows[i], key.second, seed));
      if (graphs_.back().nodes() == 0) throw Error(query.kernel.name() + ": a kernel without ops");
      if (i < fitted_rows()) extremes.add(graphs_.back().features);
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
  std::size_t labelled_rows_, variants_, train_rows_;
  Scaled at_nodes_, at_kernel_;
  std::vector<KernelGraph> graphs_;
  FeatureScaler node_scaler_;
  TaskTable tasks_;                     // for labelled rows; without columns: their target
  std::vector<GraphExample> examples_;  // labelled rows, training rows, validation rows
};

}  // namespace

std::unique_ptr<Fitter> make_network_fitter(const LearnerSpec& spec, const Examples& examples,
                                            const TrainValidation& split, int threads,
                                            std::span<const std::size_t> labelled) {
  return std::make_unique<NetworkFitter>(spec, examples, split, threads, labelled);
}

}  // namespace tilecast::learned
