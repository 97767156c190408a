#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/source_text.h"
#include "measured/importers/import_manifest.h"
#include "validation/experiment.h"
#include "validation/experiment_scores.h"

namespace tilecast::validation {
namespace {

using hwdesc::ConfigNode;
using measured::Metric;
using measured::ReferenceRow;
using sim::training::kAnalyticalScaled;
using sim::training::metric_of;
using sim::training::SplitKind;

// The name of a column for which `metric` is defined.
std::string column_of(const ConfigNode& node, std::string_view key, Metric metric,
                      const Experiment& experiment) {
  const ConfigNode& entry = required(node, key);
  const std::string& column = text_of(entry);
  if (!experiment.has_column(column)) {
    fail_at(entry, fmt::format("got {}, expected one of the columns: {}", hwdesc::show_text(column),
                               fmt::join(experiment.columns, ", ")));
  }
  const learned::LearnerSpec* learner = experiment.learner(column);
  if (learner != nullptr && learner->ranks_only() && !measured::ranks_tiles(metric)) {
    fail_at(entry, fmt::format("{} only ranks the tiles of a kernel; it has no {}", column,
                               measured::name(metric)));
  }
  const bool of_quantity = learner != nullptr && !learner->target.is_time();
  if (of_quantity != measured::is_of_quantity(metric)) {
    fail_at(entry,
            fmt::format("{} is about {}; it has no {}", column,
                        of_quantity ? learner->target.quantity : "times", measured::name(metric)));
  }
  return column;
}

// Parses `not_above: COLUMN, by: 1 %`.
bool read_margin(const ConfigNode& node, const Experiment& experiment, Bar& bar) {
  const ConfigNode* by = node.find("by");
  if (!node.find("not_above")) {
    if (by) fail_at(*by, "is the margin of not_above, which is missing");
    return false;
  }
  if (more_is_better(bar.metric) || measured::is_ratio(bar.metric)) {
    fail_at(*node.find("not_above"), fmt::format("is about errors; got {}", name(bar.metric)));
  }
  const bool of_mean = bar.stratum.starts_with("mean over ");
  bar.limit_column = text(node, "not_above") == kBestOther && !of_mean
                         ? std::string(kBestOther)
                         : column_of(node, "not_above", bar.metric, experiment);
  const std::string& margin = text_of(required(node, "by"));
  const std::optional<double> value = hwdesc::fraction(margin);
  if (!value || *value < 0) {
    fail_at(*by,
            fmt::format("got {}, expected a share in %, at least 0 %", hwdesc::show_text(margin)));
  }
  bar.margin = *value;
  return true;
}

void read_limit(const ConfigNode& node, const Experiment& experiment, Bar& bar) {
  int limits = read_margin(node, experiment, bar) ? 1 : 0;
  for (std::size_t i = 0; i < std::size(kLimits); ++i) {
    const ConfigNode* limit = node.find(kLimits[i]);
    if (!limit) continue;
    ++limits;
    bar.kind = static_cast<Bar::Kind>(i);
    const std::string& got = text_of(*limit);
    if (const std::optional<double> value = hwdesc::fraction(got)) {
      bar.limit = *value;
    } else if (got == kBestOther && bar.stratum.starts_with("mean over ")) {
      fail_at(*limit, "the best other column of a mean is not defined; expected a column");
    } else if (experiment.has_column(got) || got == kBestOther) {
      bar.limit_column = got;
    } else {
      fail_at(*limit,
              fmt::format("got {}, expected a number, a share in %, '{}' or a column ({})",
                          hwdesc::show_text(got), kBestOther, fmt::join(experiment.columns, ", ")));
    }
  }
  if (limits != 1) fail_at(node, "expected one of at_most, at_least, below, not_above");
}

Bar read_bar(const ConfigNode& node, const Experiment& experiment) {
  allow_only(node, {"metric", "column", "stratum", "at_most", "at_least", "below", "not_above",
                    "by", "over"});
  Bar bar{.metric = metric_of(required(node, "metric"))};
  bar.column = column_of(node, "column", bar.metric, experiment);
  if (const ConfigNode* stratum = node.find("stratum")) bar.stratum = text_of(*stratum);
  read_limit(node, experiment, bar);
  if (const ConfigNode* over = node.find("over")) {
    constexpr std::string_view kOver[] = {"mean", "worst"};
    bar.over = static_cast<Statistic>(choice(*over, kOver));
  }
  return bar;
}

// References call the tau over all kernels kernel_tau.
std::string_view published_name(Metric metric) {
  return metric == Metric::kRowTau ? "kernel_tau" : measured::name(metric);
}

// Keeps the rows whose `field` equals the node's value; throws Error with the closest value if
// there are none.
void keep(const ConfigNode& node, std::string_view key, std::string ReferenceRow::*field,
          std::vector<ReferenceRow>& rows) {
  const ConfigNode& entry = required(node, key);
  const std::string& wanted = text_of(entry);
  std::vector<std::string> known;
  for (const ReferenceRow& row : rows) {
    if (std::ranges::find(known, row.*field) == known.end()) known.push_back(row.*field);
  }
  std::erase_if(rows, [&](const ReferenceRow& row) { return row.*field != wanted; });
  if (!rows.empty()) return;
  const std::string near = base::nearest(wanted, {known.begin(), known.end()});
  fail_at(entry, fmt::format("no published figure has {}; {}", hwdesc::show_text(wanted),
                             near.empty() ? fmt::format("there are: {}", fmt::join(known, ", "))
                                          : fmt::format("did you mean '{}'?", near)));
}

Published read_published(const ConfigNode& node, std::vector<ReferenceRow> rows,
                         const Experiment& experiment) {
  allow_only(node, {"column", "metric", "source", "where", "subject", "in"});
  Published published{.metric = metric_of(required(node, "metric"))};
  published.column = column_of(node, "column", published.metric, experiment);
  keep(node, "source", &ReferenceRow::file, rows);
  keep(node, "where", &ReferenceRow::where, rows);
  const std::string_view metric = published_name(published.metric);
  std::erase_if(rows, [&](const ReferenceRow& row) { return row.metric != metric; });
  if (rows.empty()) {
    fail_at(*node.find("metric"), fmt::format("no published figure of {}", metric));
  }
  keep(node, "subject", &ReferenceRow::subject, rows);
  keep(node, "in", &ReferenceRow::column, rows);
  published.row = std::move(rows.front());
  return published;
}

Direction read_direction(const ConfigNode& node, const Experiment& experiment) {
  allow_only(node, {"better", "than", "metric", "stratum", "finding"});
  Direction direction{.metric = metric_of(required(node, "metric"))};
  if (measured::is_ratio(direction.metric)) {
    fail_at(*node.find("metric"), "a ratio has no better side; expected an error or a ranking");
  }
  direction.better = column_of(node, "better", direction.metric, experiment);
  direction.than = column_of(node, "than", direction.metric, experiment);
  if (const ConfigNode* stratum = node.find("stratum")) direction.stratum = text_of(*stratum);
  direction.finding = text(node, "finding");
  return direction;
}

void read_claims(const ConfigNode& root, Experiment& experiment) {
  const auto each = [&](std::string_view key, const auto& read) {
    const ConfigNode* node = root.find(key);
    if (!node) return;
    for (const ConfigNode& entry : list(*node)) read(entry);
  };
  each("bars",
       [&](const ConfigNode& entry) { experiment.bars.push_back(read_bar(entry, experiment)); });
  std::vector<ReferenceRow> rows;
  each("published", [&](const ConfigNode& entry) {
    if (rows.empty()) rows = measured::read_references(measured::reference_folder());
    experiment.published.push_back(read_published(entry, rows, experiment));
  });
  each("directions", [&](const ConfigNode& entry) {
    experiment.directions.push_back(read_direction(entry, experiment));
  });
}

void read_columns(const ConfigNode& root, Experiment& experiment) {
  std::vector<std::string_view> columns(std::begin(sim::training::kOwnColumns),
                                        std::end(sim::training::kOwnColumns));
  for (const learned::LearnerSpec& learner : experiment.learners) columns.push_back(learner.name);
  for (const hybrid::HybridSpec& hybrid : experiment.hybrids) columns.push_back(hybrid.name);
  if (const ConfigNode* others = root.find("others")) {
    for (const ConfigNode& one : others->children) experiment.others[one.key] = text_of(one);
  }
  for (const auto& [name, cell] : experiment.others) columns.push_back(name);
  const ConfigNode& node = required(root, "columns");
  for (const ConfigNode& entry : list(node)) {
    experiment.columns.emplace_back(columns[choice(entry, columns)]);
  }
  if (std::set(experiment.columns.begin(), experiment.columns.end()).size() !=
      experiment.columns.size()) {
    fail_at(node, "got a column twice");
  }
  if (root.find("by_kernel")) {
    using measured::Breakdown;
    experiment.kernels_shown = optional_texts(root, "by_kernel");
    if (std::ranges::find(experiment.by, Breakdown::kKernel) == experiment.by.end()) {
      experiment.by.push_back(Breakdown::kKernel);
    }
  }
}

// Throws Error unless all learners and hybrids are columns.
void require_columns(const ConfigNode& root, const Experiment& experiment) {
  const auto missing = [&](std::string_view what, const std::string& name) {
    fail_at(*root.find("columns"),
            fmt::format("the {} {} is missing", what, hwdesc::show_text(name)));
  };
  for (const hybrid::HybridSpec& hybrid : experiment.hybrids) {
    if (!experiment.has_column(hybrid.name)) missing("hybrid", hybrid.name);
  }
  for (const learned::LearnerSpec& learner : experiment.learners) {
    if (!experiment.has_column(learner.name)) missing("learner", learner.name);
  }
  for (const auto& [name, cell] : experiment.others) {
    if (!experiment.has_column(name)) missing("estimate", name);
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

void check_split(const ConfigNode& root, const Experiment& experiment) {
  const bool splits = experiment.split.kind != SplitKind::kNone;
  if (experiment.calibrates() && !splits) {
    fail_at(*root.find("split"), "kind none, but a column is calibrated; expected a split");
  }
  if (splits && !experiment.calibrates() && !experiment.learns() && !experiment.default_run) {
    fail_at(
        *root.find("split"),
        "a split without a calibrated or scaled column, a learner or a hybrid; expected kind none");
  }
}

Experiment experiment_of(const ConfigNode& whole, const std::string& file) {
  Experiment experiment{sim::training::read_training(whole, file)};
  experiment.claim = text(whole, "claim");
  experiment.notes = optional_texts(whole, "notes");
  read_columns(whole, experiment);
  read_default_run(whole, experiment);
  require_columns(whole, experiment);
  read_claims(whole, experiment);
  check_split(whole, experiment);
  return experiment;
}

}  // namespace

std::size_t Experiment::column_index(std::string_view column) const {
  return static_cast<std::size_t>(std::ranges::find(columns, column) - columns.begin());
}

std::vector<Experiment> read_experiments(const std::string& path) {
  std::vector<Experiment> experiments;
  for (const ConfigNode& whole : sim::training::read_wholes(path)) {
    experiments.push_back(experiment_of(whole, sim::training::path_of(path)));
  }
  return experiments;
}

Experiment parse_experiment(const std::string& text, const std::string& file) {
  return experiment_of(sim::training::wholes_of(text, file).front(), file);
}

}  // namespace tilecast::validation
