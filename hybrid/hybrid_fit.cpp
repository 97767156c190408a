#include "hybrid/hybrid_fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "hwdesc/config_values.h"
#include "measured/importers/import_manifest.h"

namespace tilecast::hybrid {
namespace {

using hwdesc::Device;
using learned::FeatureGroup;
using measured::SampleSet;

bool are_processors(std::span<const Device> devices) {
  return std::ranges::all_of(
      devices, [](const Device& device) { return device.execution == hwdesc::Execution::kCache; });
}

std::vector<FeatureGroup> default_features(std::span<const Device> devices) {
  if (!are_processors(devices)) return {FeatureGroup::kPrior};
  return {FeatureGroup::kStatic,   FeatureGroup::kOps,   FeatureGroup::kShape,
          FeatureGroup::kTile,     FeatureGroup::kPrior, FeatureGroup::kMachine,
          FeatureGroup::kAlignment};
}

// Limits a rule by trials of other sources, if there are any.
Shrinkage limited(const Shrinkage& own, std::span<const Trial> across) {
  return count_units(across) < kLeastUnits ? own : safer(own, choose_shrinkage(across));
}

class HybridFit {
 public:
  HybridFit(const analytical::CostModel& prior, const HybridSpec& spec,
            std::span<const SampleSet> sets, std::span<const Device> devices,
            const HybridOptions& options)
      : prior_(prior), spec_(spec), sets_(sets), devices_(devices), options_(options) {
    bag_.features.groups = spec.features.value_or(default_features(devices));
    if (are_processors(devices)) bag_.trees = kManyColumns;
    bag_.members = spec.members;
    bag_.seed = spec.seed;
  }

