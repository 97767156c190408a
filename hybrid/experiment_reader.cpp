#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <span>

#include "diag/error.h"
#include "diag/source_text.h"
#include "hwdesc/config_reader.h"
#include "hwdesc/device_yaml.h"
#include "hwdesc/units.h"
#include "hybrid/experiment.h"
#include "learned/importers/import_manifest.h"

namespace tilecast::hybrid {
namespace {

using hwdesc::ConfigNode;
using Kind = ConfigNode::Kind;
using learned::allow_only;
using learned::Breakdown;
using learned::fail_at;
using learned::Metric;
using learned::text_of;

constexpr std::string_view kFormat = "tilecast.experiment/1";
constexpr std::string_view kImporters[] = {"operators", "tiles", "program", "set"};
constexpr std::string_view kColumns[] = {"roofline", "analytical", "calibrated"};
constexpr std::string_view kSplitNames[] = {"none",
                                            "fixed",
                                            "k_fold",
                                            "largest",
                                            "leave_one_class_out",
                                            "leave_one_family_out",
                                            "sampled_rows",
                                            "sampled_works"};
constexpr std::uint64_t kMostSeeds = 1000;
constexpr std::uint64_t kMostRows = 1'000'000'000;

const ConfigNode& required(const ConfigNode& node, std::string_view key) {
  const ConfigNode* child = node.find(key);
  if (!child) fail_at(node, fmt::format("{} is missing", key));
  return *child;
}

std::string text(const ConfigNode& node, std::string_view key) {
  return text_of(required(node, key));
}

// Which of `choices` the node names.
std::size_t choice(const ConfigNode& node, std::span<const std::string_view> choices) {
  const std::string& got = text_of(node);
  const auto found = std::ranges::find(choices, got);
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  fail_at(node,
          fmt::format("got {}, expected {}", hwdesc::show_text(got), fmt::join(choices, ", ")));
}

const std::vector<ConfigNode>& list(const ConfigNode& node) {
  if (node.kind != Kind::kSequence || node.children.empty()) {
    fail_at(node, "expected a list that is not empty");
  }
  return node.children;
}

// A text, or a list of them.
std::vector<std::string> texts(const ConfigNode& node) {
  if (node.kind != Kind::kSequence) return {text_of(node)};
  std::vector<std::string> result;
  for (const ConfigNode& entry : list(node)) result.push_back(text_of(entry));
  return result;
}

std::vector<std::string> optional_texts(const ConfigNode& node, std::string_view key) {
  const ConfigNode* child = node.find(key);
  return child ? texts(*child) : std::vector<std::string>();
}

std::uint64_t whole_number(const ConfigNode& node, std::uint64_t low, std::uint64_t high) {
  const std::string& got = text_of(node);
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(got.data(), got.data() + got.size(), value);
  if (failure != std::errc() || end != got.data() + got.size() || value < low || value > high) {
    fail_at(node, fmt::format("got {}, expected a whole number from {} to {}",
                              hwdesc::show_text(got), low, high));
  }
  return value;
}

template <class T>
void read_number(const ConfigNode& node, std::string_view key, std::uint64_t low,
                 std::uint64_t high, T& value) {
  if (const ConfigNode* child = node.find(key)) {
    value = static_cast<T>(whole_number(*child, low, high));
  }
}

// "0.88" or "6 %".
std::optional<double> fraction(const std::string& got) {
  try {
    return hwdesc::parse_quantity(got, hwdesc::UnitKind::kRatio);
  } catch (const Error&) {
    return std::nullopt;
  }
}

template <class T, std::size_t n>
T enumerator(const ConfigNode& node, const T (&values)[n]) {
  std::vector<std::string_view> names;
  for (const T value : values) names.push_back(learned::name(value));
  return values[choice(node, names)];
}

Metric metric_of(const ConfigNode& node) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < learned::kMetricCount; ++i) {
    names.push_back(learned::name(static_cast<Metric>(i)));
  }
  return static_cast<Metric>(choice(node, names));
}

