#include "sim/training/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "analytical/analytical_model.h"
#include "analytical/roofline.h"
#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/device_yaml.h"
#include "measured/importers/importer.h"
#include "measured/importers/set_writer.h"
#include "measured/splits.h"

namespace tilecast::sim::training {
namespace {

namespace fs = std::filesystem;
using hwdesc::Device;
using measured::SampleSet;

// Creates a set of one row from a module and its time.
void import_program(const DataSource& source, const std::string& file, const std::string& device,
                    const measured::ImportOptions& options) {
  constexpr double kNanosecondsPerSecond = 1e9;
  const std::string name = fs::path(file).filename().string();
  const auto text = base::SourceText::read_file(file);
  measured::SetWriter writer(options);
  writer.begin_rows({"program", "runtime_ns"});
  writer.add({name, fmt::format("{:.0f}", source.runtime_s * kNanosecondsPerSecond)});
  writer.add_file(name, text.text());
  measured::Manifest manifest;
  manifest.name = source.name;
  manifest.device = device;
  manifest.source = source.source;
  manifest.licence = source.licence;
  manifest.how_timed = source.how_timed;
  writer.commit(manifest);
}

// Keeps `count` random rows of `device` and none of other devices; no change if there are not more.
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

// Shows paths below the current folder as relative paths; names are unchanged.
std::string display_path(const std::string& device) {
  if (!hwdesc::is_path(device)) return device;
  const std::string from_here =
      std::filesystem::path(device).lexically_proximate(std::filesystem::current_path()).string();
  return from_here.starts_with("..") ? device : from_here;
}

bool teaches_times(const TrainingFile& file) {
  return std::ranges::all_of(
      file.learners, [](const learned::LearnerSpec& learner) { return learner.target.is_time(); });
}

void load_source(const TrainingFile& file, const DataSource& source, ImportedData& data, int jobs,
                 const SeenSet& seen, LoadedSets& loaded) {
  const std::vector<std::string> devices =
      source.devices.empty() ? std::vector<std::string>{file.device} : source.devices;
  for (const std::string& name : devices) {
    const Device device = hwdesc::load_device(name);
    measured::MeasurementSet set = data.read(source, name);
    const std::size_t all = set.rows.size();
    if (source.sample_rows > 0) sample(set, name, source.sample_rows, source.sample_seed);
    SampleSet samples =
        measured::make_samples(set, device, {.untimed = !teaches_times(file), .jobs = jobs});
    samples.name = devices.size() > 1 ? fmt::format("{} {}", source.name, name) : source.name;
    if (samples.samples.empty()) {
      throw Error(
          fmt::format("{}: data {}: no row that can be used on {}", file.file, source.name, name));
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
    if (seen) seen(set, samples);
    loaded.sets.push_back(std::move(samples));
    loaded.devices.push_back(device);
    loaded.names.push_back(source.name);
  }
}

}  // namespace

ImportedData::ImportedData(std::string folder) : folder_(std::move(folder)) {
  std::string made = (fs::temp_directory_path() / "tilecast-validate-XXXXXX").string();
  if (mkdtemp(made.data()) == nullptr) {
    throw Error(fmt::format("{}: cannot make a temporary folder: {}", made, std::strerror(errno)));
  }
  temporary_ = made;
}

ImportedData::~ImportedData() {
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

std::string ImportedData::path(const std::string& from) const {
  return (fs::path(folder_) / from).lexically_normal().string();
}

std::optional<std::string> ImportedData::missing(const TrainingFile& file) const {
  std::error_code failure;
  for (const DataSource& source : file.data) {
    for (const std::string& from : source.from) {
      if (!fs::exists(path(from), failure)) return path(from);
    }
  }
  return std::nullopt;
}

void ImportedData::import(const DataSource& source, const std::string& device,
                          const std::string& target) const {
  measured::ImportOptions options;
  options.output = target;
  std::vector<std::string> inputs;
  for (const std::string& from : source.from) inputs.push_back(path(from));
  if (source.importer == "program") {
    import_program(source, inputs.front(), device, options);
  } else {
    static_cast<void>(measured::import_operators(inputs, source.mapping, options));
  }
}

measured::MeasurementSet ImportedData::read(const DataSource& source, const std::string& device) {
  if (source.importer == "set") return measured::read_measurement_set(path(source.from.front()));
  const std::string key = fmt::format(
      "{}\n{}\n{}\n{}\n{}", source.importer, source.mapping, fmt::join(source.from, "\n"),
      source.runtime_s, source.importer == "program" ? source.name + "\n" + device : "");
  const auto known = imported_.find(key);
  if (known != imported_.end()) return measured::read_measurement_set(known->second);
  const std::string target =
      (fs::path(temporary_) / fmt::format("set{}", imported_.size())).string();
  import(source, device, target);
  imported_.emplace(key, target);
  return measured::read_measurement_set(target);
}

LoadedSets load_sets(const TrainingFile& file, ImportedData& data, int jobs, const SeenSet& seen) {
  LoadedSets loaded;
  for (const DataSource& source : file.data) {
    load_source(file, source, data, jobs, seen, loaded);
  }
  return loaded;
}

std::vector<RowPlace> rows_of(std::span<const SampleSet> sets) {
  std::vector<RowPlace> rows;
  for (std::size_t set = 0; set < sets.size(); ++set) {
    for (std::size_t i = 0; i < sets[set].samples.size(); ++i) rows.push_back({set, i});
  }
  return rows;
}

std::vector<SampleSet> restricted(std::span<const SampleSet> sets,
                                  std::span<const std::size_t> rows) {
  const std::vector<RowPlace> all = rows_of(sets);
  std::vector<SampleSet> kept(sets.begin(), sets.end());
  for (SampleSet& set : kept) set.samples.clear();
  for (const std::size_t row : rows) {
    kept[all[row].set].samples.push_back(sets[all[row].set].samples[all[row].sample]);
  }
  return kept;
}

measured::ScoreSheet base_sheet(const TrainingFile& file, const std::vector<std::string>& columns,
                                const LoadedSets& loaded, int jobs) {
  const analytical::AnalyticalModel analytical;
  const analytical::RooflineModel roofline;
  const analytical::BottleneckModel bottleneck;
  const std::pair<std::string_view, const analytical::CostModel&> baselines[] = {
      {"roofline", roofline}, {"bottleneck", bottleneck}};
  measured::ScoreSheet sheet{.columns = columns};
  for (const std::string& column : columns) {
    const learned::LearnerSpec* learner = file.learner(column);
    sheet.ranks_only.push_back(learner != nullptr && learner->ranks_only());
  }
  for (std::size_t i = 0; i < loaded.sets.size(); ++i) {
    const measured::PredictionPlan plan(loaded.sets[i]);
    const std::vector<measured::Prediction> prior =
        plan.predict(analytical, loaded.devices[i], jobs);
    std::map<std::string_view, std::vector<measured::Prediction>> of_baseline;
    for (const auto& [name, model] : baselines) {
      if (std::ranges::find(columns, name) == columns.end()) continue;
      of_baseline[name] = plan.predict(model, loaded.devices[i], jobs);
    }
    std::vector<measured::Answers> answers;
    for (const std::string& column : columns) {
      const auto baseline = of_baseline.find(column);
      answers.push_back({loaded.sets[i], baseline == of_baseline.end() ? prior : baseline->second});
    }
    measured::add_answers(sheet, answers);
  }
  return sheet;
}

RowAnswers predict_rows(const analytical::CostModel& model, const LoadedSets& loaded,
                        const std::vector<Device>& devices, std::span<const std::size_t> rows,
                        int jobs) {
  RowAnswers answers;
  const std::vector<SampleSet> asked = restricted(loaded.sets, rows);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    for (const measured::Prediction& one : measured::predict(asked[i], model, devices[i], jobs)) {
      const double time_s = one.comparable().value;
      const bool usable = one.answered && std::isfinite(time_s) && time_s > 0;
      answers.predicted_s.push_back(usable ? std::optional(time_s) : std::nullopt);
      answers.interval_s.push_back(usable ? one.interval : std::nullopt);
    }
  }
  return answers;
}

}  // namespace tilecast::sim::training