  FittedHybrid run() {
    read_rows();
    report("trees", 0.2);
    std::vector<std::size_t> all(rows_.bag.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    FittedBag fitted = fit_bag(bag_, rows_.bag, all, options_.jobs);
    know();
    report("trials of sources", 0.5);
    const auto across = cross_trials(bag_, rows_, fitted_.parts.known, options_.jobs);
    judge(run_trials(rows_, fitted), across);
    const bool believed = fitted_.report.believed > 0;
    fitted_.parts.bag = believed ? std::move(fitted.bag) : Bag(bag_.features, {});
    describe();
    return std::move(fitted_);
  }

 private:
  void report(const std::string& what, double done) const {
    if (options_.step) options_.step(what, done);
  }

  void read_rows() {
    report("rows", 0);
    rows_ = trial_rows(prior_, bag_, {sets_, devices_, spec_.trial_by, options_.jobs});
    fitted_.rows = rows_.bag.size();
    fitted_.trial_by = spec_.trial_by;
    if (fitted_.rows < kLeastFitted) {
      throw learned::TooFewRows(
          fmt::format("hybrid {}: got {} rows of single kernels that physics answers, expected at "
                      "least {}; left out: {} of programs",
                      spec_.name, fitted_.rows, kLeastFitted, rows_.programs));
    }
    for (const learned::Example& row : rows_.bag.examples.rows) {
      if (!fitted_.parts.devices.has(row.device->name)) fitted_.parts.devices.add(*row.device);
    }
  }

  void judge(const std::vector<Trial>& trials, const CrossTrials& across) {
    std::vector<std::vector<Trial>> of_place(rows_.places.size());
    for (const Trial& trial : trials) of_place[rows_.place[trial.row]].push_back(trial);
    for (std::size_t i = 0; i < of_place.size(); ++i) {
      const Shrinkage own = spec_.corrects ? choose_shrinkage(of_place[i]) : Shrinkage{};
      Place& place = fitted_.parts.known.places()[i];
      place.same = limited(own, across.same[i]);
      place.any = limited(own, across.any[i]);
      rows_.places[i].same = place.same;
    }
    fitted_.parts.bands = Bands::of(band_trials(trials, rows_));
    fitted_.parts.correlation = correlation_of(trials, rows_);
    fitted_.report = report_of(trials, rows_);
  }

  void know() {
    std::vector<MeasuredKernel> kernels;
    const learned::Examples& examples = rows_.bag.examples;
    for (std::size_t i = 0; i < examples.rows.size(); ++i) {
      kernels.push_back({.name = examples.kernels[examples.rows[i].kernel],
                         .place = rows_.place[i],
                         .group = rows_.bag.group[i],
                         .at = coordinates_of(*examples.priors[i])});
    }
    fitted_.parts.known = Known::of(rows_.places, kernels);
  }

  void describe() {
    learned::ModelCard& card = fitted_.card;
    card.name = spec_.name;
    card.kind = "physics";
    card.seed = spec_.seed;
    card.split = "all rows fitted; errors are of trials";
    card.versions = {{"XGBoost", learned::xgboost_version()}};
    std::set<std::string> classes;
    for (const analytical::KernelQuery& query : rows_.bag.examples.queries) {
      classes.insert(measured::op_class(query.kernel));
    }
    card.op_classes.assign(classes.begin(), classes.end());
    for (std::size_t i = 0; i < fitted_.parts.devices.size(); ++i) {
      card.devices.push_back(fitted_.parts.devices.name(i));
    }
    std::set<std::uint32_t> kernels;
    for (const learned::Example& row : rows_.bag.examples.rows) kernels.insert(row.kernel);
    fitted_.kernels = kernels.size();
    for (const SampleSet& set : sets_) {
      card.data.push_back({.name = set.name,
                           .hash = set.hash,
                           .device = set.device,
                           .licence = set.manifest.licence,
                           .train = set.samples.size()});
    }
    add_metrics(card);
  }

  void add_metrics(learned::ModelCard& card) const {
    const TrialReport& report = fitted_.report;
    const auto add = [&](std::size_t n, double after, double before, const std::string& of) {
      card.metrics.push_back(
          {.metric = "mape", .n = n, .value = after / 100, .baseline = before / 100, .of = of});
    };
    if (report.rows > 0) add(report.rows, report.after, report.before, "groups left out");
    for (const TrialReport::OfClass& one : report.classes) {
      add(one.rows, one.after, one.before, "groups left out, class " + one.op_class);
    }
    card.settings["trials"] = fmt::format(
        "{} groups, {} of {} rows corrected, {} of {} strata worse by over a point, worst {:+.1f}",
        report.units, report.believed, report.rows, report.worse, report.strata, report.worst);
  }

  const analytical::CostModel& prior_;
  const HybridSpec& spec_;
  std::span<const SampleSet> sets_;
  std::span<const Device> devices_;
  const HybridOptions& options_;
  BagSpec bag_;
  TrialRows rows_;
  FittedHybrid fitted_;
};

}  // namespace

FittedHybrid fit_hybrid(const analytical::CostModel& prior, const HybridSpec& spec,
                        const Screened& screened, std::span<const Device> devices,
                        const HybridOptions& options) {
  TC_CHECK(screened.sets.size() == devices.size() && !devices.empty(), "one device per set");
  FittedHybrid fitted = HybridFit(prior, spec, screened.sets, devices, options).run();
  fitted.apart = screened.apart;
  for (const SetApart& apart : screened.apart) fitted.notes.push_back(apart.text());
  return fitted;
}

FittedHybrid fit_hybrid(const analytical::CostModel& prior, const HybridSpec& spec,
                        std::span<const SampleSet> sets, std::span<const Device> devices,
                        const HybridOptions& options) {
  return fit_hybrid(prior, spec, screen(prior, sets, devices, options.jobs), devices, options);
}

namespace {

using hwdesc::ConfigNode;

constexpr std::string_view kNoOrYes[] = {"no", "yes"};
constexpr std::size_t kLeastMembers = 4;

std::vector<FeatureGroup> read_groups(const ConfigNode& node) {
  std::vector<FeatureGroup> groups;
  for (const ConfigNode& entry : list(node)) {
    const std::string& text = text_of(entry);
    const auto group = learned::parse_feature_group(text);
    if (!group || *group == FeatureGroup::kNode || *group == FeatureGroup::kTokens ||
        *group == FeatureGroup::kParameters) {
      fail_at(entry, fmt::format("got {}, expected a group of columns of a whole kernel: static, "
                                 "ops, shape, tile, prior, machine, alignment or curve",
                                 hwdesc::show_text(text)));
    }
    groups.push_back(*group);
  }
  return groups;
}

}  // namespace

HybridSpec read_hybrid(const ConfigNode& node) {
  if (!node.is_mapping()) fail_at(node, "expected {name: ...}");
  allow_only(node, {"name", "features", "trial_by", "members", "guard", "correct", "seed"});
  HybridSpec spec{.name = text(node, "name")};
  if (const ConfigNode* groups = node.find("features")) spec.features = read_groups(*groups);
  if (const ConfigNode* guard = node.find("guard"); guard && choice(*guard, kNoOrYes) == 0) {
    spec.belief = Belief::kEverything;
  }
  if (const ConfigNode* correct = node.find("correct")) {
    spec.corrects = choice(*correct, kNoOrYes) == 1;
  }
  if (const ConfigNode* by = node.find("trial_by")) {
    spec.trial_by = static_cast<learned::ValidateBy>(choice(*by, learned::kValidateBy));
  }
  read_number(node, "members", kLeastMembers, kMostMembers, spec.members);
  read_number(node, "seed", 0, UINT32_MAX, spec.seed);
  return spec;
}

}  // namespace tilecast::hybrid