// Paths are relative to the experiment's file; names of presets stay.
std::string device_of(const ConfigNode& node, const std::string& device) {
  try {
    return learned::resolve_device(device,
                                   std::filesystem::path(node.at.file).parent_path().string());
  } catch (const Error& error) {
    fail_at(node, error.what());
  }
}

// "./" and "../" are seen from the experiment's file, other paths from the folder of data.
std::string data_path(const ConfigNode& node, const std::string& from) {
  if (!from.starts_with("./") && !from.starts_with("../")) return from;
  const auto folder = std::filesystem::absolute(node.at.file).parent_path();
  return (folder / from).lexically_normal().string();
}

std::string mapping_of(const ConfigNode& node) {
  const std::string& mapping = text_of(node);
  if (!hwdesc::is_path(mapping)) return mapping;
  return (std::filesystem::path(node.at.file).parent_path() / mapping).lexically_normal().string();
}

void read_program(const ConfigNode& node, ExperimentSource& source) {
  const ConfigNode& runtime = required(node, "runtime");
  const std::string& time = text_of(runtime);
  try {
    source.runtime_s = hwdesc::parse_quantity(time, hwdesc::UnitKind::kTime);
  } catch (const Error& error) {
    fail_at(runtime, error.what());
  }
  if (source.runtime_s <= 0) fail_at(runtime, "expected a time above 0");
  source.source = text(node, "source");
  source.licence = text(node, "licence");
  source.how_timed = text(node, "how_timed");
}

ExperimentSource read_source(const ConfigNode& node) {
  if (!node.is_mapping()) fail_at(node, "expected {name: ..., importer: ..., from: ...}");
  ExperimentSource source;
  source.name = text(node, "name");
  const ConfigNode& importer = required(node, "importer");
  source.importer = kImporters[choice(importer, kImporters)];
  for (const std::string& from : texts(required(node, "from"))) {
    source.from.push_back(data_path(node, from));
  }
  std::vector<std::string_view> keys{"name", "importer", "from", "devices", "sample"};
  if (source.importer == "program") {
    keys.insert(keys.end(), {"runtime", "source", "licence", "how_timed"});
  } else if (source.importer != "set") {
    keys.push_back("mapping");
    source.mapping = mapping_of(required(node, "mapping"));
  }
  allow_only(node, keys);
  if (source.importer == "program") read_program(node, source);
  if (source.importer != "operators" && source.from.size() != 1) {
    fail_at(*node.find("from"), fmt::format("expected one path for {}", source.importer));
  }
  for (const std::string& device : optional_texts(node, "devices")) {
    source.devices.push_back(device_of(*node.find("devices"), device));
  }
  if (const ConfigNode* sample = node.find("sample")) {
    allow_only(*sample, {"rows", "seed"});
    source.sample_rows = whole_number(required(*sample, "rows"), 1, kMostRows);
    read_number(*sample, "seed", 0, UINT64_MAX, source.sample_seed);
  }
  return source;
}

std::vector<ExperimentSource> read_sources(const ConfigNode& node) {
  std::vector<ExperimentSource> sources;
  std::set<std::string> names;
  for (const ConfigNode& entry : list(node)) {
    sources.push_back(read_source(entry));
    if (!names.insert(sources.back().name).second) {
      fail_at(entry, fmt::format("two sources are called '{}'", sources.back().name));
    }
  }
  return sources;
}

