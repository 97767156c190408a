#include "learned/model_card_yaml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include "base/error.h"
#include "hwdesc/config_values.h"
#include "hwdesc/yaml_text.h"
#include "measured/measurement_set.h"

namespace tilecast::learned {
namespace {

using hwdesc::ConfigNode;

constexpr std::string_view kFormat = "tilecast.model/1";
constexpr std::string_view kCheck = "check: ";
enum class Kind { kXgboost, kNetwork, kPhysics };
constexpr std::string_view kKinds[] = {"xgboost", "network", "physics"};
constexpr std::uint64_t kMostVersion = 1'000'000;
constexpr std::string_view kNoYes[] = {"no", "yes"};

Kind kind_of(const ModelCard& card) {
  const auto* const found = std::ranges::find(kKinds, card.kind);
  TC_CHECK(found != std::end(kKinds), "a card of no known kind");
  return static_cast<Kind>(found - std::begin(kKinds));
}

// --- writing

std::string scalar_text(std::string_view text) {
  return hwdesc::yaml_text(text, "model.yaml");
}

std::string finite(double value, std::string_view what) {
  if (std::isfinite(value)) return parameter_text(value);
  throw Error(fmt::format("model.yaml: {}: got {}, expected a finite number", what, value));
}

// Appends "key: value" unless the value is empty.
void line(std::string& text, std::string_view key, const std::string& value) {
  if (!value.empty()) text += fmt::format("{}: {}\n", key, value);
}

void optional_line(std::string& text, std::string_view key, const std::string& value) {
  if (!value.empty()) line(text, key, scalar_text(value));
}

void write_selection(std::string& text, std::string_view key, const FeatureSelection& selection) {
  line(text, key, list_text(selection.groups));
  if (!selection.parameters.empty()) line(text, "parameters", list_text(selection.parameters));
}

void write_features(std::string& text, const ModelText& model) {
  const Kind kind = kind_of(model.card);
  if (kind == Kind::kXgboost) return write_selection(text, "features", model.features);
  if (kind == Kind::kPhysics) return;
  const NetworkFeatures& features = model.network_features;
  FeatureSelection at_kernel = features.at_kernel;
  if (!features.at_nodes.parameters.empty()) at_kernel.parameters.clear();  // written only once
  write_selection(text, "at_nodes", features.at_nodes);
  write_selection(text, "at_kernel", at_kernel);
  line(text, "encoding", std::string(name(features.encoding)));
  line(text, "scale", std::string(kScales[features.logarithmic ? 1 : 0]));
  text += "network:\n";
  for (const Parameter<NetworkSpec>& parameter : network_parameters().parameters()) {
    text += fmt::format("  {}: {}\n", parameter.name, scalar_text(parameter.get(model.network)));
  }
}

void write_data(std::string& text, const ModelCard& card) {
  if (!card.data.empty()) text += "data:\n";
  for (const ModelData& data : card.data) {
    text += fmt::format("  - name: {}\n", scalar_text(data.name));
    for (const auto& [key, value] :
         {std::pair<std::string_view, const std::string&>{"hash", data.hash},
          {"device", data.device},
          {"licence", data.licence}}) {
      if (!value.empty()) text += fmt::format("    {}: {}\n", key, scalar_text(value));
    }
    text += fmt::format("    train: {}\n    validation: {}\n    test: {}\n", data.train,
                        data.validation, data.test);
  }
}

void write_metrics(std::string& text, const ModelCard& card) {
  if (!card.metrics.empty()) text += "metrics:\n";
  for (const ModelMetric& metric : card.metrics) {
    text += fmt::format("  - metric: {}\n    n: {}\n    value: {}\n", scalar_text(metric.metric),
                        metric.n, finite(metric.value, metric.metric));
    if (metric.baseline) {
      text += fmt::format("    baseline: {}\n", finite(*metric.baseline, metric.metric));
    }
    if (!metric.of.empty()) text += fmt::format("    of: {}\n", scalar_text(metric.of));
  }
}

void write_target(std::string& text, const ModelCard& card) {
  text += fmt::format("target: {{mean: {}, deviation: {}}}\n", finite(card.target.mean, "mean"),
                      finite(card.target.deviation, "deviation"));
  const Target& predicts = card.predicts;
  text += fmt::format("predicts: {{quantity: {}, unit: {}", predicts.quantity,
                      scalar_text(predicts.unit));
  if (!predicts.is_time()) {
    text += fmt::format(", scale: {}, count: {}",
                        kTargetScales[static_cast<std::size_t>(predicts.scale)],
                        kNoYes[predicts.count ? 1 : 0]);
  }
  text += "}\n";
}

void write_maps(std::string& text, const ModelText& model) {
  text += "settings:\n";
  for (const auto& [key, value] : model.card.settings) {
    text += fmt::format("  {}: {}\n", key, scalar_text(value));
  }
  if (!model.card.versions.empty()) text += "versions:\n";
  for (const auto& [library, version] : model.card.versions) {
    text += fmt::format("  - {{library: {}, version: {}}}\n", scalar_text(library),
                        scalar_text(version));
  }
  text += "schemas:\n";
  for (const auto& [key, schema] : model.schemas) {
    text += fmt::format("  {}: {{name: {}, version: {}, hash: {}}}\n", key,
                        scalar_text(schema.name), schema.version, scalar_text(schema.hash));
  }
  text += "files:\n";
  for (const auto& [file, hash] : model.files)
    text += fmt::format("  {}: {}\n", file, scalar_text(hash));
}

// --- reading

std::string optional_text(const ConfigNode& node, std::string_view key) {
  const ConfigNode* child = node.find(key);
  return child == nullptr ? std::string() : text_of(*child);
}

double real_at(const ConfigNode& node, std::string_view key) {
  const ConfigNode& child = required(node, key);
  const std::string& text = text_of(child);
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure == std::errc() && end == text.data() + text.size() && std::isfinite(value)) {
    return value;
  }
  fail_at(child, fmt::format("got {}, expected a finite number", hwdesc::show_text(text)));
}

std::uint64_t whole_at(const ConfigNode& node, std::string_view key,
                       std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
  return whole_number(required(node, key), 0, most);
}

bool flag_at(const ConfigNode& node, std::string_view key) {
  return choice(required(node, key), kNoYes) == 1;
}

const std::vector<ConfigNode>& list_of(const ConfigNode& node) {
  if (node.kind != ConfigNode::Kind::kSequence) fail_at(node, "expected a list");
  return node.children;
}

std::vector<ConfigNode> optional_list(const ConfigNode& node, std::string_view key) {
  const ConfigNode* child = node.find(key);
  return child == nullptr ? std::vector<ConfigNode>() : list_of(*child);
}

std::vector<std::string> texts_at(const ConfigNode& node, std::string_view key) {
  std::vector<std::string> texts;
  for (const ConfigNode& entry : optional_list(node, key)) texts.push_back(text_of(entry));
  return texts;
}

FeatureSelection selection_at(const ConfigNode& root, std::string_view key) {
  FeatureSelection selection;
  const ConfigNode& node = required(root, key);
  selection.groups = feature_groups(node);
  if (has_group(selection, FeatureGroup::kParameters)) {
    selection.parameters = texts_at(root, "parameters");
  }
  try {
    static_cast<void>(TableFeatures(selection));
  } catch (const Error& error) {
    fail_at(node, error.what());
  }
  return selection;
}

NetworkSpec network_at(const ConfigNode& root) {
  const ConfigNode& node = required(root, "network");
  std::vector<std::string_view> keys;
  for (const Parameter<NetworkSpec>& each : network_parameters().parameters()) {
    keys.push_back(each.name);
  }
  allow_only(node, keys);
  NetworkSpec spec;
  for (const std::string_view key : keys) {
    const ConfigNode& value = required(node, key);
    const std::string& text = text_of(value);
    try {
      network_parameters().set(spec, key, text);
    } catch (const Error& error) {
      fail_at(value, error.what());
    }
  }
  return spec;
}

void read_features(const ConfigNode& root, ModelText& model) {
  const Kind kind = kind_of(model.card);
  if (kind == Kind::kXgboost) model.features = selection_at(root, "features");
  if (kind != Kind::kNetwork) return;
  NetworkFeatures& features = model.network_features;
  features.at_nodes = selection_at(root, "at_nodes");
  features.at_kernel = selection_at(root, "at_kernel");
  features.encoding = static_cast<GraphEncoding>(choice(required(root, "encoding"), kEncodings));
  features.logarithmic = choice(required(root, "scale"), kScales) == 1;
  model.network = network_at(root);
}

void read_target(const ConfigNode& root, ModelCard& card) {
  const ConfigNode& target = required(root, "target");
  allow_only(target, {"mean", "deviation"});
  card.target = {.mean = real_at(target, "mean"), .deviation = real_at(target, "deviation")};
  if (!(card.target.deviation > 0)) fail_at(target, "deviation: expected more than zero");
  const ConfigNode* predicts = root.find("predicts");
  if (predicts == nullptr) return;  // older models predict times
  card.predicts = {.quantity = text(*predicts, "quantity"), .unit = text(*predicts, "unit")};
  allow_only(*predicts, {"quantity", "unit", "scale", "count"});
  if (card.predicts.is_time()) return;
  card.predicts.scale =
      static_cast<TargetScale>(choice(required(*predicts, "scale"), kTargetScales));
  card.predicts.count = flag_at(*predicts, "count");
}

void read_lists(const ConfigNode& root, ModelText& model) {
  ModelCard& card = model.card;
  for (const ConfigNode& entry : optional_list(root, "data")) {
    allow_only(entry, {"name", "hash", "device", "licence", "train", "validation", "test"});
    card.data.push_back({text(entry, "name"), optional_text(entry, "hash"),
                         optional_text(entry, "device"), optional_text(entry, "licence"),
                         whole_at(entry, "train"), whole_at(entry, "validation"),
                         whole_at(entry, "test")});
  }
  for (const ConfigNode& entry : optional_list(root, "metrics")) {
    allow_only(entry, {"metric", "n", "value", "baseline", "of"});
    ModelMetric metric{text(entry, "metric"), whole_at(entry, "n"), real_at(entry, "value"), {}};
    if (entry.find("baseline") != nullptr) metric.baseline = real_at(entry, "baseline");
    metric.of = optional_text(entry, "of");
    card.metrics.push_back(std::move(metric));
  }
  for (const ConfigNode& entry : optional_list(root, "versions")) {
    allow_only(entry, {"library", "version"});
    card.versions.emplace_back(text(entry, "library"), text(entry, "version"));
  }
  card.op_classes = texts_at(root, "op_classes");
  card.devices = texts_at(root, "devices");
  card.families = texts_at(root, "families");
}

void read_maps(const ConfigNode& root, ModelText& model) {
  for (const ConfigNode& entry : required(root, "settings").children) {
    model.card.settings[entry.key] = text_of(entry);
  }
  for (const ConfigNode& entry : required(root, "schemas").children) {
    allow_only(entry, {"name", "version", "hash"});
    model.schemas[entry.key] = {text(entry, "name"), text(entry, "hash"),
                                static_cast<int>(whole_at(entry, "version", kMostVersion))};
  }
  for (const ConfigNode& entry : required(root, "files").children) {
    model.files[entry.key] = text_of(entry);
  }
}

void require_format(const ConfigNode& root) {
  if (!root.is_mapping()) fail_at(root, "expected the card of a model");
  static_cast<void>(choice(required(root, "format"), std::span(&kFormat, 1)));
}

void require_check(const ConfigNode& root, std::string_view text) {
  const ConfigNode& check = required(root, "check");
  const std::size_t last = text.rfind(kCheck);
  if (last != std::string_view::npos &&
      text_of(check) == measured::content_hash(text.substr(0, last))) {
    return;
  }
  fail_at(check, "the text was changed after it was written, or is damaged");
}

void require_keys(const ConfigNode& root) {
  std::vector<std::string_view> keys{"format",   "name",     "kind",       "created",
                                     "split",    "seed",     "ranks_only", "target",
                                     "settings", "versions", "op_classes", "devices",
                                     "families", "schemas",  "files",      "data",
                                     "metrics",  "check",    "parameters", "training_seconds",
                                     "hybrid",   "predicts"};
  const auto kind = static_cast<Kind>(choice(required(root, "kind"), kKinds));
  if (kind == Kind::kXgboost) keys.emplace_back("features");
  if (kind == Kind::kNetwork) {
    keys.insert(keys.end(), {"at_nodes", "at_kernel", "encoding", "scale", "network"});
  }
  allow_only(root, keys);
}

}  // namespace

