#include "sim/evaluation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "measured/physics.h"

namespace tilecast::sim {
namespace {

using measured::Answers;
using measured::SampleSet;
using measured::Stratum;

// Strata are named after sets, so a later set with an equal name gets its hash appended. The same
// data twice is an error, because it would count twice.
void tell_apart(measured::MeasurementSet& set, const std::string& path,
                const measured::ScoreSheet& sheet) {
  constexpr std::size_t kShortHash = 6;
  for (const measured::ScoredSet& other : sheet.sets) {
    if (other.hash == set.hash) {
      throw Error(
          fmt::format("{}: the same data as set '{}'; give each set once", path, other.name));
    }
  }
  for (const measured::ScoredSet& other : sheet.sets) {
    if (other.name != set.manifest.name) continue;
    set.manifest.name += fmt::format(" ({})", set.hash.substr(0, kShortHash));
    return;
  }
}

// The samples of one set on every device, and every column's predictions for them.
void answer(const measured::MeasurementSet& set, EvaluationReport& report,
            const EvaluateSetsOptions& options) {
  std::vector<SampleSet> samples;
  samples.reserve(report.devices.size());
  for (const hwdesc::Device& device : report.devices) {
    samples.push_back(measured::make_samples(
        set, device, {.check_physics = options.check_physics, .jobs = options.evaluation.jobs}));
    if (samples.back().samples.empty()) {
      report.notes.push_back(
          fmt::format("{}: no row to score on {}", set.manifest.name, device.name));
    } else if (!is_measured_on(device, samples.back().measured_on)) {
      report.notes.push_back(fmt::format("{}: measured on {}, scored against a model of {}",
                                         set.manifest.name, samples.back().measured_on,
                                         device.name));
    }
    if (std::string note = measured::rounding_note(samples.back(), device); !note.empty()) {
      report.notes.push_back(std::move(note));
    }
  }
  std::vector<std::vector<measured::Prediction>> predictions;
  std::vector<Answers> answers;
  predictions.reserve(report.columns.size());
  for (const ModelColumn& column : report.columns) {
    predictions.push_back(measured::predict(samples[column.device], *column.answers,
                                            report.devices[column.device],
                                            options.evaluation.jobs));
    answers.push_back({samples[column.device], predictions.back()});
    if (options.step) options.step();
  }
  measured::add_answers(report.sheet, answers);
}

std::string rows_of(std::size_t n) {
  return fmt::format("{} {}", n, n == 1 ? "row" : "rows");
}

// Number of rows in families that a model was trained on, in sets it does not know: it may have
// been trained on their kernels.
std::size_t familiar_rows(const EvaluationReport& report, const ModelColumn& column) {
  return static_cast<std::size_t>(
      std::ranges::count_if(report.sheet.rows, [&](const measured::ScoredRow& row) {
        const std::string& set = report.sheet.sets[row.set].hash;
        const std::string& family = report.sheet.works[row.work].family;
        return std::ranges::find(column.trained_on, set) == column.trained_on.end() &&
               std::ranges::find(column.families, family) != column.families.end();
      }));
}

void add_notes_on_models(EvaluationReport& report) {
  for (const ModelColumn& column : report.columns) {
    if (!column.note.empty()) {
      report.notes.push_back(fmt::format("{}: {}", column.name, column.note));
    }
    if (column.ranks_only) {
      report.notes.push_back(
          fmt::format("{}: only ranks the tiles of a kernel; it has no other metric", column.name));
    }
    for (const measured::ScoredSet& set : report.sheet.sets) {
      if (std::ranges::find(column.trained_on, set.hash) == column.trained_on.end()) continue;
      report.notes.push_back(
          fmt::format("{}: trained on rows of set {}: its card has the figures of held-out rows",
                      column.name, set.name));
    }
    if (const std::size_t familiar = familiar_rows(report, column); familiar > 0) {
      report.notes.push_back(
          fmt::format("{}: {} of families it was trained on, perhaps of the very kernels: its card "
                      "has the figures of held-out rows",
                      column.name, rows_of(familiar)));
    }
  }
}

void add_notes(EvaluationReport& report) {
  add_notes_on_models(report);
  for (const measured::ScoredSet& set : report.sheet.sets) {
    if (!set.faults.empty()) {
      report.notes.push_back(fmt::format("{}: {} left out: {}", set.name,
                                         rows_of(set.faults.size()), fault_summary(set.faults)));
    }
    if (set.with_dispatch > 0) {
      report.notes.push_back(
          fmt::format("{}: {} of {} rows hold the host's dispatch, unmeasured; they are compared "
                      "with the model's time plus a dispatch floor",
                      set.name, set.with_dispatch, set.rows));
    }
  }
  const Stratum& all = report.evaluation.strata.front();
  if (all.kernels_without_fastest > 0) {
    report.notes.push_back(fmt::format(
        "the fastest tile measured of {} of {} kernels was not answered by every model: "
        "what choices of tiles lose is against the fastest answered",
        all.kernels_without_fastest, all.kernels_with_tiles));
  }
  for (std::size_t i = 0; i < report.columns.size(); ++i) {
    const measured::Scores& scores = all.columns[i];
    if (scores.answered < all.rows_measured) {
      report.notes.push_back(fmt::format(
          "{}: {} of {} rows not answered; no model is scored on them", report.columns[i].name,
          all.rows_measured - scores.answered, all.rows_measured));
    }
    if (scores.kernels_ranked < all.kernels_with_tiles) {
      report.notes.push_back(
          fmt::format("{}: says the same for every tile of {} of {} kernels: it cannot rank them",
                      report.columns[i].name, all.kernels_with_tiles - scores.kernels_ranked,
                      all.kernels_with_tiles));
    }
  }
}

}  // namespace

std::vector<std::optional<analytical::Estimate>> RankingModel::estimate(
    std::span<const analytical::KernelQuery> queries, const hwdesc::Device& device) const {
  constexpr double kLargestExponent = 700;  // exp() of it is finite and not 0
  std::vector<double> scores(queries.size());
  predictor_->predict(queries, device, priors_for(*predictor_, prior_, queries, device), scores);
  std::vector<std::optional<analytical::Estimate>> estimates(queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!std::isfinite(scores[i])) continue;
    const double score = std::clamp(scores[i], -kLargestExponent, kLargestExponent);
    estimates[i].emplace();
    estimates[i]->time = Seconds{std::exp(score)};
  }
  return estimates;
}