SplitSpec read_split(const ConfigNode& node) {
  if (!node.is_mapping()) fail_at(node, "expected {kind: ...}");
  SplitSpec split;
  split.kind = static_cast<SplitKind>(choice(required(node, "kind"), kSplitNames));
  switch (split.kind) {
    case SplitKind::kNone:
    case SplitKind::kFixed:
    case SplitKind::kLeaveOneClassOut:
      allow_only(node, {"kind"});
      break;
    case SplitKind::kKFold:
      allow_only(node, {"kind", "folds", "seed"});
      read_number(node, "folds", 2, kMostSeeds, split.folds);
      break;
    case SplitKind::kLargest: {
      allow_only(node, {"kind", "share"});
      const ConfigNode& share = required(node, "share");
      const std::optional<double> value = fraction(text_of(share));
      if (!value || *value <= 0 || *value >= 1) {
        fail_at(share, fmt::format("got {}, expected more than 0 % and less than 100 %",
                                   hwdesc::show_text(share.scalar)));
      }
      split.share = *value;
      break;
    }
    case SplitKind::kLeaveOneFamilyOut:
      allow_only(node, {"kind", "works", "seed"});
      split.works = whole_number(required(node, "works"), 1, kMostRows);
      break;
    case SplitKind::kSampledRows:
      allow_only(node, {"kind", "rows", "seeds", "seed"});
      split.rows = whole_number(required(node, "rows"), 1, kMostRows);
      break;
    case SplitKind::kSampledWorks:
      allow_only(node, {"kind", "works", "seeds", "seed"});
      split.works = whole_number(required(node, "works"), 1, kMostRows);
      break;
  }
  read_number(node, "seeds", 1, kMostSeeds, split.seeds);
  read_number(node, "seed", 0, UINT32_MAX, split.seed);
  return split;
}

std::vector<Selector> read_selectors(const ConfigNode& root, std::string_view key,
                                     const std::vector<ExperimentSource>& data) {
  std::vector<Selector> selectors;
  const ConfigNode* node = root.find(key);
  if (!node) return selectors;
  for (const ConfigNode& entry : list(*node)) {
    allow_only(entry, {"set", "class", "kernel"});
    Selector selector{.classes = optional_texts(entry, "class"),
                      .kernels = optional_texts(entry, "kernel")};
    if (const ConfigNode* set = entry.find("set")) {
      selector.set = text_of(*set);
      if (std::ranges::find(data, selector.set, &ExperimentSource::name) == data.end()) {
        fail_at(*set,
                fmt::format("no source of data is called {}", hwdesc::show_text(selector.set)));
      }
    }
    selectors.push_back(std::move(selector));
  }
  return selectors;
}

void read_limit(const ConfigNode& node, const Experiment& experiment, Bar& bar) {
  const auto has_column = [&](const std::string& column) {
    return std::ranges::find(experiment.columns, column) != experiment.columns.end();
  };
  constexpr std::pair<std::string_view, Bar::Kind> kLimits[] = {{"at_most", Bar::Kind::kAtMost},
                                                                {"at_least", Bar::Kind::kAtLeast},
                                                                {"below", Bar::Kind::kBelow}};
  int limits = 0;
  for (const auto& [key, kind] : kLimits) {
    const ConfigNode* limit = node.find(key);
    if (!limit) continue;
    ++limits;
    bar.kind = kind;
    const std::string& got = text_of(*limit);
    if (const std::optional<double> value = fraction(got)) {
      bar.limit = *value;
    } else if (has_column(got)) {
      bar.limit_column = got;
    } else {
      fail_at(*limit, fmt::format("got {}, expected a number, a share in % or a column ({})",
                                  hwdesc::show_text(got), fmt::join(experiment.columns, ", ")));
    }
  }
  if (limits != 1) fail_at(node, "expected one of at_most, at_least, below");
  if (!has_column(bar.column)) {
    fail_at(*node.find("column"),
            fmt::format("got {}, expected one of the columns: {}", hwdesc::show_text(bar.column),
                        fmt::join(experiment.columns, ", ")));
  }
}

Bar read_bar(const ConfigNode& node, const Experiment& experiment) {
  allow_only(node, {"metric", "column", "stratum", "at_most", "at_least", "below", "over"});
  Bar bar{.metric = metric_of(required(node, "metric")), .column = text(node, "column")};
  if (const ConfigNode* stratum = node.find("stratum")) bar.stratum = text_of(*stratum);
  read_limit(node, experiment, bar);
  if (const ConfigNode* over = node.find("over")) {
    constexpr std::string_view kOver[] = {"mean", "worst"};
    bar.over = static_cast<Statistic>(choice(*over, kOver));
  }
  return bar;
}

