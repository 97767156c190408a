#include "validation/experiment_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <set>

#include "analytical/analytical_model.h"
#include "analytical/roofline.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"
#include "hybrid/prepared_fit.h"
#include "measured/importers/column_mapping.h"
#include "sim/training/training.h"
#include "validation/experiment_scores.h"

namespace tilecast::validation {
namespace {

using hwdesc::Device;
using measured::Metric;
using measured::SampleSet;
using measured::ScoreSheet;
using sim::training::kAnalyticalScaled;
using sim::training::LearnedRows;
using sim::training::LoadedSets;
using sim::training::NamedSplit;
using sim::training::restricted;
using sim::training::RowAnswers;
using sim::training::SplitKind;

void count(const std::vector<SampleSet>& sets, std::size_t& works, std::size_t& programs) {
  std::set<std::string> prints, families;
  for (const SampleSet& set : sets) {
    for (const measured::Sample& s : set.samples) {
      prints.insert(set.works[s.work].fingerprint);
      const std::string& family = set.works[s.work].family;
      if (!family.empty()) families.insert(family);
    }
  }
  works = prints.size();
  programs = families.size();
}

void count(const LoadedSets& loaded, const measured::Split& split, Round& round) {
  round.fit_rows = split.fit.size();
  round.score_rows = split.score.size();
  count(restricted(loaded.sets, split.fit), round.fit_works, round.fit_programs);
  count(restricted(loaded.sets, split.score), round.score_works, round.score_programs);
}

void describe(const hybrid::PreparedFit& prepared, Round& round) {
  constexpr double kMicrosecondsPerSecond = 1e6;
  round.calibrated = true;
  round.notes = prepared.notes;
  for (const hybrid::Calibrated& calibrated : prepared.calibrated) {
    if (!calibrated.accepted) continue;
    round.accepted = true;
    const std::string of =
        prepared.calibrated.size() > 1 ? calibrated.device.name + ": " : std::string();
    for (const hybrid::FittedConstant& c : calibrated.constants) {
      if (c.fitted == c.described) continue;
      round.changed.push_back(
          of + (c.is_time ? fmt::format("{} {:.4g} us", c.name, c.fitted * kMicrosecondsPerSecond)
                          : fmt::format("{} x {:.3f}", c.name, c.fitted)));
    }
  }
}

HybridRound describe(const hybrid::HybridSpec& spec, const hybrid::FittedHybrid& fitted) {
  return {.hybrid = spec.name,
          .report = fitted.report,
          .trial_by = fitted.trial_by,
          .rows = fitted.rows,
          .kernels = fitted.kernels,
          .correlation = fitted.parts.correlation,
          .notes = fitted.notes};
}

// What the set's table says of a row.
struct RowFacts {
  bool is_default = false;                         // it belongs to the default run of its program
  std::vector<std::optional<double>> others = {};  // by Experiment::others
};

// Fits each round and collects the scored rows.
class Runner {
 public:
  // `facts`: by row.
  Runner(const Experiment& experiment, const LoadedSets& loaded, const std::vector<RowFacts>& facts,
         int jobs)
      : experiment_(experiment),
        loaded_(loaded),
        facts_(facts),
        base_(base_sheet(experiment, experiment.columns, loaded, jobs)) {
    if (!experiment.learners.empty()) learned_.emplace(model_, experiment, loaded, jobs);
    for (std::size_t i = 0; i < loaded.sets.size(); ++i) {
      const auto n = std::ranges::count(base_.rows, i, &measured::ScoredRow::set);
      TC_CHECK(static_cast<std::size_t>(n) == loaded.sets[i].samples.size(), "one row per sample");
    }
    std::size_t other = 0;
    for (const auto& [name, cell] : experiment.others) {
      const std::size_t column = experiment.column_index(name);
      base_.ranks_only[column] = true;
      for (std::size_t i = 0; i < facts.size(); ++i) {
        base_.rows[i].predicted_s[column] = facts[i].others[other];
      }
      ++other;
    }
  }

  // One round and its scored rows, with the columns that need no fit.
  struct Answer {
    Round round;
    std::vector<measured::ScoredRow> rows;
  };
  [[nodiscard]] Answer begin(const NamedSplit& named) const {
    Answer answer;
    answer.round.name = named.name;
    count(loaded_, named.split, answer.round);
    answer.round.fitted = experiment_.split.kind != SplitKind::kNone;
    answer.round.learned.resize(experiment_.learners.size());
    answer.round.hybrids.resize(experiment_.hybrids.size());
    for (const std::size_t row : named.split.score) {
      answer.rows.push_back(base_.rows[row]);
      if (!experiment_.hybrids.empty()) {
        answer.rows.back().interval_s.resize(experiment_.columns.size());
      }
    }
    if (experiment_.has_column(kAnalyticalScaled)) {
      std::vector<bool> is_default;
      for (const std::size_t row : named.split.score) {
        is_default.push_back(facts_[row].is_default);
      }
      answer.round.scaled = scale_by_class(
          base_.works, is_default, experiment_.column_index(kAnalyticalScaled), answer.rows);
    }
    return answer;
  }

