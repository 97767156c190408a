#include "hybrid/experiment_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analytical/analytical_model.h"
#include "analytical/parallel.h"
#include "analytical/roofline.h"
#include "diag/error.h"
#include "hwdesc/device_yaml.h"
#include "hybrid/calibrate.h"
#include "hybrid/experiment_scores.h"
#include "hybrid/experiment_splits.h"

namespace tilecast::hybrid {
namespace {

using hwdesc::Device;
using learned::Prediction;
using learned::SampleSet;
using learned::ScoreSheet;

// The sets of an experiment on their devices.
struct Loaded {
  std::vector<SampleSet> sets;
  std::vector<Device> devices;     // by set
  std::vector<std::string> names;  // of the source, by set
};

// `count` rows of `device`, and none of another; nothing to do when there are not more.
void sample(learned::MeasurementSet& set, const std::string& device, std::size_t count,
            std::uint64_t seed) {
  std::vector<std::size_t> of_device;
  for (std::size_t i = 0; i < set.rows.size(); ++i) {
    if (set.rows[i].device == device) of_device.push_back(i);
  }
  if (of_device.size() > count) of_device = learned::sampled_rows(of_device, count, seed).fit;
  std::vector<learned::MeasurementRow> rows;
  for (const std::size_t i : of_device) rows.push_back(set.rows[i]);
  set.rows = std::move(rows);
}

void load_source(const Experiment& experiment, const ExperimentSource& source, ExperimentData& data,
                 const RunOptions& options, Loaded& loaded, ExperimentResult& result) {
  const std::vector<std::string> devices =
      source.devices.empty() ? std::vector<std::string>{experiment.device} : source.devices;
  for (const std::string& name : devices) {
    const Device device = hwdesc::load_device(name);
    learned::MeasurementSet set = data.read(source, name);
    const std::size_t all = set.rows.size();
    if (source.sample_rows > 0) sample(set, name, source.sample_rows, source.sample_seed);
    SampleSet samples = learned::make_samples(set, device, {.jobs = options.jobs});
    samples.name = devices.size() > 1 ? fmt::format("{} {}", source.name, name) : source.name;
    if (samples.samples.empty()) {
      throw Error(fmt::format("{}: data {}: no row that can be used on {}", experiment.file,
                              source.name, name));
    }
    if (set.rows.size() < all && source.sample_rows > 0) {
      result.notes.push_back(fmt::format("{}: {} random rows (seed {}) of {} of all devices",
                                         samples.name, set.rows.size(), source.sample_seed, all));
    }
    result.sets.push_back({.name = samples.name,
                           .hash = samples.hash,
                           .device = samples.measured_on,
                           .rows = samples.samples.size(),
                           .left_out = samples.faults.size()});
    result.sets.back().with_dispatch = static_cast<std::size_t>(
        std::ranges::count(samples.samples, true, &learned::Sample::holds_dispatch));
    loaded.sets.push_back(std::move(samples));
    loaded.devices.push_back(device);
    loaded.names.push_back(source.name);
  }
}

Loaded load(const Experiment& experiment, ExperimentData& data, const RunOptions& options,
            ExperimentResult& result) {
  Loaded loaded;
  for (const ExperimentSource& source : experiment.data) {
    load_source(experiment, source, data, options, loaded, result);
  }
  return loaded;
}

std::size_t column_index(const Experiment& experiment, std::string_view column) {
  return static_cast<std::size_t>(std::ranges::find(experiment.columns, column) -
                                  experiment.columns.begin());
}

// All rows, in the order of rows_of; the calibrated column is as the analytical one.
ScoreSheet base_sheet(const Experiment& experiment, const Loaded& loaded, int jobs) {
  const analytical::AnalyticalModel analytical;
  const analytical::RooflineModel roofline;
  ScoreSheet sheet{.columns = experiment.columns};
  for (std::size_t i = 0; i < loaded.sets.size(); ++i) {
    const learned::PredictionPlan plan(loaded.sets[i]);
    const std::vector<Prediction> prior = plan.predict(analytical, loaded.devices[i], jobs);
    const std::vector<Prediction> bound = plan.predict(roofline, loaded.devices[i], jobs);
    std::vector<learned::Answers> answers;
    for (const std::string& column : experiment.columns) {
      answers.push_back({loaded.sets[i], column == "roofline" ? bound : prior});
    }
    learned::add_answers(sheet, answers);
  }
  return sheet;
}

// The samples of `all` at `rows`, in place of those of `some`, which has the same works.
void choose(std::span<const SampleSet> all, std::span<const ExperimentRow> rows,
            const std::vector<std::size_t>& chosen, std::vector<SampleSet>& some) {
  for (SampleSet& set : some) set.samples.clear();
  for (const std::size_t row : chosen) {
    some[rows[row].set].samples.push_back(all[rows[row].set].samples[rows[row].sample]);
  }
}

std::size_t count_works(std::span<const SampleSet> sets) {
  std::set<std::string> prints;
  for (const SampleSet& set : sets) {
    for (const learned::Sample& s : set.samples) prints.insert(set.works[s.work].fingerprint);
  }
  return prints.size();
}

void describe(const Calibrated& calibrated, Round& round) {
  constexpr double kMicrosecondsPerSecond = 1e6;
  round.accepted = calibrated.accepted;
  if (!calibrated.accepted) return;
  for (const FittedConstant& c : calibrated.constants) {
    if (c.fitted == c.described) continue;
    round.changed.push_back(
        c.is_time ? fmt::format("{} {:.4g} us", c.name, c.fitted * kMicrosecondsPerSecond)
                  : fmt::format("{} x {:.3f}", c.name, c.fitted));
  }
}

// Calibrates round by round and collects the scored rows.
class Runner {
 public:
  Runner(const Experiment& experiment, const Loaded& loaded, int jobs)
      : experiment_(experiment),
        loaded_(loaded),
        base_(base_sheet(experiment, loaded, jobs)),
        rows_(rows_of(loaded.sets)),
        calibrated_(column_index(experiment, "calibrated")) {
    for (std::size_t i = 0; i < loaded.sets.size(); ++i) {
      const auto n = std::ranges::count(base_.rows, i, &learned::ScoredRow::set);
      TC_CHECK(static_cast<std::size_t>(n) == loaded.sets[i].samples.size(), "one row per sample");
    }
  }

