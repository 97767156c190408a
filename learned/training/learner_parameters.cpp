#include "learned/training/learner_parameters.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tilecast::learned {
namespace {

constexpr std::string_view kSeed = "seed";

// Calls visit(table, settings) for the tables of the learner's kind until one returns true.
template <class Visit>
bool visit_tables(LearnerSpec& spec, Visit&& visit) {
  const bool done = spec.kind == LearnerKind::kXgboost
                        ? visit(gbt_parameters(), spec.gbt)
                        : visit(network_parameters(), spec.network) ||
                              visit(training_parameters(), spec.training);
  return done || visit(text_parameters(), spec.text);
}

// Calls use(parameter, settings) for the parameter `name`. Throws Error if there is none.
template <class Use>
void with_parameter(LearnerSpec& spec, std::string_view name, Use&& use) {
  const bool found = visit_tables(spec, [&](const auto& table, auto& settings) {
    const auto* const parameter = name == kSeed ? nullptr : table.find(name);
    if (parameter != nullptr) use(*parameter, settings);
    return parameter != nullptr;
  });
  if (!found) unknown_parameter(name, parameter_names(spec.kind));
}

}  // namespace

std::vector<std::string_view> parameter_names(LearnerKind kind) {
  std::vector<std::string_view> names;
  LearnerSpec spec{.name = {}, .kind = kind};
  visit_tables(spec, [&](const auto& table, const auto&) {
    for (const auto& parameter : table.parameters()) {
      if (parameter.name != kSeed) names.push_back(parameter.name);
    }
    return false;
  });
  return names;
}

const ParameterRange& range_of(LearnerKind kind, std::string_view name) {
  const ParameterRange* range = nullptr;
  LearnerSpec spec{.name = {}, .kind = kind};
  with_parameter(spec, name, [&](const auto& parameter, const auto&) { range = &parameter.range; });
  return *range;
}

void set_parameter(LearnerSpec& spec, std::string_view name, std::string_view text) {
  with_parameter(spec, name,
                 [&](const auto& parameter, auto& settings) { parameter.set(settings, text); });
}

std::string get_parameter(LearnerSpec spec, std::string_view name) {
  std::string text;
  with_parameter(spec, name, [&](const auto& parameter, const auto& settings) {
    text = parameter.get(settings);
  });
  return text;
}

void check_parameters(const LearnerSpec& spec) {
  if (spec.kind != LearnerKind::kNetwork) return;
  const std::string wrong = contradiction(spec.network);
  if (!wrong.empty()) throw Error(wrong);
  if (spec.network.reduction == Reduction::kNone &&
      spec.network_features.at_kernel.groups.empty()) {
    throw Error("reduction: none reads features at the kernel alone; at_kernel has none");
  }
}

int resource_of(const LearnerSpec& spec) {
  TrainingSpec training = spec.training;
  return spec.kind == LearnerKind::kXgboost ? spec.gbt.trees : length_of(training);
}

void set_resource(LearnerSpec& spec, int resource) {
  (spec.kind == LearnerKind::kXgboost ? spec.gbt.trees : length_of(spec.training)) = resource;
}

}  // namespace tilecast::learned