  // Independent tasks of one round, which may run concurrently: each writes its own column.
  [[nodiscard]] std::size_t fits_per_round() const {
    return experiment_.learners.size() + experiment_.hybrids.size() +
           (experiment_.calibrates() ? 1 : 0);
  }
  void fit(std::size_t which, std::size_t round, const NamedSplit& named, int jobs,
           Answer& answer) const {
    const std::size_t learners = experiment_.learners.size();
    if (which < learners) return learn(which, round, named, answer);
    if (which < learners + experiment_.hybrids.size()) {
      return correct(which - learners, round, named, jobs, answer);
    }
    calibrate_and_predict(named, jobs, answer);
  }

  // A sheet without rows.
  [[nodiscard]] ScoreSheet empty_sheet() const {
    ScoreSheet sheet = base_;
    sheet.rows.clear();
    return sheet;
  }
  [[nodiscard]] std::vector<std::string> notes() const {
    return learned_ ? learned_->notes() : std::vector<std::string>();
  }

 private:
  void learn(std::size_t which, std::size_t round, const NamedSplit& named, Answer& answer) const {
    const learned::LearnerSpec& learner = experiment_.learners[which];
    auto learned = learned_->run(learner, named.split, round);
    answer.round.learned[which] = std::move(learned.round);
    put({std::move(learned.predicted_s), {}}, learner.name, answer);
  }

  void correct(std::size_t which, std::size_t round, const NamedSplit& named, int jobs,
               Answer& answer) const {
    const hybrid::HybridSpec& spec = experiment_.hybrids[which];
    HybridAnswer predicted = answer_hybrid(model_, spec, loaded_, named.split, round, jobs);
    answer.round.hybrids[which] = std::move(predicted.round);
    put(predicted, spec.name, answer);
  }

  void calibrate_and_predict(const NamedSplit& named, int jobs, Answer& answer) const {
    const hybrid::PreparedFit prepared =
        hybrid::prepare_fit(model_, restricted(loaded_.sets, named.split.fit), loaded_.devices,
                            {.constants = {.accept_suspicious = true, .jobs = jobs}});
    describe(prepared, answer.round);
    std::vector<Device> devices;
    for (const Device& device : loaded_.devices) {
      devices.push_back(hybrid::fitted_device(prepared, device));
    }
    RowAnswers answers = predict_rows(model_, loaded_, devices, named.split.score, jobs);
    answers.interval_s.clear();
    put(answers, "calibrated", answer);
  }

  void put(const RowAnswers& answers, const std::string& name, Answer& answer) const {
    const std::size_t column = experiment_.column_index(name);
    TC_CHECK(answers.predicted_s.size() == answer.rows.size(), "one answer per scored row");
    for (std::size_t i = 0; i < answer.rows.size(); ++i) {
      answer.rows[i].predicted_s[column] = answers.predicted_s[i];
      if (!answers.interval_s.empty()) answer.rows[i].interval_s[column] = answers.interval_s[i];
    }
  }

