#include "hybrid/hybrid_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "hybrid/corrected_queries.h"
#include "hybrid/trials.h"

namespace tilecast::hybrid {
namespace {

using hwdesc::Device;
using measured::SampleSet;

constexpr std::size_t kCalibrationRows = 200;  // a few constants need no more

// At most kCalibrationRows, every kernel keeping all its rows or as many as the others; those that
// a kernel keeps are spread evenly over its own.
std::vector<SampleSet> thinned(std::span<const SampleSet> sets) {
  std::map<std::string, std::size_t> rows;  // by kernel
  std::size_t most = 0;
  for (const SampleSet& set : sets) {
    for (const measured::Sample& sample : set.samples) {
      most = std::max(most, ++rows[set.works[sample.work].fingerprint]);
    }
  }
  const auto kept = [&](std::size_t each) {
    std::size_t sum = 0;
    for (const auto& [kernel, count] : rows) sum += std::min(count, each);
    return sum;
  };
  std::size_t each = most;
  while (each > 1 && kept(each) > kCalibrationRows) --each;
  std::vector<SampleSet> thin(sets.begin(), sets.end());
  std::map<std::string, std::size_t> seen;
  std::size_t kernels = 0;
  for (SampleSet& set : thin) {
    std::erase_if(set.samples, [&](const measured::Sample& sample) {
      const std::string& kernel = set.works[sample.work].fingerprint;
      const std::size_t count = rows[kernel], i = seen[kernel]++;
      // With more kernels than rows, some kernels keep none.
      const std::size_t before = i == 0 ? kernels++ : 0;
      const bool chosen = rows.size() <= kCalibrationRows ||
                          (i == 0 && (before + 1) * kCalibrationRows / rows.size() !=
                                         before * kCalibrationRows / rows.size());
      const bool spread = count <= each || (i + 1) * each / count != i * each / count;
      return !chosen || !spread;
    });
  }
  return thin;
}

bool one_device(std::span<const Device> devices) {
  return std::ranges::all_of(devices,
                             [&](const Device& one) { return one.name == devices.front().name; });
}

class Fit {
 public:
  Fit(const HybridSpec& spec, std::span<const SampleSet> sets, std::span<const Device> devices,
      const HybridOptions& options)
      : spec_(spec), sets_(sets), devices_(devices.begin(), devices.end()), options_(options) {}

  FittedHybrid run() {
    calibrate_constants();
    rows_ = trial_rows(sets_, devices_, spec_.trial_by, options_.jobs);
    if (rows_.examples.rows.size() < kLeastRows) {
      throw Error(
          fmt::format("hybrid {}: got {} rows of single kernels that physics answers, "
                      "expected at least {}",
                      spec_.name, rows_.examples.rows.size(), kLeastRows));
    }
    fitted_.trial_by = rows_.trial_by;
    fitted_.rows = rows_.examples.rows.size();
    plan_ = plan_trials(rows_, spec_.folds, spec_.seed);
    choose();
    learn_trust();
    finish();
    return std::move(fitted_);
  }

 private:
  void tell(const std::string& what, double done) const {
    if (options_.step) options_.step(what, done);
  }

  [[nodiscard]] std::string fitted_source(std::size_t rows) const {
    return fmt::format("{}{}: {} rows", kFittedSource, spec_.name, rows);
  }

  void calibrate_constants() {
    if (!spec_.calibrate || !one_device(devices_)) return;
    tell("constants", 0);
    const std::vector<SampleSet> thin = thinned(sets_);
    std::size_t rows = 0;
    for (const SampleSet& set : thin) rows += set.samples.size();
    if (rows < kLeastRows) return;
    fitted_.calibrated = calibrate(thin, devices_.front(), analytical::AnalyticalModel(),
                                   {.fixed = {}, .jobs = options_.jobs});
    if (!fitted_.calibrated->accepted) return;
    hwdesc::Calibration constants = fitted_.calibrated->device.calibration;
    constants.source = fitted_source(rows);
    for (Device& device : devices_) device.calibration = constants;
  }

