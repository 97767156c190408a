#include "sim/training/training_file.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <span>

#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/config_reader.h"
#include "hwdesc/device_yaml.h"
#include "measured/importers/import_manifest.h"
#include "sim/views/rows.h"

namespace tilecast::sim::training {
namespace {

using hwdesc::ConfigNode;
namespace fs = std::filesystem;

constexpr std::string_view kFormat = "tilecast.experiment/1";
constexpr std::string_view kImporters[] = {"operators", "tiles", "program", "set"};
constexpr std::uint64_t kMostSeeds = 1000;
constexpr std::uint64_t kMostRows = 1'000'000'000;

// Per SplitKind: its name, its description (split_text), and its keys besides `kind`. Shares, works
// and the rows of sampled_rows are required if listed.
struct KindOfSplit {
  std::string_view name, text;
  std::array<std::string_view, 4> keys = {};
};
constexpr KindOfSplit kKinds[] = {
    {"none", "nothing fitted"},
    {"fixed", "fixed: the named rows fitted, others scored{trainings}", {"share", "seeds", "seed"}},
    {"k_fold", "{folds} folds by kernel (seed {seed}), pooled", {"folds", "seed"}},
    {"largest",
     "the largest {share} % of sizes of each op class scored{trainings}",
     {"share", "seeds", "seed"}},
    {"leave_one_class_out", "leave one op class out, pooled"},
    {"leave_one_family_out",
     "leave one family out, {works} random works of the others fitted, pooled",
     {"works", "seed"}},
    {"leave_one_kernel_out", "leave one kernel out, pooled"},
    {"leave_one_device_out",
     "leave {all_but}one device out, pooled; equal work on others may be fitted{repeats}",
     {"rows", "seeds", "seed"}},
    {"sampled_rows",
     "{rows} random rows of one kernel fitted, the others scored; {seeds} seeds",
     {"rows", "seeds", "seed"}},
    {"sampled_works",
     "{works} random works fitted, the others scored; {seeds} seeds",
     {"works", "seeds", "seed"}},
    {"held_out_families",
     "random families until {share} % of the rows scored, the others fitted; {one_or_seeds}",
     {"share", "seeds", "seed", "rows"}},
    {"held_out_works",
     "random kernels until {share} % of the rows scored, the others fitted; {one_or_seeds}",
     {"share", "seeds", "seed", "rows"}}};

// A share of fitted rows may be 1; a share of scored rows must be less.
double share_of(const ConfigNode& node, bool may_be_all) {
  const std::optional<double> value = hwdesc::fraction(text_of(node));
  if (!value || *value <= 0 || *value > 1 || (*value == 1 && !may_be_all)) {
    fail_at(node,
            fmt::format("got {}, expected more than 0 % and {} 100 %",
                        hwdesc::show_text(node.scalar), may_be_all ? "at most" : "less than"));
  }
  return *value;
}

SplitSpec read_split(const ConfigNode& node) {
  if (!node.is_mapping()) fail_at(node, "expected {kind: ...}");
  std::vector<std::string_view> names, keys;
  for (const KindOfSplit& kind : kKinds) names.push_back(kind.name);
  SplitSpec split;
  split.kind = static_cast<SplitKind>(choice(required(node, "kind"), names));
  for (const std::string_view key : kKinds[static_cast<std::size_t>(split.kind)].keys) {
    if (!key.empty()) keys.push_back(key);
  }
  keys.push_back("kind");
  allow_only(node, keys);
  const auto has = [&](std::string_view key) { return std::ranges::find(keys, key) != keys.end(); };
  if (split.kind == SplitKind::kFixed && node.find("share") == nullptr) {
    split.share = 1;
  } else if (has("share")) {
    split.share = share_of(required(node, "share"), split.kind == SplitKind::kFixed);
  }
  if (has("works")) split.works = whole_number(required(node, "works"), 1, kMostRows);
  if (split.kind == SplitKind::kSampledRows) static_cast<void>(required(node, "rows"));
  read_number(node, "rows", 1, kMostRows, split.rows);
  read_number(node, "folds", 2, kMostSeeds, split.folds);
  read_number(node, "seeds", 1, kMostSeeds, split.seeds);
  read_number(node, "seed", 0, UINT32_MAX, split.seed);
  return split;
}

std::vector<Selector> read_selectors(const ConfigNode& root, std::string_view key,
                                     const std::vector<DataSource>& data) {
  std::vector<Selector> selectors;
  const ConfigNode* node = root.find(key);
  if (!node) return selectors;
  for (const ConfigNode& entry : list(*node)) {
    allow_only(entry, {"set", "class", "kernel", "family", "at_least"});
    Selector selector{.classes = optional_texts(entry, "class"),
                      .kernels = optional_texts(entry, "kernel"),
                      .families = optional_texts(entry, "family")};
    if (const ConfigNode* least = entry.find("at_least")) {
      selector.at_least_s = seconds_of(*least);
    }
    if (const ConfigNode* set = entry.find("set")) {
      selector.set = text_of(*set);
      if (std::ranges::find(data, selector.set, &DataSource::name) == data.end()) {
        fail_at(*set,
                fmt::format("no source of data is called {}", hwdesc::show_text(selector.set)));
      }
    }
    selectors.push_back(std::move(selector));
  }
  return selectors;
}

fs::path folder_of(const ConfigNode& node) {
  return fs::path(node.at.file).parent_path();
}

// Paths are relative to the file; names of presets are unchanged.
std::string device_of(const ConfigNode& node, const std::string& device) {
  try {
    return measured::resolve_device(device, folder_of(node).string());
  } catch (const Error& error) {
    fail_at(node, error.what());
  }
}

// "./" and "../" are relative to the file, other paths to the data folder.
std::string data_path(const ConfigNode& node, const std::string& from) {
  if (!from.starts_with("./") && !from.starts_with("../")) return from;
  return (fs::absolute(node.at.file).parent_path() / from).lexically_normal().string();
}

std::string mapping_of(const ConfigNode& node) {
  const std::string& mapping = text_of(node);
  if (!hwdesc::is_path(mapping)) return mapping;
  return (folder_of(node) / mapping).lexically_normal().string();
}

DataSource read_source(const ConfigNode& node) {
  if (!node.is_mapping()) fail_at(node, "expected {name: ..., importer: ..., from: ...}");
  DataSource source;
  source.name = text(node, "name");
  source.importer = kImporters[choice(required(node, "importer"), kImporters)];
  for (const std::string& from : texts(required(node, "from"))) {
    source.from.push_back(data_path(node, from));
  }
  std::vector<std::string_view> keys{"name", "importer", "from", "devices", "sample"};
  const bool is_program = source.importer == "program";
  if (is_program) {
    keys.insert(keys.end(), {"runtime", "source", "licence", "how_timed"});
  } else if (source.importer != "set") {
    keys.push_back("mapping");
    source.mapping = mapping_of(required(node, "mapping"));
  }
  allow_only(node, keys);
  if (is_program) {
    source.runtime_s = seconds_of(required(node, "runtime"));
    source.source = text(node, "source");
    source.licence = text(node, "licence");
    source.how_timed = text(node, "how_timed");
  }
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

void read_data(const ConfigNode& root, TrainingFile& into) {
  if (const ConfigNode* device = root.find("device")) {
    into.device = device_of(*device, text_of(*device));
  }
  std::set<std::string> names;
  for (const ConfigNode& entry : list(required(root, "data"))) {
    const DataSource& source = into.data.emplace_back(read_source(entry));
    if (!names.insert(source.name).second) {
      fail_at(entry, fmt::format("two sources are called '{}'", source.name));
    }
    if (source.devices.empty() && into.device.empty()) {
      fail_at(root, fmt::format("device is missing, and source {} names no devices", source.name));
    }
  }
}

// The documents of a text, which lines "---" separate; each with the line numbers of the text.
std::vector<ConfigNode> documents_of(const std::string& text, const std::string& file) {
  constexpr std::string_view kBetween = "\n---\n";
  constexpr std::size_t kMostDocuments = 200;
  std::vector<ConfigNode> documents;
  std::string lines_before;
  for (std::size_t first = 0; first <= text.size();) {
    const std::size_t end = std::min(text.find(kBetween, first), text.size());
    const std::string document = text.substr(first, end - first);
    documents.push_back(hwdesc::read_config(lines_before + document, file));
    if (documents.back().at.file.empty()) documents.back().at = {file, 1, 1};
    if (documents.size() > kMostDocuments) {
      throw Error("{}: more than {} experiments", file, kMostDocuments);
    }
    lines_before.append(static_cast<std::size_t>(std::ranges::count(document, '\n')) + 2, '\n');
    first = end + kBetween.size();
  }
  return documents;
}

// Each entry with the keys of the earlier one that it `extends`.
std::vector<ConfigNode> with_extended(std::span<const ConfigNode> given, std::string_view what) {
  std::vector<ConfigNode> entries;
  for (const ConfigNode& entry : given) {
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
      fail_at(*extends, fmt::format("got {}, expected the name of {} above this one",
                                    hwdesc::show_text(extends->scalar), what));
    }
    ConfigNode own = entry;
    own.erase("extends");
    entries.push_back(hwdesc::merge(*found, own));
  }
  return entries;
}

void read_models(const ConfigNode& root, TrainingFile& into) {
  std::set<std::string> names(std::begin(kOwnColumns), std::end(kOwnColumns));
  const auto take = [&](const ConfigNode& entry, const std::string& name) {
    if (names.insert(name).second) return;
    fail_at(entry, fmt::format("the name {} is taken", hwdesc::show_text(name)));
  };
  if (const ConfigNode* learners = root.find("learners")) {
    for (const ConfigNode& entry : with_extended(list(*learners), "a learner")) {
      take(entry, into.learners.emplace_back(learned::read_learner(entry)).name);
    }
  }
  if (const ConfigNode* hybrids = root.find("hybrids")) {
    for (const ConfigNode& entry : list(*hybrids)) {
      take(entry, into.hybrids.emplace_back(hybrid::read_hybrid(entry)).name);
    }
  }
}

void read_scores(const ConfigNode& root, TrainingFile& into) {
  using measured::Breakdown;
  constexpr Breakdown kBy[] = {Breakdown::kSet, Breakdown::kOpClass, Breakdown::kSize,
                               Breakdown::kFamily, Breakdown::kKernel};
  std::vector<std::string_view> names;
  for (const Breakdown by : kBy) names.push_back(measured::name(by));
  if (const ConfigNode* by = root.find("by")) {
    for (const ConfigNode& entry : list(*by)) into.by.push_back(kBy[choice(entry, names)]);
  }
  for (const ConfigNode& entry : list(required(root, "metrics"))) {
    into.metrics.push_back(metric_of(entry));
  }
}

void check_split(const ConfigNode& root, const TrainingFile& read) {
  const SplitKind kind = read.split.kind;
  if (kind == SplitKind::kNone && read.learns()) {
    fail_at(*root.find("split"), "kind none, but there are learners or hybrids; expected a split");
  }
  if (kind == SplitKind::kNone && !read.fit.empty()) {
    fail_at(*root.find("fit"), "nothing is fitted (kind none)");
  }
  if (kind == SplitKind::kFixed && read.fit.empty()) {
    fail_at(root, "fit is missing; a fixed split says what is fitted");
  }
  const bool same_rows = kind == SplitKind::kFixed || kind == SplitKind::kLargest;
  if (same_rows && read.split.seeds > 1 && !read.learns()) {
    fail_at(*root.find("split"), "seeds of this kind repeat the training of learners; got none");
  }
}

}  // namespace

std::string split_text(const SplitSpec& split) {
  const std::string one_or_seeds =
      split.seeds == 1 ? fmt::format("seed {}", split.seed) : fmt::format("{} seeds", split.seeds);
  const bool has_rows = split.rows > 0;
  fmt::dynamic_format_arg_store<fmt::format_context> words;
  words.push_back(fmt::arg("folds", split.folds));
  words.push_back(fmt::arg("share", views::percent(split.share)));
  words.push_back(fmt::arg("rows", split.rows));
  words.push_back(fmt::arg("works", split.works));
  words.push_back(fmt::arg("seed", split.seed));
  words.push_back(fmt::arg("seeds", split.seeds));
  words.push_back(fmt::arg("one_or_seeds", one_or_seeds));
  words.push_back(fmt::arg("trainings", split.seeds > 1
                                            ? fmt::format("; {} seeds of training", split.seeds)
                                            : std::string()));
  words.push_back(fmt::arg(
      "all_but", has_rows ? fmt::format("all but {} random rows of ", split.rows) : std::string()));
  words.push_back(fmt::arg("repeats", has_rows ? "; " + one_or_seeds : std::string()));
  return fmt::vformat(kKinds[static_cast<std::size_t>(split.kind)].text, words);
}

measured::Metric metric_of(const ConfigNode& node) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < measured::kNamedMetricCount; ++i) {
    names.push_back(measured::name(static_cast<measured::Metric>(i)));
  }
  return static_cast<measured::Metric>(choice(node, names));
}