  // One calibration and the rows it scores.
  struct Answer {
    Round round;
    std::vector<learned::ScoredRow> rows;
  };
  [[nodiscard]] Answer run(const NamedSplit& named, int jobs) const {
    Answer answer;
    answer.round.name = named.name;
    answer.round.fit_rows = named.split.fit.size();
    answer.round.score_rows = named.split.score.size();
    answer.round.fitted = experiment_.split.kind != SplitKind::kNone;
    for (const std::size_t row : named.split.score) answer.rows.push_back(base_.rows[row]);
    if (answer.round.fitted) calibrate_and_predict(named, jobs, answer);
    return answer;
  }

  // No rows yet.
  [[nodiscard]] ScoreSheet empty_sheet() const {
    ScoreSheet sheet = base_;
    sheet.rows.clear();
    return sheet;
  }

 private:
  void calibrate_and_predict(const NamedSplit& named, int jobs, Answer& answer) const {
    const Device& described = loaded_.devices.front();
    std::vector<SampleSet> chosen = loaded_.sets;
    choose(loaded_.sets, rows_, named.split.fit, chosen);
    answer.round.fit_works = count_works(chosen);
    const Calibrated calibrated = calibrate(chosen, described, model_, {.fixed = {}, .jobs = jobs});
    describe(calibrated, answer.round);
    choose(loaded_.sets, rows_, named.split.score, chosen);
    std::size_t row = 0;
    for (const SampleSet& set : chosen) {
      for (const Prediction& p : learned::predict(set, model_, calibrated.device, jobs)) {
        const double time_s = p.comparable().value;
        const bool usable = p.answered && std::isfinite(time_s) && time_s > 0;
        answer.rows[row++].predicted_s[calibrated_] = usable ? std::optional(time_s) : std::nullopt;
      }
    }
  }

