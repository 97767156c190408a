#include "hybrid/trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "base/random.h"

namespace tilecast::hybrid {
namespace {

using learned::ValidateBy;

constexpr std::size_t kLeastOfStratum = 5, kFolds = 5;

// Numbers texts in the order of their first occurrence.
class Numbers {
 public:
  std::uint32_t of(const std::string& text) {
    return numbers_.try_emplace(text, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }

 private:
  std::map<std::string, std::uint32_t> numbers_;
};

std::string group_key(const learned::Examples& examples, std::span<const measured::SampleSet> sets,
                      std::size_t row, ValidateBy by) {
  const learned::Example& example = examples.rows[row];
  if (by == ValidateBy::kFamily) return examples.families.at(example.family);
  if (by == ValidateBy::kRow) return fmt::format("{}", row);
  const measured::SampleSet& set = sets[example.set];
  return set.works[set.samples[example.sample].work].fingerprint;
}

// Minimum number of groups of a kind in a set for leaving groups out; with fewer, the next finer
// kind is used: families (programs), kernels, rows. Few families usually are kinds of kernels, not
// programs.
struct GroupKind {
  ValidateBy by;
  std::size_t least;
};
constexpr GroupKind kGroupKinds[] = {
    {ValidateBy::kFamily, 10}, {ValidateBy::kKernel, kLeastUnits}, {ValidateBy::kRow, 0}};

// Group keys of the rows, by set.
std::vector<std::string> group_keys(std::span<const measured::SampleSet> sets,
                                    const learned::Examples& examples, ValidateBy asked) {
  std::vector<std::string> keys(examples.rows.size());
  std::vector<bool> done(sets.size(), false);
  for (const auto& [by, least] : kGroupKinds) {
    if (asked == ValidateBy::kKernel && by == ValidateBy::kFamily) continue;
    if (asked == ValidateBy::kRow && by != ValidateBy::kRow) continue;
    std::vector<std::set<std::string>> of_set(sets.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::size_t set = examples.rows[i].set;
      if (done[set]) continue;
      keys[i] = group_key(examples, sets, i, by);
      of_set[set].insert(keys[i]);
    }
    for (std::size_t set = 0; set < sets.size(); ++set) {
      done[set] = done[set] || of_set[set].size() >= least;
    }
  }
  return keys;
}

void group_rows(std::span<const measured::SampleSet> sets, ValidateBy asked, TrialRows& rows) {
  BagRows& bag = rows.bag;
  const learned::Examples& examples = bag.examples;
  const std::vector<std::string> keys = group_keys(sets, examples, asked);
  Numbers groups, sources, devices, places;
  for (std::size_t i = 0; i < examples.rows.size(); ++i) {
    const learned::Example& example = examples.rows[i];
    bag.group.push_back(groups.of(keys[i]));
    bag.source.push_back(sources.of(sets[example.set].name));
    bag.device.push_back(devices.of(example.device->name));
    const Place place{.device = example.device->name,
                      .writer = std::string(examples.queries[i].writer),
                      .timed = std::string(examples.queries[i].timed),
                      .source = sets[example.set].name};
    rows.place.push_back(places.of(place.device + '\n' + place.source));
    if (rows.place.back() == rows.places.size()) rows.places.push_back(place);
    bag.residual.push_back(example.target - std::log(examples.priors[i]->time.value));
    rows.kind.push_back(kind_of(examples.queries[i].kernel, *examples.priors[i]));
  }
}

Trial trial_of(const TrialRows& rows, std::size_t row, const Opinion& said) {
  return {.row = row,
          .residual = rows.bag.residual[row],
          .share = std::sqrt(rows.bag.examples.rows[row].weight),
          .said = said,
          .unit = rows.bag.group[row],
          .kind = rows.kind[row]};
}

bool beside(const Place& a, const Place& b) {
  return a.device == b.device && a.writer == b.writer && a.source != b.source;
}

std::vector<std::uint32_t> places_beside_others(const std::vector<Place>& places) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    const auto is_beside = [&](const Place& other) { return beside(other, places[i]); };
    if (std::ranges::any_of(places, is_beside)) found.push_back(i);
  }
  return found;
}

std::vector<Opinion> ask(const Bag& bag, const TrialRows& rows,
                         std::span<const std::size_t> asked) {
  const std::size_t width = bag.features().width();
  std::vector<float> features;
  for (const std::size_t row : asked) {
    const auto first = rows.bag.features.begin() + static_cast<std::ptrdiff_t>(row * width);
    features.insert(features.end(), first, first + static_cast<std::ptrdiff_t>(width));
  }
  std::vector<Opinion> said(asked.size());
  bag.ask_rows(features, said);
  return said;
}

double correction_of(const Trial& trial, const Shrinkage& rule) {
  return rule.weight(trial.said, trial.kind) * trial.said.mean;
}

double percent_of(double log_error) {
  return 100 * std::abs(std::expm1(log_error));
}

struct Sum {
  double before = 0, after = 0;
  std::size_t rows = 0;