const learned::LearnerSpec* TrainingFile::learner(std::string_view wanted) const {
  const auto found = std::ranges::find(learners, wanted, &learned::LearnerSpec::name);
  return found == learners.end() ? nullptr : &*found;
}

std::string path_of(const std::string& path) {
  constexpr std::string_view kEnd = ".yaml";
  const std::size_t end = path.rfind(".yaml#");
  return end == std::string::npos ? path : path.substr(0, end + kEnd.size());
}

std::vector<ConfigNode> wholes_of(const std::string& text, const std::string& file) {
  std::vector<ConfigNode> wholes = with_extended(documents_of(text, file), "an experiment");
  for (const ConfigNode& whole : wholes) {
    allow_only(whole,
               {"format", "name",      "claim",   "notes",  "device",    "data",      "split",
                "fit",    "score",     "default", "others", "learners",  "hybrids",   "columns",
                "by",     "by_kernel", "metrics", "bars",   "published", "directions"});
    const ConfigNode& format = required(whole, "format");
    if (text_of(format) == kFormat) continue;
    fail_at(format, fmt::format("got {}, expected {}", hwdesc::show_text(format.scalar), kFormat));
  }
  return wholes;
}

std::vector<ConfigNode> read_wholes(const std::string& path) {
  const std::string file = path_of(path);
  const auto source = base::SourceText::read_file(file, hwdesc::kMaxConfigBytes);
  std::vector<ConfigNode> wholes = wholes_of(std::string(source.text()), file);
  if (file == path) return wholes;
  const std::string name = path.substr(file.size() + 1);
  std::erase_if(wholes, [&](const ConfigNode& whole) { return text(whole, "name") != name; });
  if (wholes.empty()) throw Error("{}: no experiment is called '{}'", file, name);
  return wholes;
}

TrainingFile read_training(const ConfigNode& whole, const std::string& file) {
  TrainingFile read{.file = file, .name = text(whole, "name")};
  read_data(whole, read);
  read.split = read_split(required(whole, "split"));
  read.fit = read_selectors(whole, "fit", read.data);
  read.score = read_selectors(whole, "score", read.data);
  read_models(whole, read);
  read_scores(whole, read);
  check_split(whole, read);
  return read;
}

TrainingFile read_training_file(const std::string& path) {
  return read_training(read_wholes(path).front(), path_of(path));
}

}  // namespace tilecast::sim::training
