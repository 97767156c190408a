#include "learned/training/graph_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>
#include <numeric>
#include <random>

#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/config_values.h"

namespace tilecast::learned {
namespace {

namespace fs = std::filesystem;
using hwdesc::ConfigNode;

constexpr std::string_view kGraphTrainingFormat = "tilecast.graph_training/1";
constexpr std::string_view kSplitBy[] = {"run", "graph"};
constexpr std::uint64_t kMostRuns = 1'000'000'000;
enum class Side { kTrain, kValidation, kTest };

double share_at(const ConfigNode& node, std::string_view key, double fallback) {
  const ConfigNode* const child = node.find(key);
  if (child == nullptr) return fallback;
  const std::optional<double> share = hwdesc::fraction(hwdesc::text_of(*child));
  if (!share || !(*share >= 0 && *share < 1)) {
    hwdesc::fail_at(*child, "expected a share from 0 % to less than 100 %");
  }
  return *share;
}

LearnerSpec read_network(const ConfigNode& node) {
  const LearnerSpec spec = read_learner(node);
  if (spec.kind != LearnerKind::kNetwork) hwdesc::fail_at(node, "expected model: network");
  for (const std::string_view key :
       {"at_nodes", "at_kernel", "encoding", "target", "search", "validation", "validate_by"}) {
    if (const ConfigNode* child = node.find(key)) {
      hwdesc::fail_at(*child, "is of kernels; a graph has its own features");
    }
  }
  return spec;
}

// The side of each unit (runs of one graph, or graphs).
std::vector<Side> deal(const GraphTraining& training, std::size_t units, std::mt19937_64& random) {
  std::vector<std::size_t> order(units);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = units; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  const auto count = [&](double share) {
    return static_cast<std::size_t>(std::round(share * static_cast<double>(units)));
  };
  std::vector<Side> sides(units, Side::kTrain);
  const std::size_t test = count(training.test);
  const std::size_t held_out = std::min(units, test + count(training.validation));
  for (std::size_t i = 0; i < held_out; ++i) {
    sides[order[i]] = i < test ? Side::kTest : Side::kValidation;
  }
  return sides;
}

// The runs of one side, graph by graph.
std::vector<GraphRuns> take(const std::vector<GraphRuns>& graphs,
                            const std::vector<std::vector<Side>>& sides, Side side) {
  std::vector<GraphRuns> taken;
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    const GraphRuns& all = graphs[g];
    GraphRuns runs{.name = all.name, .graph = all.graph, .configured_nodes = all.configured_nodes};
    const std::size_t size = all.config_size();
    for (std::size_t i = 0; i < all.times.size(); ++i) {
      if (sides[g][i] != side) continue;
      const auto config = std::span(all.configs).subspan(i * size, size);
      runs.configs.insert(runs.configs.end(), config.begin(), config.end());
      runs.times.push_back(all.times[i]);
    }
    if (!runs.times.empty()) taken.push_back(std::move(runs));
  }
  return taken;
}

std::size_t run_count(const std::vector<GraphRuns>& graphs) {
  std::size_t runs = 0;
  for (const GraphRuns& graph : graphs) runs += graph.times.size();
  return runs;
}

// Scales and standardisation of the training rows.
void fit_scales(const std::vector<GraphRuns>& train, bool logarithmic, GraphModel& model) {
  std::vector<float> nodes, configs;
  double sum = 0, squares = 0, count = 0;
  for (const GraphRuns& runs : train) {
    nodes.insert(nodes.end(), runs.graph.features.begin(), runs.graph.features.end());
    configs.insert(configs.end(), runs.configs.begin(), runs.configs.end());
    for (const double time : runs.times) {
      sum += std::log(time);
      squares += std::log(time) * std::log(time);
      ++count;
    }
  }
  model.node_scaler = FeatureScaler(nodes, model.node_width, logarithmic);
  model.config_scaler = FeatureScaler(configs, model.config_width, logarithmic);
  const double mean = sum / count, variance = squares / count - mean * mean;
  model.target = {.mean = mean, .deviation = variance > 0 ? std::sqrt(variance) : 1};
}

std::vector<GraphExample> examples_of(const GraphModel& model, const std::vector<GraphRuns>& graphs,
                                      std::deque<ScaledRuns>& scaled) {
  std::vector<GraphExample> examples;
  for (const GraphRuns& runs : graphs) {
    const ScaledRuns& inputs = scaled.emplace_back(model, runs);
    const auto number = static_cast<std::uint32_t>(scaled.size());
    for (std::size_t i = 0; i < runs.times.size(); ++i) {
      const double target = (std::log(runs.times[i]) - model.target.mean) / model.target.deviation;
      examples.push_back({.input = inputs.input(i),
                          .target = static_cast<float>(target),
                          .kernel = number,
                          .family = number});
    }
  }
  return examples;
}

void train_network(const GraphTraining& training, const std::vector<GraphRuns>& train,
                   const std::vector<GraphRuns>& validation, const LearnerHooks& hooks,
                   GraphModel& model) {
  TrainingSpec spec = training.learner.training;
  spec.seed = training.learner.seed;
  std::deque<ScaledRuns> scaled;
  const std::vector<GraphExample> learned = examples_of(model, train, scaled);
  const std::vector<GraphExample> watched = examples_of(model, validation, scaled);
  const int length = length_of(spec);
  const auto report = [&](const EpochReport& epoch) {
    const int done = spec.steps > 0 ? epoch.steps : epoch.epoch;
    if (hooks.step) {
      hooks.step({.what = fmt::format("epoch {}", epoch.epoch),
                  .done = double{1} * done / length,
                  .loss = epoch.loss,
                  .validation = epoch.validation});
    }
    return true;
  };
  graph_module().set_threads(std::max(hooks.threads, 1));
  model.network = graph_module().train(model.spec, model.widths(), spec, learned, watched,
                                       {.epoch = report, .checkpoint = hooks.checkpoint});
  if (model.ranks_only) model.target = {};
}

// All sets as one. Throws Error if they differ in kind.
GraphSet read_sets(const GraphTraining& training, GraphModel& model) {
  GraphSet all;
  for (const std::string& path : training.sets) {
    GraphSet set = read_graph_set(path, {.runs = training.runs, .seed = training.seed});
    model.trained_on.emplace_back(set.name, set.hash);
    const bool alike = set.node_width == all.node_width && set.config_width == all.config_width &&
                       set.configures_nodes == all.configures_nodes;
    if (all.graphs.empty()) {
      all = std::move(set);
      continue;
    }
    if (!alike) throw Error(path + ": of another collection than the sets before it");
    std::ranges::move(set.graphs, std::back_inserter(all.graphs));
  }
  model.node_width = all.node_width;
  model.config_width = all.config_width;
  model.configures_nodes = all.configures_nodes;
  return all;
}

}  // namespace