  // Trials of every candidate on the base groups; one that cannot be fitted to so few rows is out.
  void choose() {
    std::vector<std::vector<double>> predicted(1);
    predicted.front().resize(rows_.examples.rows.size());  // physics alone
    std::vector<const learned::LearnerSpec*> tried{nullptr};
    for (std::size_t i = 0; i < spec_.candidates.size() && !plan_.base.empty(); ++i) {
      const learned::LearnerSpec& candidate = spec_.candidates[i];
      tell("trials of " + candidate.name, 0.1 + 0.5 * double(i) / double(spec_.candidates.size()));
      try {
        predicted.push_back(predict_trials(candidate, rows_, plan_.base, options_.jobs));
        tried.push_back(&candidate);
      } catch (const Error&) {
        fitted_.candidates.push_back({.name = candidate.name + " (too few rows)"});
      }
    }
    Choice choice = choose_candidate(rows_, predicted);
    for (std::size_t c = 0; c < tried.size(); ++c) {
      choice.scores[c].name = tried[c] == nullptr ? "none" : tried[c]->name;
    }
    fitted_.candidates.insert(fitted_.candidates.begin(), choice.scores.begin(),
                              choice.scores.end());
    chosen_ = tried[choice.chosen];
    fitted_.chosen = choice.scores[choice.chosen].name;
    base_ = std::move(predicted[choice.chosen]);
  }

  [[nodiscard]] std::vector<Trial> trials(std::span<const measured::Split> splits,
                                          const std::vector<std::string>& keys) const {
    if (splits.empty()) return {};
    std::vector<double> predicted(rows_.examples.rows.size());
    if (chosen_ != nullptr) {
      try {
        predicted = predict_trials(*chosen_, rows_, splits, options_.jobs);
      } catch (const Error&) {
        return {};  // too few rows without that class or device: nothing is known of new ones
      }
    }
    return trials_of(rows_, splits, keys, predicted);
  }

  void learn_trust() {
    tell("trials of new classes and devices", 0.6);
    Trials all{.base = trials_of(rows_, plan_.base, rows_.by_group, base_),
               .by_class = trials(plan_.by_class, rows_.by_class),
               .by_device = trials(plan_.by_device, rows_.by_device)};
    fitted_.parts.trust = Trust(all);
  }

  void finish() {
    tell("all rows", 0.9);
    HybridParts& parts = fitted_.parts;
    parts.guard = spec_.guard;
    parts.domain = Domain::of(rows_.examples, rows_.names);
    std::set<std::string> seen;
    for (const Device& device : devices_) {
      if (seen.insert(device.name).second) parts.devices.push_back(device);
    }
    describe();
    if (chosen_ == nullptr) return;
    learned::Trained trained = learned::train(*chosen_, rows_.examples, {.threads = options_.jobs});
    parts.residual = std::move(trained.predictor);
    fitted_.training_csv = std::move(trained.training_csv);
    fitted_.card = std::move(trained.card);
    fitted_.card.name = spec_.name;
  }

  void describe() {
    learned::ModelCard& card = fitted_.card;
    card.name = spec_.name;
    card.kind = "physics";
    card.seed = spec_.seed;
    card.op_classes = parts_domain().op_classes();
    card.devices = parts_domain().devices();
    std::set<std::string> families;
    std::set<std::uint32_t> kernels;
    for (const learned::Example& row : rows_.examples.rows) {
      families.insert(rows_.examples.families.at(row.family));
      kernels.insert(row.kernel);
    }
    card.families.assign(families.begin(), families.end());
    fitted_.kernels = kernels.size();
  }
  [[nodiscard]] const Domain& parts_domain() const { return fitted_.parts.domain; }

  const HybridSpec& spec_;
  std::span<const SampleSet> sets_;
  std::vector<Device> devices_;
  const HybridOptions& options_;
  TrialRows rows_;
  TrialPlan plan_;
  const learned::LearnerSpec* chosen_ = nullptr;  // null: physics alone
  std::vector<double> base_;                      // its trials
  FittedHybrid fitted_;
};

}  // namespace

FittedHybrid fit_hybrid(const HybridSpec& spec, std::span<const SampleSet> sets,
                        std::span<const Device> devices, const HybridOptions& options) {
  TC_CHECK(sets.size() == devices.size() && !sets.empty(), "one device per set");
  return Fit(spec, sets, devices, options).run();
}

}  // namespace tilecast::hybrid
