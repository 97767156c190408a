#include "hybrid/hybrid_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/error.h"
#include "hybrid/trials.h"

namespace tilecast::hybrid {
namespace {

using hwdesc::Device;
using measured::SampleSet;

// Every device once, by name, in order.
std::vector<Device> distinct(std::span<const Device> devices) {
  std::vector<Device> result;
  for (const Device& device : devices) {
    if (std::ranges::find(result, device.name, &Device::name) == result.end()) {
      result.push_back(device);
    }
  }
  return result;
}

class HybridFit {
 public:
  HybridFit(const analytical::CostModel& prior, const HybridSpec& spec,
            std::span<const SampleSet> sets, std::span<const Device> devices,
            const HybridOptions& options)
      : prior_(prior),
        spec_(spec),
        sets_(sets),
        devices_(devices.begin(), devices.end()),
        options_(options) {}

  FittedHybrid run() {
    calibrate_constants();
    rows_ = trial_rows(prior_, sets_, devices_, spec_.trial_by, options_.jobs);
    if (rows_.examples.rows.size() < kLeastRows) {
      throw learned::TooFewRows(
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
  void report(const std::string& what, double done) const {
    if (options_.step) options_.step(what, done);
  }

  void calibrate_constants() {
    if (!spec_.calibrate) return;
    const std::vector<Device> devices = distinct(devices_);
    if (devices.size() > 1) {
      std::string names;
      for (const Device& device : devices) names += (names.empty() ? "" : ", ") + device.name;
      fitted_.notes.push_back(
          fmt::format("{}: constants are as described: the rows are of several devices ({}), and "
                      "calibrate: yes fits those of one",
                      spec_.name, names));
      return;
    }
    report("constants", 0);
    std::size_t rows = 0;
    for (const SampleSet& set : sets_) rows += set.samples.size();
    if (rows < kLeastRows) return;
    fitted_.calibrated =
        calibrate(sets_, devices_.front(), prior_,
                  {.accept_suspicious = options_.accept_suspicious, .jobs = options_.jobs});
    if (!fitted_.calibrated->accepted) return;
    const auto& of_sets = fitted_.calibrated->rows_of_sets;
    hwdesc::Calibration constants = fitted_.calibrated->device.calibration;
    constants.source = fmt::format("hybrid {}: {} rows", spec_.name,
                                   std::accumulate(of_sets.begin(), of_sets.end(), std::size_t{0}));
    constants.fitted_by = hwdesc::FittedBy::kHybrid;
    for (Device& device : devices_) device.calibration = constants;
  }

  // Trials of every candidate on the base groups; one that cannot be fitted to so few rows is out.
  void choose() {
    std::vector<std::vector<double>> predicted(1);
    predicted.front().resize(rows_.examples.rows.size());  // physics alone
    std::vector<const learned::LearnerSpec*> tried{nullptr};
    for (std::size_t i = 0; i < spec_.candidates.size() && !plan_.base.empty(); ++i) {
      const learned::LearnerSpec& candidate = spec_.candidates[i];
      report("trials of " + candidate.name,
             0.1 + 0.5 * double(i) / double(spec_.candidates.size()));
      try {
        predicted.push_back(predict_trials(candidate, rows_, plan_.base, options_.jobs));
        tried.push_back(&candidate);
      } catch (const learned::TooFewRows&) {
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
      } catch (const learned::TooFewRows&) {
        return {};  // too few rows without that class or device: nothing is known of new ones
      }
    }
    return trials_of(rows_, splits, keys, predicted);
  }

  void learn_trust() {
    report("trials of new classes and devices", 0.6);
    Trials all{.base = trials_of(rows_, plan_.base, rows_.by_group, base_),
               .by_class = trials(plan_.by_class, rows_.by_class),
               .by_device = trials(plan_.by_device, rows_.by_device)};
    fitted_.parts.trust = Trust(all);
  }

  void finish() {
    report("all rows", 0.9);
    HybridParts& parts = fitted_.parts;
    parts.domain = Domain::of(rows_.examples, rows_.names);
    parts.devices = distinct(devices_);
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
    card.op_classes = fitted_.parts.domain.op_classes();
    card.devices = fitted_.parts.domain.devices();
    std::set<std::string> families;
    std::set<std::uint32_t> kernels;
    for (const learned::Example& row : rows_.examples.rows) {
      families.insert(rows_.examples.families.at(row.family));
      kernels.insert(row.kernel);
    }
    card.families.assign(families.begin(), families.end());
    fitted_.kernels = kernels.size();
  }

  const analytical::CostModel& prior_;
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

std::vector<SampleSet> without_outliers(std::span<const SampleSet> sets,
                                        const Calibrated& calibrated) {
  std::set<std::pair<std::string, std::size_t>> outliers;  // set and line
  for (std::size_t i = 0; i < calibrated.outliers.size(); ++i) {
    outliers.emplace(calibrated.outlier_sets[i], calibrated.outliers[i].line);
  }
  std::vector<SampleSet> kept(sets.begin(), sets.end());
  for (SampleSet& set : kept) {
    std::erase_if(set.samples, [&](const measured::Sample& sample) {
      return outliers.contains({set.name, sample.line});
    });
  }
  std::erase_if(kept, [](const SampleSet& set) { return set.samples.empty(); });
  return kept;
}

void describe_data(std::span<const SampleSet> sets, FittedHybrid& fitted) {
  learned::ModelCard& card = fitted.card;
  card.split = "all rows fitted; errors are of held-out trials";
  for (const SampleSet& set : sets) {
    card.data.push_back({.name = set.name,
                         .hash = set.hash,
                         .device = set.device,
                         .licence = set.manifest.licence,
                         .train = set.samples.size()});
  }
  const auto error_of = [&](const std::string& name) {
    const auto found = std::ranges::find(fitted.candidates, name, &CandidateScore::name);
    TC_CHECK(found != fitted.candidates.end(), "a score of every candidate");
    return found->error;
  };
  card.metrics = {{.metric = "mean_absolute_log_error",
                   .n = fitted.rows,
                   .value = error_of(fitted.chosen),
                   .baseline = error_of("none")}};
}

}  // namespace

FittedHybrid fit_hybrid(const analytical::CostModel& prior, const HybridSpec& spec,
                        std::span<const SampleSet> sets, std::span<const Device> devices,
                        const HybridOptions& options) {
  TC_CHECK(sets.size() == devices.size() && !sets.empty(), "one device per set");
  return HybridFit(prior, spec, sets, devices, options).run();
}

FittedHybrid fit_hybrid_to_calibrated(const analytical::CostModel& prior, const std::string& name,
                                      const Calibrated& calibrated, std::span<const SampleSet> sets,
                                      const HybridOptions& options) {
  const std::vector<SampleSet> rows = without_outliers(sets, calibrated);
  HybridSpec spec = default_hybrid(name);
  spec.calibrate = false;  // it has been
  Device device = calibrated.device;
  if (calibrated.accepted) {  // a description without a source is one without constants
    device.calibration.source = provenance_of(calibrated, sets);
    device.calibration.fitted_by = hwdesc::FittedBy::kHybrid;
  }
  FittedHybrid fitted =
      fit_hybrid(prior, spec, rows, std::vector<Device>(rows.size(), device), options);
  describe_data(rows, fitted);
  return fitted;
}

}  // namespace tilecast::hybrid