  void add(const Trial& trial, const Shrinkage& rule) {
    const double correction = correction_of(trial, rule);
    before += percent_of(whole_error(trial, 0));
    after += percent_of(whole_error(trial, correction));
    rows += 1;
  }
  [[nodiscard]] double mean_before() const { return before / static_cast<double>(rows); }
  [[nodiscard]] double mean_after() const { return after / static_cast<double>(rows); }
};

}  // namespace

TrialRows trial_rows(const analytical::CostModel& prior, const BagSpec& spec,
                     const RowSource& source) {
  const learned::Examples all =
      learned::make_examples(source.sets, source.devices, prior, true, source.jobs);
  std::vector<std::size_t> answered;
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    if (all.priors[i] && all.priors[i]->time.value > 0) answered.push_back(i);
  }
  TrialRows rows{.programs = all.programs};
  rows.bag.examples = all.subset(answered);
  group_rows(source.sets, source.trial_by, rows);
  std::vector<std::size_t> every(answered.size());
  std::iota(every.begin(), every.end(), std::size_t{0});
  rows.bag.features = learned::feature_rows(learned::TableFeatures(spec.features),
                                            rows.bag.examples, every, source.jobs);
  return rows;
}

std::vector<Trial> run_trials(const TrialRows& rows, const FittedBag& fitted) {
  std::vector<Trial> trials;
  for (std::size_t row = 0; row < rows.bag.size(); ++row) {
    if (fitted.unseen[row]) trials.push_back(trial_of(rows, row, *fitted.unseen[row]));
  }
  return trials;
}

CrossTrials cross_trials(const BagSpec& spec, const TrialRows& rows, const Known& known, int jobs) {
  const std::vector<Place>& places = known.places();
  CrossTrials across{TrialsByPlace(places.size()), TrialsByPlace(places.size())};
  std::vector<std::uint32_t> order = places_beside_others(places);
  std::mt19937_64 random(spec.seed);
  base::shuffle(order, random);
  for (std::size_t fold = 0; fold < std::min(kFolds, order.size()); ++fold) {
    std::set<std::uint32_t> left;
    for (std::size_t i = fold; i < order.size(); i += kFolds) left.insert(order[i]);
    std::vector<std::size_t> fitted, asked;
    for (std::size_t row = 0; row < rows.bag.size(); ++row) {
      (left.contains(rows.place[row]) ? asked : fitted).push_back(row);
    }
    if (fitted.empty()) continue;
    const std::vector<Opinion> said = ask(fit_bag(spec, rows.bag, fitted, jobs).bag, rows, asked);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const Coordinates at = coordinates_of(*rows.bag.examples.priors[asked[i]]);
      for (std::uint32_t other = 0; other < places.size(); ++other) {
        if (left.contains(other) || !beside(places[other], places[rows.place[asked[i]]])) continue;
        if (places[other].distance(at) > 1) continue;
        across.any[other].push_back(trial_of(rows, asked[i], said[i]));
        if (places[other].timed == places[rows.place[asked[i]]].timed) {
          across.same[other].push_back(across.any[other].back());
        }
      }
    }
  }
  return across;
}

