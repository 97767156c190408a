#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>

#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/config_merge.h"
#include "hwdesc/config_reader.h"
#include "hwdesc/device_yaml.h"
#include "measured/importers/import_manifest.h"
#include "validation/experiment_nodes.h"
#include "validation/experiment_scaling.h"

namespace tilecast::validation {
namespace {

using hwdesc::ConfigNode;
using Kind = ConfigNode::Kind;
using measured::Breakdown;
using measured::Metric;

constexpr std::string_view kFormat = "tilecast.experiment/1";
constexpr std::string_view kImporters[] = {"operators", "tiles", "program", "set"};
constexpr std::string_view kColumns[] = {"roofline", "bottleneck", "analytical", kAnalyticalScaled,
                                         "calibrated"};

template <class T, std::size_t n>
T enumerator(const ConfigNode& node, const T (&values)[n]) {
  std::vector<std::string_view> names;
  for (const T value : values) names.push_back(measured::name(value));
  return values[choice(node, names)];
}

// Paths are relative to the experiment's file; names of presets stay.
std::string device_of(const ConfigNode& node, const std::string& device) {
  try {
    return measured::resolve_device(device,
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
  source.runtime_s = seconds_of(required(node, "runtime"));
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

void read_table(const ConfigNode& root, Experiment& experiment) {
  std::vector<std::string_view> columns(std::begin(kColumns), std::end(kColumns));
  for (const learned::LearnerSpec& learner : experiment.learners) columns.push_back(learner.name);
  for (const hybrid::HybridSpec& hybrid : experiment.hybrids) columns.push_back(hybrid.name);
  for (const ConfigNode& entry : list(required(root, "columns"))) {
    experiment.columns.emplace_back(columns[choice(entry, columns)]);
  }
  if (const ConfigNode* by = root.find("by")) {
    constexpr Breakdown kBy[] = {Breakdown::kSet, Breakdown::kOpClass, Breakdown::kSize,
                                 Breakdown::kFamily, Breakdown::kKernel};
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
}

std::vector<learned::LearnerSpec> read_learners(const ConfigNode& root) {
  std::vector<learned::LearnerSpec> learners;
  const ConfigNode* node = root.find("learners");
  if (!node) return learners;
  for (const ConfigNode& entry : learner_entries(*node)) {
    learners.push_back(learned::read_learner(entry));
    const std::string& name = learners.back().name;
    if (std::ranges::find(kColumns, name) != std::end(kColumns) ||
        std::ranges::count(learners, name, &learned::LearnerSpec::name) > 1) {
      fail_at(entry, fmt::format("the name {} is taken", hwdesc::show_text(name)));
    }
  }
  return learners;
}

void read_hybrids(const ConfigNode& root, Experiment& experiment) {
  const ConfigNode* node = root.find("hybrids");
  if (!node) return;
  for (const ConfigNode& entry : list(*node)) {
    experiment.hybrids.push_back(hybrid::read_hybrid(entry));
    const std::string& name = experiment.hybrids.back().name;
    if (std::ranges::find(kColumns, name) != std::end(kColumns) || experiment.learner(name) ||
        std::ranges::count(experiment.hybrids, name, &hybrid::HybridSpec::name) > 1) {
      fail_at(entry, fmt::format("the name {} is taken", hwdesc::show_text(name)));
    }
  }
}

// Learners and hybrids must be columns.
void require_columns(const ConfigNode& root, const Experiment& experiment) {
  const auto is_column = [&](const std::string& name) {
    return std::ranges::find(experiment.columns, name) != experiment.columns.end();
  };
  const auto missing = [&](std::string_view what, const std::string& name) {
    fail_at(*root.find("columns"),
            fmt::format("the {} {} is missing", what, hwdesc::show_text(name)));
  };
  for (const hybrid::HybridSpec& hybrid : experiment.hybrids) {
    if (!is_column(hybrid.name)) missing("hybrid", hybrid.name);
  }
  for (const learned::LearnerSpec& learner : experiment.learners) {
    if (!is_column(learner.name)) missing("learner", learner.name);
  }
}

void read_default_run(const ConfigNode& root, Experiment& experiment) {
  const ConfigNode* node = root.find("default");
  if (experiment.has_column(kAnalyticalScaled) != (node != nullptr)) {
    fail_at(node ? *node : *root.find("columns"),
            fmt::format("expected both the column {} and the rows it is scaled by, default: "
                        "{{column: ..., like: [...]}}",
                        kAnalyticalScaled));
  }
  if (!node) return;
  allow_only(*node, {"column", "like"});
  experiment.default_run =
      DefaultRun{.column = text(*node, "column"), .like = texts(required(*node, "like"))};
}

void check_fit(const ConfigNode& root, const Experiment& experiment) {
  const bool fits = experiment.calibrates() || experiment.learns();
  const bool splits = experiment.split.kind != SplitKind::kNone;
  if (fits && !splits) {
    fail_at(*root.find("split"), experiment.calibrates()
                                     ? "kind none, but a column is calibrated; expected a split"
                                     : "kind none, but there are learners or hybrids; "
                                       "expected a split");
  }
  if (splits && !fits && !experiment.default_run) {
    fail_at(
        *root.find("split"),
        "a split without a calibrated or scaled column, a learner or a hybrid; expected kind none");
  }
  if (!splits && !experiment.fit.empty()) {
    fail_at(*root.find("fit"), "nothing is fitted (kind none)");
  }
  if (experiment.split.kind == SplitKind::kFixed && experiment.fit.empty()) {
    fail_at(root, "fit is missing; a fixed split says what is fitted");
  }
  const SplitKind kind = experiment.split.kind;
  const bool same_rows =
      kind == SplitKind::kFixed || kind == SplitKind::kLargest || kind == SplitKind::kFirstRows;
  if (same_rows && experiment.split.seeds > 1 && !experiment.learns()) {
    fail_at(*root.find("split"), "seeds of this kind repeat the training of learners; got none");
  }
}

// What one key alone cannot be wrong about.
void check(const ConfigNode& root, const Experiment& experiment) {
  check_fit(root, experiment);
  std::set<std::string> columns(experiment.columns.begin(), experiment.columns.end());
  if (columns.size() != experiment.columns.size())
    fail_at(*root.find("columns"), "got a column twice");
  for (const ExperimentSource& source : experiment.data) {
    if (source.devices.empty() && experiment.device.empty()) {
      fail_at(root, fmt::format("device is missing, and source {} names no devices", source.name));
    }
  }
}

}  // namespace

std::vector<ConfigNode> learner_entries(const ConfigNode& learners) {
  std::vector<ConfigNode> entries;
  for (const ConfigNode& entry : list(learners)) {
    const ConfigNode* extends = entry.find("extends");
    if (!extends) {
      entries.push_back(entry);
      continue;
    }
    const auto named = [&](const ConfigNode& other) {
      return text_of(required(other, "name")) == text_of(*extends);
    };
    const auto found = std::ranges::find_if(entries, named);
    if (found == entries.end()) {
      fail_at(*extends, fmt::format("got {}, expected the name of a learner above this one",
                                    hwdesc::show_text(extends->scalar)));
    }
    ConfigNode own = entry;
    own.erase("extends");
    entries.push_back(hwdesc::merge(*found, own));
  }
  return entries;
}

bool Experiment::has_column(std::string_view column) const {
  return std::ranges::find(columns, column) != columns.end();
}

bool Experiment::repeats() const {
  return split.seeds > 1;
}

const learned::LearnerSpec* Experiment::learner(std::string_view column) const {
  const auto found = std::ranges::find(learners, column, &learned::LearnerSpec::name);
  return found == learners.end() ? nullptr : &*found;
}

namespace {

// The experiment laid over the one that it extends.
ConfigNode read_whole(const std::string& content, const std::string& file) {
  ConfigNode root = hwdesc::read_config(content, file);
  if (root.at.file.empty()) root.at = {file, 1, 1};
  const ConfigNode* extends = root.find("extends");
  if (!extends) return root;
  const auto parent = std::filesystem::path(file).parent_path() / text_of(*extends);
  const auto source = base::SourceText::read_file(parent.string(), hwdesc::kMaxConfigBytes);
  ConfigNode inherited = hwdesc::read_config(std::string(source.text()), parent.string());
  if (const ConfigNode* second = inherited.find("extends")) {
    fail_at(*second, "an experiment that another extends extends none itself");
  }
  root.erase("extends");
  return hwdesc::merge(std::move(inherited), root);
}

}  // namespace

Experiment parse_experiment(const std::string& content, const std::string& file) {
  const ConfigNode root = read_whole(content, file);
  allow_only(root, {"format", "name", "claim", "notes", "device", "data", "split", "fit", "score",
                    "default", "learners", "hybrids", "columns", "by", "by_kernel", "metrics",
                    "bars", "published", "directions"});
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
  experiment.learners = read_learners(root);
  read_hybrids(root, experiment);
  read_table(root, experiment);
  read_default_run(root, experiment);
  require_columns(root, experiment);
  read_claims(root, experiment);
  check(root, experiment);
  return experiment;
}

Experiment read_experiment(const std::string& file) {
  const auto source = base::SourceText::read_file(file, hwdesc::kMaxConfigBytes);
  return parse_experiment(std::string(source.text()), file);
}

}  // namespace tilecast::validation
