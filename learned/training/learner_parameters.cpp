#include "learned/training/learner_parameters.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tilecast::learned {
namespace {

constexpr std::string_view kSeed = "seed";

template <class Spec>
void append_names(const ParameterTable<Spec>& table, std::vector<std::string_view>& names) {
  for (const Parameter<Spec>& parameter : table.parameters()) {
    if (parameter.name != kSeed) names.push_back(parameter.name);
  }
}

template <class Spec>
const ParameterRange* range_in(const ParameterTable<Spec>& table, std::string_view name) {
  const Parameter<Spec>* found = name == kSeed ? nullptr : table.find(name);
  return found == nullptr ? nullptr : &found->range;
}

template <class Spec>
bool set_in(const ParameterTable<Spec>& table, Spec& spec, std::string_view name,
            std::string_view text) {
  if (range_in(table, name) == nullptr) return false;
  table.set(spec, name, text);
  return true;
}

template <class Spec>
std::string get_in(const ParameterTable<Spec>& table, const Spec& spec, std::string_view name) {
  return range_in(table, name) == nullptr ? std::string() : table.find(name)->get(spec);
}

}  // namespace

std::vector<std::string_view> parameter_names(LearnerKind kind) {
  std::vector<std::string_view> names;
  if (kind == LearnerKind::kXgboost) append_names(gbt_parameters(), names);
  if (kind == LearnerKind::kGaussianProcess) append_names(gp_parameters(), names);
  if (kind == LearnerKind::kNetwork) {
    append_names(network_parameters(), names);
    append_names(training_parameters(), names);
  }
  return names;
}

const ParameterRange* find_range(LearnerKind kind, std::string_view name) {
  if (kind == LearnerKind::kXgboost) return range_in(gbt_parameters(), name);
  if (kind == LearnerKind::kGaussianProcess) return range_in(gp_parameters(), name);
  const ParameterRange* found = range_in(network_parameters(), name);
  return found != nullptr ? found : range_in(training_parameters(), name);
}

void set_parameter(LearnerSpec& spec, std::string_view name, std::string_view text) {
  bool known = false;
  switch (spec.kind) {
    case LearnerKind::kXgboost:
      known = set_in(gbt_parameters(), spec.gbt, name, text);
      break;
    case LearnerKind::kNetwork:
      known = set_in(network_parameters(), spec.network, name, text) ||
              set_in(training_parameters(), spec.training, name, text);
      break;
    case LearnerKind::kGaussianProcess:
      known = set_in(gp_parameters(), spec.gp, name, text);
      break;
  }
  if (!known) unknown_parameter(name, parameter_names(spec.kind));
}

std::string get_parameter(const LearnerSpec& spec, std::string_view name) {
  if (find_range(spec.kind, name) == nullptr) unknown_parameter(name, parameter_names(spec.kind));
  if (spec.kind == LearnerKind::kXgboost) return get_in(gbt_parameters(), spec.gbt, name);
  if (spec.kind == LearnerKind::kGaussianProcess) return get_in(gp_parameters(), spec.gp, name);
  return range_in(network_parameters(), name) != nullptr
             ? get_in(network_parameters(), spec.network, name)
             : get_in(training_parameters(), spec.training, name);
}

void check_parameters(const LearnerSpec& spec) {
  if (spec.kind != LearnerKind::kNetwork) return;
  const NetworkSpec& network = spec.network;
  const bool has_heads =
      network.graph == GraphLayer::kGat || network.reduction == Reduction::kTransformer;
  if (has_heads && network.hidden % network.heads != 0) {
    throw Error(fmt::format("heads: got {} with hidden {}, expected a divisor of it", network.heads,
                            network.hidden));
  }
  const bool pools = network.pool_mean || network.pool_max || network.pool_sum;
  if (network.reduction == Reduction::kColumnWise && !pools) {
    throw Error("reduction: column_wise without a pool, expected pool_mean, pool_max or pool_sum");
  }
}

int resource_of(const LearnerSpec& spec) {
  if (spec.kind == LearnerKind::kGaussianProcess) return 1;
  return spec.kind == LearnerKind::kXgboost ? spec.gbt.trees : spec.training.epochs;
}

void set_resource(LearnerSpec& spec, int resource) {
  if (spec.kind == LearnerKind::kGaussianProcess) return;
  (spec.kind == LearnerKind::kXgboost ? spec.gbt.trees : spec.training.epochs) = resource;
}

}  // namespace tilecast::learned
