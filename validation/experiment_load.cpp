#include "validation/experiment_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "analytical/analytical_model.h"
#include "analytical/bottleneck.h"
#include "analytical/roofline.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "measured/importers/column_mapping.h"
#include "measured/splits.h"
#include "validation/experiment_splits.h"

namespace tilecast::validation {
namespace {

using hwdesc::Device;
using measured::SampleSet;

// `count` rows of `device`, and none of another; nothing to do when there are not more.
void sample(measured::MeasurementSet& set, const std::string& device, std::size_t count,
            std::uint64_t seed) {
  std::vector<std::size_t> of_device;
  for (std::size_t i = 0; i < set.rows.size(); ++i) {
    if (set.rows[i].device == device) of_device.push_back(i);
  }
  if (of_device.size() > count) of_device = measured::sampled_rows(of_device, count, seed).fit;
  std::vector<measured::MeasurementRow> rows;
  for (const std::size_t i : of_device) rows.push_back(set.rows[i]);
  set.rows = std::move(rows);
}

// Paths below the current folder are shown from there; names stay.
std::string display_path(const std::string& device) {
  if (!hwdesc::is_path(device)) return device;
  const std::string from_here =
      std::filesystem::path(device).lexically_proximate(std::filesystem::current_path()).string();
  return from_here.starts_with("..") ? device : from_here;
}

void add_default_rows(const Experiment& experiment, const measured::MeasurementSet& set,
                      const SampleSet& samples, std::vector<bool>& is_default) {
  std::set<int> lines;
  for (const measured::MeasurementRow& row : set.rows) {
    if (!experiment.default_run) break;
    const auto& [column, like] = *experiment.default_run;
    const std::string_view cell = set.table.cell(set.table.rows[row.table_row], column);
    if (std::ranges::any_of(like, [&](const auto& p) { return measured::fits_pattern(p, cell); })) {
      lines.insert(row.line);
    }
  }
  for (const measured::Sample& sample : samples.samples) {
    is_default.push_back(lines.contains(sample.line));
  }
}

bool teaches_times(const Experiment& experiment) {
  return std::ranges::all_of(experiment.learners, [](const learned::LearnerSpec& learner) {
    return learner.target.is_time();
  });
}

void load_source(const Experiment& experiment, const ExperimentSource& source, ExperimentData& data,
                 int jobs, LoadedSets& loaded) {
  const std::vector<std::string> devices =
      source.devices.empty() ? std::vector<std::string>{experiment.device} : source.devices;
  for (const std::string& name : devices) {
    const Device device = hwdesc::load_device(name);
    measured::MeasurementSet set = data.read(source, name);
    const std::size_t all = set.rows.size();
    if (source.sample_rows > 0) sample(set, name, source.sample_rows, source.sample_seed);
    SampleSet samples =
        measured::make_samples(set, device, {.untimed = !teaches_times(experiment), .jobs = jobs});
    samples.name = devices.size() > 1 ? fmt::format("{} {}", source.name, name) : source.name;
    if (samples.samples.empty()) {
      throw Error(fmt::format("{}: data {}: no row that can be used on {}", experiment.file,
                              source.name, name));
    }
    if (set.rows.size() < all && source.sample_rows > 0) {
      loaded.notes.push_back(fmt::format("{}: {} random rows (seed {}) of {} of all devices",
                                         samples.name, set.rows.size(), source.sample_seed, all));
    }
    loaded.described.push_back({.name = samples.name,
                                .hash = samples.hash,
                                .device = display_path(samples.measured_on),
                                .rows = samples.samples.size(),
                                .left_out = samples.faults.size()});
    loaded.described.back().with_dispatch = static_cast<std::size_t>(
        std::ranges::count(samples.samples, true, &measured::Sample::holds_dispatch));
    add_default_rows(experiment, set, samples, loaded.is_default);
    loaded.sets.push_back(std::move(samples));
    loaded.devices.push_back(device);
    loaded.names.push_back(source.name);
  }
}

}  // namespace

LoadedSets load_sets(const Experiment& experiment, ExperimentData& data, int jobs) {
  LoadedSets loaded;
  for (const ExperimentSource& source : experiment.data) {
    load_source(experiment, source, data, jobs, loaded);
  }
  return loaded;
}

std::vector<SampleSet> restricted(std::span<const SampleSet> sets,
                                  std::span<const std::size_t> rows) {
  const std::vector<ExperimentRow> all = rows_of(sets);
  std::vector<SampleSet> kept(sets.begin(), sets.end());
  for (SampleSet& set : kept) set.samples.clear();
  for (const std::size_t row : rows) {
    kept[all[row].set].samples.push_back(sets[all[row].set].samples[all[row].sample]);
  }
  return kept;
}

std::size_t column_index(const Experiment& experiment, std::string_view column) {
  return static_cast<std::size_t>(std::ranges::find(experiment.columns, column) -
                                  experiment.columns.begin());
}

measured::ScoreSheet base_sheet(const Experiment& experiment, const LoadedSets& loaded, int jobs) {
  const analytical::AnalyticalModel analytical;
  const analytical::RooflineModel roofline;
  const analytical::BottleneckModel bottleneck;
  const std::pair<std::string_view, const analytical::CostModel&> baselines[] = {
      {"roofline", roofline}, {"bottleneck", bottleneck}};
  measured::ScoreSheet sheet{.columns = experiment.columns};
  for (const std::string& column : experiment.columns) {
    const learned::LearnerSpec* learner = experiment.learner(column);
    sheet.ranks_only.push_back(learner != nullptr && learner->ranks_only());
  }
  for (std::size_t i = 0; i < loaded.sets.size(); ++i) {
    const measured::PredictionPlan plan(loaded.sets[i]);
    const std::vector<measured::Prediction> prior =
        plan.predict(analytical, loaded.devices[i], jobs);
    std::map<std::string_view, std::vector<measured::Prediction>> of_baseline;
    for (const auto& [name, model] : baselines) {
      if (column_index(experiment, name) == experiment.columns.size()) continue;
      of_baseline[name] = plan.predict(model, loaded.devices[i], jobs);
    }
    std::vector<measured::Answers> answers;
    for (const std::string& column : experiment.columns) {
      const auto baseline = of_baseline.find(column);
      answers.push_back({loaded.sets[i], baseline == of_baseline.end() ? prior : baseline->second});
    }
    measured::add_answers(sheet, answers);
  }
  return sheet;
}

}  // namespace tilecast::validation
