#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "hwdesc/config_values.h"
#include "hwdesc/units.h"
#include "hwdesc/yaml_text.h"
#include "learned/model_card_yaml.h"
#include "learned/training/learner_parameters.h"

namespace tilecast::learned {
namespace {

using hwdesc::ConfigNode;

constexpr double kMostSeed = 4294967295.0;
constexpr double kMostTrials = 1000, kMostRounds = 10;
constexpr std::size_t kLongestName = 100;

// Runs `body` and adds the place of `node` to its errors.
template <class Body>
auto at(const ConfigNode& node, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    fail_at(node, error.what());
  }
}

double number(const ConfigNode& node, double low, double high) {
  const std::string& text = text_of(node);
  return at(node, [&] {
    return parse_parameter(
        text, {.kind = ParameterRange::Kind::kInteger, .low = low, .high = high, .choices = {}});
  });
}

std::string name_of(const ConfigNode& node) {
  const std::string& name = text_of(node);
  const auto is_word = [](unsigned char c) {
    return (std::isalnum(c) != 0 && c < 0x80) || c == '_' || c == '-' || c == '.';
  };
  if (name.size() > kLongestName || !std::ranges::all_of(name, is_word) || name.front() == '.') {
    fail_at(node, fmt::format("got {}, expected letters, digits, '_', '-' and '.'",
                              hwdesc::show_text(name)));
  }
  return name;
}

// The selections of `root` under `keys`, with the names of its `parameters`.
void read_selections(const ConfigNode& root,
                     std::initializer_list<std::pair<std::string_view, FeatureSelection*>> keys) {
  std::vector<std::string> parameters;
  if (const ConfigNode* node = root.find("parameters")) {
    for (const ConfigNode& entry : list(*node)) parameters.push_back(text_of(entry));
  }
  bool used = false;
  for (const auto& [key, selection] : keys) {
    const ConfigNode* node = root.find(key);
    if (node == nullptr) continue;
    static_cast<void>(list(*node));
    selection->groups = feature_groups(*node);
    if (has_group(*selection, FeatureGroup::kParameters)) {
      selection->parameters = parameters;
      used = true;
    }
    at(*node, [&] { static_cast<void>(TableFeatures(*selection)); });
  }
  if (!used && !parameters.empty()) {
    fail_at(*root.find("parameters"), "no list of features has the group parameters");
  }
}

SearchRange read_range(const ConfigNode& node, LearnerSpec scratch) {
  const ParameterRange& range = range_of(scratch.kind, node.key);
  const bool is_resource = node.key == "trees" || node.key == "epochs" || node.key == "steps";
  constexpr std::string_view kOfLoss[] = {"loss", "objective", "rank_weight", "quantile"};
  const bool is_loss = std::ranges::find(kOfLoss, node.key) != std::end(kOfLoss);
  if (is_resource) fail_at(node, "cannot be searched: it is what the rounds of a search share out");
  if (is_loss) fail_at(node, "cannot be searched: trials of different losses do not compare");
  SearchRange result{.parameter = node.key};
  for (const ConfigNode& entry : list(node)) {
    const std::string& text = text_of(entry);
    at(entry, [&] { set_parameter(scratch, node.key, text); });
    result.values.push_back(get_parameter(scratch, node.key));
  }
  const bool is_number =
      range.kind == ParameterRange::Kind::kInteger || range.kind == ParameterRange::Kind::kReal;
  result.range = is_number && result.values.size() == 2;
  if (result.range &&
      !(parse_parameter(result.values[0], range) < parse_parameter(result.values[1], range))) {
    fail_at(node, fmt::format("got {} to {}, expected a range that grows", result.values[0],
                              result.values[1]));
  }
  return result;
}

SearchSpec read_search(const ConfigNode& node, const LearnerSpec& spec) {
  std::vector<std::string_view> keys{"trials", "rounds"};
  const std::vector<std::string_view> names = parameter_names(spec.kind);
  keys.insert(keys.end(), names.begin(), names.end());
  allow_only(node, keys);
  SearchSpec search;
  const ConfigNode* trials = node.find("trials");
  if (trials == nullptr) fail_at(node, "trials is missing");
  search.trials = static_cast<int>(number(*trials, 1, kMostTrials));
  if (const ConfigNode* rounds = node.find("rounds")) {
    search.rounds = static_cast<int>(number(*rounds, 1, kMostRounds));
  }
  for (const ConfigNode& child : node.children) {
    if (child.key == "trials" || child.key == "rounds") continue;
    search.ranges.push_back(read_range(child, spec));
  }
  if (search.ranges.empty()) fail_at(node, "no parameter to search; expected depth: [4, 10], ...");
  if (spec.validation == 0) fail_at(node, "needs rows to choose by, but validation is 0");
  return search;
}

std::vector<std::string_view> own_keys(LearnerKind kind) {
  std::vector<std::string_view> keys{"name",         "model",       "target",
                                     "target_scale", "parameters",  "seed",
                                     "validation",   "validate_by", "search"};
  if (kind == LearnerKind::kXgboost) {
    keys.emplace_back("features");
  } else {
    keys.insert(keys.end(), {"at_nodes", "at_kernel", "encoding", "scale"});
  }
  return keys;
}

void read_parameters(const ConfigNode& node, LearnerSpec& spec) {
  std::vector<std::string_view> own = own_keys(spec.kind), all = own;
  const std::vector<std::string_view> names = parameter_names(spec.kind);
  all.insert(all.end(), names.begin(), names.end());
  allow_only(node, all);
  for (const ConfigNode& child : node.children) {
    if (std::ranges::find(own, child.key) != own.end()) continue;
    const std::string& text = text_of(child);
    at(child, [&] { set_parameter(spec, child.key, text); });
  }
}

bool is_of_text(std::string_view key) {
  return text_parameters().find(key) != nullptr;
}

// Settings of text are an error if no text is read; the kernel's row has no vocabulary.
void check_text(const ConfigNode& node, const LearnerSpec& spec) {
  for (const ConfigNode& child : node.children) {
    if (spec.reads_text() || !is_of_text(child.key)) continue;
    fail_at(child, spec.kind == LearnerKind::kNetwork
                       ? "is of text; expected it with 'encoding: text'"
                       : "is of text; expected it with the group of features 'tokens'");
  }
  const NetworkFeatures& features = spec.network_features;
  for (const FeatureSelection* selection : {&features.at_nodes, &features.at_kernel}) {
    if (!has_group(*selection, FeatureGroup::kTokens)) continue;
    fail_at(node, "the group tokens is for trees; a network reads them with 'encoding: text'");
  }
}

void read_features(const ConfigNode& node, LearnerSpec& spec) {
  if (spec.kind != LearnerKind::kNetwork) {
    if (node.find("features") == nullptr) fail_at(node, "features is missing");
    return read_selections(node, {{"features", &spec.features}});
  }
  NetworkFeatures& features = spec.network_features;
  read_selections(node, {{"at_nodes", &features.at_nodes}, {"at_kernel", &features.at_kernel}});
  if (const ConfigNode* encoding = node.find("encoding")) {
    features.encoding = static_cast<GraphEncoding>(choice(*encoding, kEncodings));
  }
  if (const ConfigNode* scale = node.find("scale")) {
    features.logarithmic = choice(*scale, kScales) == 1;
  }
}

void read_validation(const ConfigNode& node, LearnerSpec& spec) {
  if (const ConfigNode* share = node.find("validation")) {
    const std::string& text = text_of(*share);
    const auto value =
        at(*share, [&] { return hwdesc::parse_quantity(text, hwdesc::UnitKind::kRatio); });
    if (!(value >= 0 && value < 1)) {
      fail_at(*share, fmt::format("got {}, expected a share of the rows from 0 to less than 1",
                                  hwdesc::show_text(text)));
    }
    spec.validation = value;
  }
  if (const ConfigNode* by = node.find("validate_by")) {
    spec.validate_by = static_cast<ValidateBy>(choice(*by, kValidateBy));
  }
  if (const ConfigNode* seed = node.find("seed")) {
    spec.seed = static_cast<std::uint64_t>(number(*seed, 0, kMostSeed));
  }
}

void read_target(const ConfigNode& node, LearnerSpec& spec) {
  if (const ConfigNode* target = node.find("target")) {
    spec.target = target_of_setting(text_of(*target));
  }
  if (const ConfigNode* scale = node.find("target_scale")) {
    if (spec.target.is_time()) {
      fail_at(*scale, "times are learned as logarithms; expected it with a quantity as target");
    }
    spec.target.scale = static_cast<TargetScale>(choice(*scale, kTargetScales));
  }
  if (!spec.target.is_time() && spec.ranks()) {
    fail_at(node, fmt::format("a loss that ranks tiles by time cannot learn {}",
                              hwdesc::show_text(spec.target.quantity)));
  }
}

std::string search_text(const SearchSpec& search) {
  std::string text = fmt::format("{{trials: {}, rounds: {}", search.trials, search.rounds);
  for (const SearchRange& range : search.ranges) {
    text += fmt::format(", {}: [{}]", range.parameter, fmt::join(range.values, ", "));
  }
  return text + "}";
}

}  // namespace

