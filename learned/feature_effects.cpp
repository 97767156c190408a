#include "learned/feature_effects.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/error.h"

namespace tilecast::learned {
namespace {

using analytical::KernelQuery;

// A kernel's features as its model takes them, and the model on rows of them.
struct RowModel {
  std::vector<std::string> names;
  std::vector<float> values;  // unscaled, to show
  std::vector<float> row;
  float neutral = std::numeric_limits<float>::quiet_NaN();  // in place of a feature
  std::function<void(std::span<const float> rows, std::span<double> out)> predict;
};

void add_features(const FeatureSelection& selection, const KernelQuery& query,
                  const hwdesc::Device& device, Priors priors, RowModel& model) {
  const TableFeatures features(selection);
  std::vector<float> row(features.width());
  features.extract(std::span(&query, 1), device, priors, row);
  model.values.insert(model.values.end(), row.begin(), row.end());
  for (const FeatureColumn& column : features.schema().columns) model.names.push_back(column.name);
}

RowModel tree_rows(const GbtPredictorParts& parts, RowModel model) {
  model.row = model.values;
  model.predict = [&parts](std::span<const float> rows, std::span<double> out) {
    std::vector<float> margins(out.size());
    parts.model.predict(rows, margins);
    std::ranges::transform(margins, out.begin(),
                           [&](float m) { return m * parts.target.deviation; });
  };
  return model;
}

RowModel process_rows(const GpPredictorParts& parts, RowModel model) {
  model.row = model.values;
  model.predict = [&parts](std::span<const float> rows, std::span<double> out) {
    std::vector<float> scaled(rows.begin(), rows.end());
    parts.scaler.apply(scaled);
    parts.process.predict(scaled, out);
    for (double& value : out) value *= parts.target.deviation;
  };
  return model;
}

// Rows are those at the nodes, then those at the kernel, scaled.
RowModel network_rows(const NetworkPredictorParts& parts, const KernelQuery& query,
                      const hwdesc::Device& device, RowModel model) {
  constexpr float kMiddle = 0.5F;  // of the scaled training range
  const std::size_t at_nodes = parts.at_nodes_scaler.width();
  model.neutral = kMiddle;
  model.row = model.values;
  parts.at_nodes_scaler.apply(std::span(model.row).first(at_nodes));
  parts.at_kernel_scaler.apply(std::span(model.row).subspan(at_nodes));
  model.predict = [&parts, &query, &device, at_nodes](std::span<const float> rows,
                                                      std::span<double> out) {
    KernelGraph graph = make_graph(query, device, parts.features);
    parts.node_scaler.apply(graph.features);
    const std::size_t width = rows.size() / out.size();
    std::vector<GraphInput> inputs;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::span<const float> row = rows.subspan(i * width, width);
      inputs.push_back(
          {.graph = &graph, .at_nodes = row.first(at_nodes), .at_kernel = row.subspan(at_nodes)});
    }
    std::vector<float> values(inputs.size());
    parts.network->predict(inputs, values);
    std::ranges::transform(values, out.begin(),
                           [&](float v) { return v * parts.target.deviation; });
  };
  return model;
}

RowModel row_model(const Predictor& predictor, const KernelQuery& query,
                   const hwdesc::Device& device, Priors priors) {
  RowModel model;
  if (const GbtPredictorParts* trees = predictor.trees()) {
    add_features(trees->features, query, device, priors, model);
    return tree_rows(*trees, std::move(model));
  }
  if (const GpPredictorParts* process = predictor.process()) {
    add_features(process->features, query, device, priors, model);
    return process_rows(*process, std::move(model));
  }
  const NetworkPredictorParts* network = predictor.network();
  TC_CHECK(network != nullptr, "a predictor of no known kind");
  add_features(network->features.at_nodes, query, device, priors, model);
  add_features(network->features.at_kernel, query, device, priors, model);
  return network_rows(*network, query, device, std::move(model));
}

// Of every feature that has a value, in the order of the columns.
std::vector<FeatureEffect> all_effects(const Predictor& predictor, const KernelQuery& query,
                                       const hwdesc::Device& device, Priors priors) {
  const RowModel model = row_model(predictor, query, device, priors);
  std::vector<FeatureEffect> effects;
  std::vector<float> rows = model.row;  // as it is, then without one feature each
  for (std::size_t i = 0; i < model.names.size(); ++i) {
    const auto first = std::ranges::find(model.names, model.names[i]) - model.names.begin();
    if (std::isnan(model.values[i]) || static_cast<std::size_t>(first) != i) continue;
    effects.push_back({model.names[i], model.values[i]});
    std::vector<float> without = model.row;
    for (std::size_t k = i; k < without.size(); ++k) {
      if (model.names[k] == model.names[i]) without[k] = model.neutral;
    }
    rows.insert(rows.end(), without.begin(), without.end());
  }
  std::vector<double> predicted(1 + effects.size());
  model.predict(rows, predicted);
  for (std::size_t i = 0; i < effects.size(); ++i) {
    effects[i].effect = predicted.front() - predicted[1 + i];
  }
  return effects;
}

// Of the members together: by feature the weighted sum.
std::vector<FeatureEffect> stack_effects(const StackPredictorParts& stack, const KernelQuery& query,
                                         const hwdesc::Device& device, Priors priors) {
  std::vector<FeatureEffect> sums;
  for (const StackMember& member : stack.members) {
    for (const FeatureEffect& each : all_effects(*member.predictor, query, device, priors)) {
      auto known = std::ranges::find(sums, each.feature, &FeatureEffect::feature);
      if (known == sums.end()) known = sums.insert(known, {each.feature, each.value});
      known->effect += member.weight * each.effect;
    }
  }
  return sums;
}

}  // namespace

std::vector<FeatureEffect> feature_effects(const Predictor& predictor, const KernelQuery& query,
                                           const hwdesc::Device& device, Priors priors,
                                           std::size_t most) {
  std::vector<FeatureEffect> effects =
      predictor.stack() != nullptr ? stack_effects(*predictor.stack(), query, device, priors)
                                   : all_effects(predictor, query, device, priors);
  std::erase_if(effects, [](const FeatureEffect& each) { return each.effect == 0; });
  std::ranges::stable_sort(effects, std::greater{},
                           [](const FeatureEffect& each) { return std::abs(each.effect); });
  if (effects.size() > most) effects.resize(most);
  return effects;
}

}  // namespace tilecast::learned