bool is_measured_on(const hwdesc::Device& device, const std::string& measured_on) {
  std::error_code failed;
  if (!device.file.empty() && std::filesystem::equivalent(device.file, measured_on, failed)) {
    return true;
  }
  const std::string name =
      hwdesc::is_path(measured_on) ? hwdesc::load_device(measured_on).name : measured_on;
  return device.lineage_distance(name).has_value();
}

std::string fault_summary(std::span<const measured::RowFault> faults) {
  std::map<measured::RowFault::Kind, std::size_t> counts;
  for (const measured::RowFault& fault : faults) ++counts[fault.kind];
  std::string text;
  for (const auto& [kind, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, measured::name(kind));
  }
  return text;
}

EvaluationReport evaluate_sets(std::span<const std::string> paths,
                               std::vector<hwdesc::Device> devices,
                               std::vector<ModelColumn> columns,
                               const EvaluateSetsOptions& options) {
  EvaluationReport report;
  report.devices = std::move(devices);
  report.columns = std::move(columns);
  for (const ModelColumn& column : report.columns) {
    report.sheet.columns.push_back(column.name);
    report.sheet.ranks_only.push_back(column.ranks_only);
  }
  for (const std::string& path : paths) {
    measured::MeasurementSet set = measured::read_measurement_set(path);
    tell_apart(set, path, report.sheet);
    answer(set, report, options);
  }
  if (report.sheet.rows.empty()) {
    std::string why = "no row of these sets can be scored on these devices";
    for (const std::string& note : report.notes) why += "; " + note;
    for (const measured::ScoredSet& set : report.sheet.sets) {
      if (!set.faults.empty())
        why += fmt::format("; {}: left out: {}", set.name, fault_summary(set.faults));
    }
    throw Error(why);
  }
  report.evaluation = measured::evaluate(report.sheet, options.evaluation);
  add_notes(report);
  return report;
}

}  // namespace tilecast::sim