bool LearnerSpec::ranks() const {
  return kind == LearnerKind::kXgboost ? learned::ranks(gbt.objective)
                                       : learned::ranks(training.loss);
}

bool LearnerSpec::ranks_only() const {
  return kind == LearnerKind::kXgboost ? learned::ranks_only(gbt) : learned::ranks_only(training);
}

bool LearnerSpec::needs_prior() const {
  if (target.residual) return true;
  const auto has = [](const FeatureSelection& selection) {
    return TableFeatures(selection).needs_prior();
  };
  return kind != LearnerKind::kNetwork
             ? has(features)
             : has(network_features.at_nodes) || has(network_features.at_kernel);
}

bool LearnerSpec::reads_text() const {
  return kind == LearnerKind::kNetwork ? network_features.encoding == GraphEncoding::kText
                                       : has_group(features, FeatureGroup::kTokens);
}

LearnerSpec read_learner(const ConfigNode& node) {
  if (!node.is_mapping()) fail_at(node, "expected {name: ..., model: xgboost | network, ...}");
  LearnerSpec spec;
  const ConfigNode* name = node.find("name");
  if (name == nullptr) fail_at(node, "name is missing");
  spec.name = name_of(*name);
  const ConfigNode* model = node.find("model");
  if (model == nullptr) fail_at(node, "model is missing; expected xgboost or network");
  spec.kind = static_cast<LearnerKind>(choice(*model, kLearnerKinds));
  read_parameters(node, spec);
  read_features(node, spec);
  check_text(node, spec);
  at(node, [&] { check_parameters(spec); });
  read_target(node, spec);
  read_validation(node, spec);
  if (const ConfigNode* search = node.find("search")) spec.search = read_search(*search, spec);
  return spec;
}