void read_table(const ConfigNode& root, Experiment& experiment) {
  for (const ConfigNode& entry : list(required(root, "columns"))) {
    experiment.columns.emplace_back(kColumns[choice(entry, kColumns)]);
  }
  if (const ConfigNode* by = root.find("by")) {
    constexpr Breakdown kBy[] = {Breakdown::kSet, Breakdown::kOpClass, Breakdown::kKernel};
    for (const ConfigNode& entry : list(*by)) experiment.by.push_back(enumerator(entry, kBy));
  }
  if (root.find("by_kernel")) {
    experiment.kernels_shown = optional_texts(root, "by_kernel");
    if (std::ranges::find(experiment.by, Breakdown::kKernel) == experiment.by.end()) {
      experiment.by.push_back(Breakdown::kKernel);
    }
  }
  for (const ConfigNode& entry : list(required(root, "metrics"))) {
    experiment.metrics.push_back(metric_of(entry));
  }
  if (const ConfigNode* bars = root.find("bars")) {
    for (const ConfigNode& entry : list(*bars)) {
      experiment.bars.push_back(read_bar(entry, experiment));
    }
  }
}

// What one key alone cannot be wrong about.
void check(const ConfigNode& root, const Experiment& experiment) {
  const bool fits = std::ranges::find(experiment.columns, "calibrated") != experiment.columns.end();
  const bool splits = experiment.split.kind != SplitKind::kNone;
  if (fits != splits) {
    fail_at(*root.find("split"), fits ? "kind none, but a column is calibrated; expected a split"
                                      : "a split without a calibrated column; expected kind none");
  }
  if (!splits && !experiment.fit.empty())
    fail_at(*root.find("fit"), "nothing is fitted (kind none)");
  if (experiment.split.kind == SplitKind::kFixed && experiment.fit.empty()) {
    fail_at(root, "fit is missing; a fixed split says what is fitted");
  }
  std::set<std::string> columns(experiment.columns.begin(), experiment.columns.end());
  if (columns.size() != experiment.columns.size()) fail_at(*root.find("columns"), "one twice");
  for (const ExperimentSource& source : experiment.data) {
    if (source.devices.empty() && experiment.device.empty()) {
      fail_at(root, fmt::format("device is missing, and source {} names no devices", source.name));
    }
    if (splits && !source.devices.empty()) {
      fail_at(*root.find("data"), "a fit is of one device; expected device, and no devices");
    }
  }
}

}  // namespace

std::string_view name(SplitKind kind) {
  return kSplitNames[static_cast<std::size_t>(kind)];
}

Experiment parse_experiment(const std::string& content, const std::string& file) {
  ConfigNode root = hwdesc::read_config(content, file);
  if (root.at.file.empty()) root.at = {file, 1, 1};
  allow_only(root, {"format", "name", "claim", "notes", "device", "data", "split", "fit", "score",
                    "columns", "by", "by_kernel", "metrics", "bars"});
  const ConfigNode& format = required(root, "format");
  if (text_of(format) != kFormat) {
    fail_at(format, fmt::format("got {}, expected {}", hwdesc::show_text(format.scalar), kFormat));
  }
  Experiment experiment{.file = file, .name = text(root, "name"), .claim = text(root, "claim")};
  experiment.notes = optional_texts(root, "notes");
  if (const ConfigNode* device = root.find("device")) {
    experiment.device = device_of(*device, text_of(*device));
  }
  experiment.data = read_sources(required(root, "data"));
  experiment.split = read_split(required(root, "split"));
  experiment.fit = read_selectors(root, "fit", experiment.data);
  experiment.score = read_selectors(root, "score", experiment.data);
  read_table(root, experiment);
  check(root, experiment);
  return experiment;
}

Experiment read_experiment(const std::string& file) {
  const auto source = diag::SourceText::read_file(file, hwdesc::kMaxConfigBytes);
  return parse_experiment(std::string(source.text()), file);
}

}  // namespace tilecast::hybrid