TrialReport report_of(std::span<const Trial> trials, const TrialRows& rows) {
  TrialReport report{.rows = trials.size()};
  if (trials.empty()) return report;
  Sum all;
  std::map<std::string, Sum> classes;
  std::map<std::tuple<std::uint32_t, std::uint32_t, BoundKind>, Sum> strata;
  std::set<std::uint32_t> units;
  for (const Trial& trial : trials) {
    const Shrinkage& rule = rows.rule_of(trial.row);
    report.believed += rule.c == kPhysicsAlone ? 0 : 1;
    units.insert(trial.unit);
    all.add(trial, rule);
    classes[measured::op_class(rows.bag.examples.queries[trial.row].kernel)].add(trial, rule);
    const BoundKind bound = bound_kind(rows.bag.examples.priors[trial.row]->bound);
    strata[{rows.bag.source[trial.row], rows.bag.device[trial.row], bound}].add(trial, rule);
  }
  report.units = units.size();
  report.before = all.mean_before();
  report.after = all.mean_after();
  for (const auto& [key, sum] : strata) {
    if (sum.rows < kLeastOfStratum) continue;
    const double points = sum.mean_after() - sum.mean_before();
    report.strata += 1;
    report.worse += points > 1 ? 1 : 0;
    report.worst = std::max(report.worst, points);
  }
  for (const auto& [op_class, sum] : classes) {
    report.classes.push_back({op_class, sum.rows, sum.mean_before(), sum.mean_after()});
  }
  return report;
}

std::vector<BandTrial> band_trials(std::span<const Trial> trials, const TrialRows& rows) {
  std::vector<BandTrial> errors;
  const auto add = [&](Regime regime, std::uint32_t place, const Trial& trial, double correction) {
    const analytical::Estimate& prior = *rows.bag.examples.priors[trial.row];
    errors.push_back({{.regime = regime,
                       .place = place + 1,
                       .bound = bound_kind(prior.bound),
                       .size = size_kind(prior.time)},
                      -whole_error(trial, correction),
                      rows.bag.group[trial.row]});
  };
  for (const Trial& trial : trials) {
    add(Regime::kNear, rows.place[trial.row], trial, correction_of(trial, rows.rule_of(trial.row)));
    add(Regime::kPhysics, rows.bag.device[trial.row], trial, 0);
  }
  return errors;
}

double correlation_of(std::span<const Trial> trials, const TrialRows& rows) {
  struct Group {
    double rows = 0, sum = 0, squares = 0;
  };
  std::map<std::uint32_t, Group> groups;
  double n = 0, sum = 0, of_sizes = 0;
  for (const Trial& trial : trials) {
    const double error = whole_error(trial, correction_of(trial, rows.rule_of(trial.row)));
    Group& group = groups[trial.unit];
    group.rows += 1;
    group.sum += error;
    group.squares += error * error;
    n += 1;
    sum += error;
  }
  const auto count = static_cast<double>(groups.size());
  if (count < 3 || n <= count) return 1;
  double between = 0, within = 0;
  for (const auto& [unit, group] : groups) {
    const double mean = group.sum / group.rows;
    between += group.rows * (mean - sum / n) * (mean - sum / n);
    within += group.squares - group.rows * mean * mean;
    of_sizes += group.rows * group.rows;
  }
  between /= count - 1;
  within /= n - count;
  const double typical = (n - of_sizes / n) / (count - 1);
  const double all = between + (typical - 1) * within;
  return all > 0 ? std::clamp((between - within) / all, 0.0, 1.0) : 1;
}

}  // namespace tilecast::hybrid