  const Experiment& experiment_;
  const LoadedSets& loaded_;
  const std::vector<RowFacts>& facts_;
  analytical::AnalyticalModel model_;
  ScoreSheet base_;
  std::optional<LearnedRows> learned_;
};

// Runs all rounds, several fits at a time; returns sheets for score_strata().
std::vector<ScoreSheet> run_rounds(const Runner& runner, std::span<const NamedSplit> splits,
                                   bool seeds, const RunOptions& options,
                                   std::vector<Round>& rounds) {
  std::vector<Runner::Answer> answers;
  for (const NamedSplit& named : splits) answers.push_back(runner.begin(named));
  const std::size_t fits = runner.fits_per_round();
  const std::size_t tasks = fits * splits.size();
  const int inner = tasks > 1 ? 1 : options.jobs;
  std::atomic<std::size_t> done = 0;
  base::parallel_for(tasks, options.jobs, [&](std::size_t task) {
    const std::size_t round = task / fits;
    runner.fit(task % fits, round, splits[round], inner, answers[round]);
    if (options.step) options.step(++done, tasks);
  });
  std::vector<ScoreSheet> sheets;
  for (Runner::Answer& answer : answers) {
    if (seeds || sheets.empty()) sheets.push_back(runner.empty_sheet());
    std::ranges::move(answer.rows, std::back_inserter(sheets.back().rows));
    rounds.push_back(std::move(answer.round));
  }
  return sheets;
}

// Rows neither fitted nor scored by any round, by op class.
void note_rows_apart(const LoadedSets& loaded, std::span<const NamedSplit> splits,
                     ExperimentResult& result) {
  const std::vector<sim::training::RowPlace> rows = sim::training::rows_of(loaded.sets);
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

// The part of a note that rounds share: its words, without numbers and parentheses.
std::string words_of(const std::string& note) {
  std::string words;
  int depth = 0;
  for (const char c : note) {
    if (c == '(') ++depth;
    if (depth == 0 && (c < '0' || c > '9')) words += c;
    if (c == ')') --depth;
  }
  return words;
}

// Rows that fits left out or refusals: the first note of each kind, and the number of rounds with
// it.
void add_notes_of_fits(ExperimentResult& result) {
  std::map<std::string, std::set<std::size_t>> rounds;  // by the words of a note
  std::vector<std::string> first;
  for (std::size_t i = 0; i < result.rounds.size(); ++i) {
    std::vector<std::string> notes = result.rounds[i].notes;
    for (const HybridRound& hybrid : result.rounds[i].hybrids) {
      notes.insert(notes.end(), hybrid.notes.begin(), hybrid.notes.end());
    }
    for (const std::string& note : notes) {
      const auto [known, is_new] = rounds.try_emplace(words_of(note));
      known->second.insert(i);
      if (is_new) first.push_back(note);
    }
  }
  for (const std::string& note : first) {
    const std::size_t count = rounds.at(words_of(note)).size();
    result.notes.push_back(result.rounds.size() == 1 ? note
                                                     : fmt::format("{} [{} of {} rounds]", note,
                                                                   count, result.rounds.size()));
  }
}

void add_notes(const Experiment& experiment, ExperimentResult& result) {
  const ResultStratum& all = result.strata.front();
  if (all.rows < all.rows_measured) {
    result.notes.push_back(
        fmt::format("{} of {} rows were not answered by every column and are excluded from all",
                    all.rows_measured - all.rows, all.rows_measured));
  }
  if (all.kernels_without_fastest > 0) {
    result.notes.push_back(fmt::format(
        "the fastest tile measured of {} of {} kernels was not answered by every column: what "
        "choices of tiles lose is against the fastest answered",
        all.kernels_without_fastest, all.kernels_with_tiles));
  }
  std::size_t with_dispatch = 0;
  for (const sim::training::SetSummary& set : result.sets) with_dispatch += set.with_dispatch;
  if (with_dispatch == 0) return;
  result.notes.push_back(fmt::format(
      "{} rows hold the host's dispatch, unmeasured: predictions of them add the floor that the "
      "set's manifest publishes{}",
      with_dispatch,
      experiment.calibrates()
          ? ", the calibrated column the fitted one for op classes with fitted rows"
          : ""));
}

// One per sample.
void add_facts(const Experiment& experiment, const measured::MeasurementSet& set,
               const SampleSet& samples, std::vector<RowFacts>& facts) {
  std::map<int, RowFacts> by_line;
  for (const measured::MeasurementRow& row : set.rows) {
    const auto cell = [&](const std::string& column) {
      return set.table.cell(set.table.rows[row.table_row], column);
    };
    RowFacts& of_row = by_line[row.line];
    if (experiment.default_run) {
      of_row.is_default = std::ranges::any_of(experiment.default_run->like, [&](const auto& p) {
        return measured::fits_pattern(p, cell(experiment.default_run->column));
      });
    }
    for (const auto& [name, column] : experiment.others) {
      of_row.others.push_back(base::parse_number<double>(cell(column)));
    }
  }
  for (const measured::Sample& sample : samples.samples) facts.push_back(by_line.at(sample.line));
}

// Whether the learners' targets are quantities other than time. Throws Error if only some are.
bool is_of_quantities(const Experiment& experiment) {
  const auto is_other = [](const learned::LearnerSpec& spec) { return !spec.target.is_time(); };
  const auto other = std::ranges::find_if(experiment.learners, is_other);
  if (other == experiment.learners.end()) return false;
  if (!std::ranges::all_of(experiment.columns, [&](const std::string& column) {
        const learned::LearnerSpec* learner = experiment.learner(column);
        return learner != nullptr && is_other(*learner);
      })) {
    throw Error(fmt::format("{}: learner {}: its target is {}, and other columns are about times",
                            experiment.file, other->name, other->target.quantity));
  }
  return true;
}

// Trains each learner as `tilecast train` does. Targets may differ, and each learner is scored on
// the held-out rows that have its own.
ExperimentResult run_quantities(const Experiment& experiment, sim::training::ImportedData& data,
                                const RunOptions& options) {
  ExperimentResult result;
  result.experiment = experiment;
  result.notes = experiment.notes;
  const LoadedSets loaded = load_sets(experiment, data, options.jobs);
  result.sets = loaded.described;
  const std::vector<NamedSplit> splits = deal_rows(experiment, loaded.sets, loaded.names);
  if (splits.size() != 1) {
    throw Error(fmt::format("{}: split: has {} rounds; learners of quantities are scored on one",
                            experiment.file, splits.size()));
  }
  const measured::Split& split = splits.front().split;
  Round& round = result.rounds.emplace_back();
  round.fitted = true;
  count(loaded, split, round);
  const analytical::AnalyticalModel prior;
  ResultStratum all{
      .cells = {experiment.columns.size(), std::vector<Cell>(measured::kNamedMetricCount)}};
  for (const learned::LearnerSpec& learner : experiment.learners) {
    const sim::training::Training training(prior, experiment, data, learner.name, options.jobs);
    const sim::training::TrainingResult trained = training.run({});
    const learned::QuantityStratum& stratum = trained.quantity->strata.front();
    all.rows = all.rows_measured = std::max(all.rows, stratum.rows);
    all.works = std::max(all.works, stratum.works);
    round.learned.push_back({.learner = learner.name,
                             .train_rows = trained.learner->train_rows,
                             .validation_rows = trained.learner->validation_rows});
    for (const std::string& note : trained.notes) {
      result.notes.push_back(fmt::format("{}: {}", learner.name, note));
    }
    if (options.step) options.step(round.learned.size(), experiment.learners.size());
    const std::optional<measured::QuantityScores>& scores = stratum.scores.back();
    if (!scores) continue;
    std::vector<Cell>& cells = all.cells[experiment.column_index(learner.name)];
    cells[static_cast<std::size_t>(Metric::kRmseOfRange)].value = scores->rmse_of_range;
    cells[static_cast<std::size_t>(Metric::kExact)].value = scores->exact;
  }
  result.strata.push_back(std::move(all));
  result.bars = check_bars(experiment, result.strata);
  result.directions = check_directions(experiment, result.strata);
  return result;
}

}  // namespace

std::size_t ExperimentResult::refused() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      rounds, [](const Round& round) { return round.calibrated && !round.accepted; }));
}