bool is_graph_training(const std::string& file) {
  const auto text = base::SourceText::read_file(file, hwdesc::kMaxConfigBytes);
  return text.text().find(kGraphTrainingFormat) != std::string_view::npos;
}

GraphTraining read_graph_training(const std::string& file) {
  const auto text = base::SourceText::read_file(file, hwdesc::kMaxConfigBytes);
  const ConfigNode root = hwdesc::read_config(std::string(text.text()), file);
  hwdesc::allow_only(root, {"format", "name", "sets", "runs", "split", "config", "learner"});
  constexpr std::string_view kFormats[] = {kGraphTrainingFormat};
  static_cast<void>(hwdesc::choice(hwdesc::required(root, "format"), kFormats));
  GraphTraining training{.name = hwdesc::text(root, "name")};
  for (const std::string& set : hwdesc::texts(hwdesc::required(root, "sets"))) {
    training.sets.push_back((fs::path(file).parent_path() / set).string());
  }
  hwdesc::read_number(root, "runs", 1, kMostRuns, training.runs);
  if (const ConfigNode* split = root.find("split")) {
    hwdesc::allow_only(*split, {"by", "validation", "test", "seed"});
    training.by_graph = hwdesc::choice(hwdesc::required(*split, "by"), kSplitBy) == 1;
    training.validation = share_at(*split, "validation", training.validation);
    training.test = share_at(*split, "test", training.test);
    hwdesc::read_number(*split, "seed", 0, UINT32_MAX, training.seed);
  }
  if (const ConfigNode* config = root.find("config")) {
    training.place = static_cast<ConfigPlace>(hwdesc::choice(*config, kConfigPlaces));
  }
  training.learner = read_network(hwdesc::required(root, "learner"));
  return training;
}

TrainedGraphs train_graphs(const GraphTraining& training, const LearnerHooks& hooks) {
  TrainedGraphs result;
  GraphModel& model = result.model;
  model.name = training.learner.name;
  model.spec = training.learner.network;
  model.place = training.place;
  model.ranks_only = training.learner.ranks_only();
  result.test = read_sets(training, model);
  const std::vector<GraphRuns> graphs = std::move(result.test.graphs);
  result.graphs = graphs.size();
  std::mt19937_64 random(training.seed);
  const std::vector<Side> by_graph = deal(training, graphs.size(), random);
  std::vector<std::vector<Side>> sides;
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    const std::size_t runs = graphs[g].times.size();
    sides.push_back(training.by_graph ? std::vector<Side>(runs, by_graph[g])
                                      : deal(training, runs, random));
  }
  const std::vector<GraphRuns> train = take(graphs, sides, Side::kTrain);
  const std::vector<GraphRuns> validation = take(graphs, sides, Side::kValidation);
  if (train.empty()) {
    throw Error(fmt::format("{}: no run is left to train on; the sets have {} runs of {} graphs",
                            training.name, run_count(graphs), graphs.size()));
  }
  fit_scales(train, training.learner.network_features.logarithmic, model);
  train_network(training, train, validation, hooks, model);
  result.test.graphs = take(graphs, sides, Side::kTest);
  result.train_runs = run_count(train);
  result.validation_runs = run_count(validation);
  result.test_runs = run_count(result.test.graphs);
  return result;
}

}  // namespace tilecast::learned