  const Experiment& experiment_;
  const Loaded& loaded_;
  analytical::AnalyticalModel model_;
  ScoreSheet base_;
  std::vector<ExperimentRow> rows_;
  std::size_t calibrated_;
};

// All rounds, several at a time; sheets as score_strata takes them.
std::vector<ScoreSheet> run_rounds(const Runner& runner, std::span<const NamedSplit> splits,
                                   bool seeds, int jobs, std::vector<Round>& rounds) {
  std::vector<Runner::Answer> answers(splits.size());
  const int inner = splits.size() > 1 ? 1 : jobs;
  analytical::parallel_for(splits.size(), jobs,
                           [&](std::size_t i) { answers[i] = runner.run(splits[i], inner); });
  std::vector<ScoreSheet> sheets;
  for (Runner::Answer& answer : answers) {
    if (seeds || sheets.empty()) sheets.push_back(runner.empty_sheet());
    std::ranges::move(answer.rows, std::back_inserter(sheets.back().rows));
    rounds.push_back(std::move(answer.round));
  }
  return sheets;
}

bool over_seeds(const Experiment& experiment) {
  const SplitKind kind = experiment.split.kind;
  return (kind == SplitKind::kSampledRows || kind == SplitKind::kSampledWorks) &&
         experiment.split.seeds > 1;
}

// Rows that no round fitted or scored, by op class.
void note_rows_apart(const Loaded& loaded, std::span<const NamedSplit> splits,
                     ExperimentResult& result) {
  const std::vector<ExperimentRow> rows = rows_of(loaded.sets);
  std::vector<bool> used(rows.size());
  for (const NamedSplit& named : splits) {
    for (const std::size_t row : named.split.fit) used[row] = true;
    for (const std::size_t row : named.split.score) used[row] = true;
  }
  for (std::size_t set = 0; set < loaded.sets.size(); ++set) {
    std::map<std::string, std::size_t> apart;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const SampleSet& of_row = loaded.sets[rows[i].set];
      if (rows[i].set != set || used[i]) continue;
      ++apart[of_row.works[of_row.samples[rows[i].sample].work].op_class];
    }
    std::vector<std::string> classes;
    for (const auto& [op_class, count] : apart) {
      classes.push_back(fmt::format("{} of {}", count, op_class));
    }
    if (classes.empty()) continue;
    result.notes.push_back(fmt::format("{}: rows neither fitted nor scored: {}",
                                       loaded.sets[set].name, fmt::join(classes, ", ")));
  }
}

void add_notes(const Experiment& experiment, ExperimentResult& result) {
  const ResultStratum& all = result.strata.front();
  if (all.rows < all.rows_measured) {
    result.notes.push_back(
        fmt::format("{} of {} rows were not answered by every column and are "
                    "scored for none",
                    all.rows_measured - all.rows, all.rows_measured));
  }
  if (all.kernels_without_fastest > 0) {
    result.notes.push_back(fmt::format(
        "the fastest tile measured of {} of {} kernels was not answered by every column: what "
        "choices of tiles lose is against the fastest answered",
        all.kernels_without_fastest, all.kernels_with_tiles));
  }
  std::size_t with_dispatch = 0;
  for (const ResultSet& set : result.sets) with_dispatch += set.with_dispatch;
  if (with_dispatch == 0) return;
  result.notes.push_back(fmt::format(
      "{} rows hold the host's dispatch, unmeasured: predictions of them add the floor that the "
      "set's manifest publishes{}",
      with_dispatch,
      experiment.split.kind == SplitKind::kNone
          ? ""
          : ", the calibrated column the fitted one for op classes with fitted rows"));
}

}  // namespace

std::size_t ExperimentResult::refused() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      rounds, [](const Round& round) { return round.fitted && !round.accepted; }));
}

ExperimentResult run_experiment(const Experiment& experiment, ExperimentData& data,
                                const RunOptions& options) {
  ExperimentResult result;
  result.experiment = experiment;
  result.notes = experiment.notes;
  const Loaded loaded = load(experiment, data, options, result);
  const std::vector<NamedSplit> splits = experiment_splits(experiment, loaded.sets, loaded.names);
  const Runner runner(experiment, loaded, options.jobs);
  const std::vector<ScoreSheet> sheets =
      run_rounds(runner, splits, over_seeds(experiment), options.jobs, result.rounds);
  result.strata = score_strata(experiment, sheets, options.jobs);
  result.bars = check_bars(experiment, result.strata);
  note_rows_apart(loaded, splits, result);
  add_notes(experiment, result);
  return result;
}

}  // namespace tilecast::hybrid