std::map<std::string, std::string> settings_of(const LearnerSpec& spec) {
  std::map<std::string, std::string> settings;
  settings["name"] = hwdesc::yaml_text(spec.name, "learner");
  settings["model"] = learned::name(spec.kind);
  settings["target"] = setting_of(spec.target);
  if (!spec.target.is_time()) {
    settings["target_scale"] = kTargetScales[static_cast<std::size_t>(spec.target.scale)];
  }
  settings["validation"] = parameter_text(spec.validation);
  settings["validate_by"] = kValidateBy[static_cast<std::size_t>(spec.validate_by)];
  settings["seed"] = fmt::format("{}", spec.seed);
  const auto select = [&](std::string_view key, const FeatureSelection& selection) {
    if (selection.groups.empty()) return;
    settings[std::string(key)] = list_text(selection.groups);
    if (!selection.parameters.empty()) settings["parameters"] = list_text(selection.parameters);
  };
  if (spec.kind != LearnerKind::kNetwork) {
    select("features", spec.features);
  } else {
    const NetworkFeatures& features = spec.network_features;
    select("at_nodes", features.at_nodes);
    select("at_kernel", features.at_kernel);
    settings["encoding"] = kEncodings[static_cast<std::size_t>(features.encoding)];
    settings["scale"] = kScales[features.logarithmic ? 1 : 0];
  }
  for (const std::string_view parameter : parameter_names(spec.kind)) {
    if (is_of_text(parameter) && !spec.reads_text()) continue;
    settings[std::string(parameter)] = get_parameter(spec, parameter);
  }
  if (spec.search.trials > 0) settings["search"] = search_text(spec.search);
  return settings;
}

}  // namespace tilecast::learned