HybridAnswer answer_hybrid(const analytical::CostModel& prior, const hybrid::HybridSpec& given,
                           const LoadedSets& loaded, const measured::Split& split,
                           std::size_t round, int jobs) {
  hybrid::HybridSpec spec = given;
  spec.seed += round;
  HybridRound made{.hybrid = spec.name};
  std::optional<hybrid::HybridModel> fitted_model;
  try {
    hybrid::FittedHybrid fitted =
        sim::training::fit_rows(prior, spec, loaded, split.fit, {.jobs = jobs});
    made = describe(spec, fitted);
    fitted_model.emplace(prior, std::move(fitted.parts), spec.belief);
  } catch (const learned::TooFewRows& few) {
    made.notes = {fmt::format("physics alone, without intervals: {}", few.what())};
  } catch (const Error& error) {
    throw Error(fmt::format("hybrid {}: {}", spec.name, error.what()));
  }
  const analytical::CostModel& model = fitted_model ? *fitted_model : prior;
  return {predict_rows(model, loaded, loaded.devices, split.score, jobs), std::move(made)};
}

ExperimentResult run_experiment(const Experiment& experiment, sim::training::ImportedData& data,
                                const RunOptions& options) {
  if (is_of_quantities(experiment)) return run_quantities(experiment, data, options);
  ExperimentResult result;
  result.experiment = experiment;
  result.notes = experiment.notes;
  std::vector<RowFacts> facts;
  const auto seen = [&](const measured::MeasurementSet& set, const SampleSet& samples) {
    add_facts(experiment, set, samples, facts);
  };
  const LoadedSets loaded = load_sets(experiment, data, options.jobs, seen);
  result.sets = loaded.described;
  result.notes.insert(result.notes.end(), loaded.notes.begin(), loaded.notes.end());
  const std::vector<NamedSplit> splits = deal_rows(experiment, loaded.sets, loaded.names);
  const Runner runner(experiment, loaded, facts, options.jobs);
  const std::vector<ScoreSheet> sheets =
      run_rounds(runner, splits, experiment.repeats(), options, result.rounds);
  result.strata = score_strata(experiment, sheets, options.jobs);
  result.bars = check_bars(experiment, result.strata);
  result.directions = check_directions(experiment, result.strata);
  note_rows_apart(loaded, splits, result);
  const std::vector<std::string> of_learners = runner.notes();
  result.notes.insert(result.notes.end(), of_learners.begin(), of_learners.end());
  add_notes_of_fits(result);
  add_notes(experiment, result);
  return result;
}

}  // namespace tilecast::validation