std::vector<FeatureGroup> feature_groups(const ConfigNode& node) {
  std::vector<FeatureGroup> groups;
  for (const ConfigNode& entry : list_of(node)) {
    const std::optional<FeatureGroup> group = parse_feature_group(text_of(entry));
    if (!group || *group == FeatureGroup::kNode) {
      fail_at(entry, fmt::format("got {}, expected a group of features: static, ops, shape, tile, "
                                 "prior, machine or parameters",
                                 hwdesc::show_text(entry.scalar)));
    }
    groups.push_back(*group);
  }
  return groups;
}

std::string list_text(const std::vector<FeatureGroup>& groups) {
  std::vector<std::string_view> names;
  for (const FeatureGroup group : groups) names.push_back(name(group));
  return fmt::format("[{}]", fmt::join(names, ", "));
}

std::string list_text(const std::vector<std::string>& texts) {
  std::vector<std::string> all;
  for (const std::string& text : texts) all.push_back(scalar_text(text));
  return fmt::format("[{}]", fmt::join(all, ", "));
}

SchemaStamp stamp(const FeatureSchema& schema) {
  return {.name = schema.name, .hash = schema.hash(), .version = schema.version};
}

std::string model_yaml(const ModelText& model) {
  const ModelCard& card = model.card;
  std::string text =
      fmt::format("format: {}\nname: {}\nkind: {}\n", kFormat, scalar_text(card.name), card.kind);
  optional_line(text, "created", card.created);
  optional_line(text, "split", card.split);
  text += fmt::format("seed: {}\nranks_only: {}\ntraining_seconds: {}\n", card.seed,
                      kNoYes[card.ranks_only ? 1 : 0],
                      finite(card.training_seconds, "training_seconds"));
  if (card.hybrid) line(text, "hybrid", "yes");
  write_target(text, card);
  write_features(text, model);
  write_data(text, card);
  write_metrics(text, card);
  line(text, "op_classes", list_text(card.op_classes));
  line(text, "devices", list_text(card.devices));
  line(text, "families", list_text(card.families));
  write_maps(text, model);
  return text + fmt::format("{}{}\n", kCheck, measured::content_hash(text));
}

ModelText read_model_yaml(const std::string& text, const std::string& file) {
  ConfigNode root = hwdesc::read_config(text, file);
  if (root.at.file.empty()) root.at = {file, 1, 1};
  require_format(root);
  require_check(root, text);
  require_keys(root);
  ModelText model;
  ModelCard& card = model.card;
  card.name = hwdesc::text(root, "name");
  card.kind = kKinds[choice(required(root, "kind"), kKinds)];
  card.created = optional_text(root, "created");
  card.split = optional_text(root, "split");
  card.seed = whole_at(root, "seed");
  card.ranks_only = flag_at(root, "ranks_only");
  card.training_seconds = real_at(root, "training_seconds");
  card.hybrid = root.find("hybrid") != nullptr && flag_at(root, "hybrid");
  if (kind_of(card) == Kind::kPhysics && !card.hybrid) {
    fail_at(required(root, "kind"), "physics alone is no model; expected hybrid: yes");
  }
  read_target(root, card);
  read_features(root, model);
  read_lists(root, model);
  read_maps(root, model);
  return model;
}

}  // namespace tilecast::learned
