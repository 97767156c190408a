#include "hybrid/hybrid_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/error.h"
#include "hybrid/stack.h"
#include "hybrid/trials.h"

namespace tilecast::hybrid {
namespace {

using hwdesc::Device;
using measured::SampleSet;

constexpr std::string_view kStack = "stack";

class HybridFit {
 public:
  HybridFit(const analytical::CostModel& prior, const HybridSpec& spec, PreparedFit prepared,
            const HybridOptions& options)
      : prior_(prior), spec_(spec), prepared_(std::move(prepared)), options_(options) {}

  FittedHybrid run() {
    rows_ = trial_rows(prior_, prepared_.sets, prepared_.devices, spec_.trial_by, options_.jobs);
    const std::string too_few =
        fmt::format("got {} rows of single kernels that physics answers, expected at least {}",
                    rows_.examples.rows.size(), kLeastRows);
    const bool corrects = rows_.examples.rows.size() >= kLeastRows;
    // Programs calibrate, too, and the constants stand without a correction.
    if (!corrects && !any_accepted()) {
      throw learned::TooFewRows(fmt::format("hybrid {}: {}", spec_.name, too_few));
    }
    if (!corrects) fitted_.notes.push_back("no correction: " + too_few);
    for (Device& device : prepared_.devices) {
      const bool corrected =
          corrects && std::ranges::find(rows_.by_device, device.name) != rows_.by_device.end();
      // Of programs alone: constants hold for every kernel.
      if (!corrected) device.calibration.fitted_by = hwdesc::FittedBy::kCalibration;
    }
    fitted_.trial_by = rows_.trial_by;
    fitted_.rows = rows_.examples.rows.size();
    plan_ = plan_trials(rows_, spec_.folds, spec_.seed);
    choose();
    learn_trust();
    finish();
    std::ranges::move(prepared_.notes, std::back_inserter(fitted_.notes));
    fitted_.calibrated = std::move(prepared_.calibrated);
    fitted_.apart = std::move(prepared_.apart);
    return std::move(fitted_);
  }

 private:
  void report(const std::string& what, double done) const {
    if (options_.step) options_.step(what, done);
  }

  [[nodiscard]] bool any_accepted() const {
    return std::ranges::any_of(prepared_.calibrated, &Calibrated::accepted);
  }

  // Trials of every candidate on the base groups; one that cannot be fitted to so few rows is out.
  void choose() {
    std::vector<Corrections> learners;
    for (std::size_t i = 0; i < spec_.candidates.size() && !plan_.base.empty(); ++i) {
      const learned::LearnerSpec& candidate = spec_.candidates[i];
      report("trials of " + candidate.name,
             0.1 + 0.5 * double(i) / double(spec_.candidates.size()));
      try {
        learners.push_back(predict_trials(candidate, rows_, plan_.base, options_.jobs));
        tried_.push_back(&candidate);
      } catch (const learned::TooFewRows&) {
        fitted_.candidates.push_back({.name = candidate.name + " (too few rows)"});
      }
    }
    std::vector<Corrections> predicted{Corrections(rows_.examples.rows.size())};  // physics alone
    predicted.insert(predicted.end(), learners.begin(), learners.end());
    const bool stacks = spec_.stack && enough_to_stack(rows_, learners.size());
    if (stacks) predicted.push_back(stack_trials(rows_, learners, plan_.base));
    Choice choice = choose_candidate(rows_, predicted);
    const CandidateScore& last = choice.scores.back();
    // Where rows suffice the stack is chosen unless another is better beyond doubt.
    if (stacks && last.error <= choice.least + last.deviation) {
      choice.chosen = choice.scores.size() - 1;
    }
    choice.scores.front().name = "none";
    for (std::size_t c = 0; c < tried_.size(); ++c) choice.scores[c + 1].name = tried_[c]->name;
    if (stacks) choice.scores.back().name = kStack;
    fitted_.candidates.insert(fitted_.candidates.begin(), choice.scores.begin(),
                              choice.scores.end());
    fitted_.chosen = choice.scores[choice.chosen].name;
    weights_.assign(tried_.size(), 0);
    if (stacks && choice.chosen + 1 == predicted.size()) {
      std::vector<std::size_t> all(rows_.examples.rows.size());
      std::iota(all.begin(), all.end(), std::size_t{0});
      weights_ = stack_weights(rows_, learners, all);
    } else if (choice.chosen > 0) {
      weights_[choice.chosen - 1] = 1;
    }
    base_ = std::move(predicted[choice.chosen]);
  }

  [[nodiscard]] std::vector<Trial> trials(const TrialRows& rows,
                                          std::span<const measured::Split> splits,
                                          const std::vector<std::string>& keys,
                                          Machines machines) const {
    if (splits.empty()) return {};
    std::vector<Corrections> predicted{Corrections(rows.examples.rows.size())};  // physics alone
    std::vector<double> weights{0};
    try {
      for (std::size_t c = 0; c < tried_.size(); ++c) {
        if (weights_[c] == 0) continue;
        predicted.push_back(predict_trials(*tried_[c], rows, splits, options_.jobs));
        weights.push_back(weights_[c]);
      }
    } catch (const learned::TooFewRows&) {
      return {};  // too few rows without that kind or device: nothing is known of new ones
    }
    return trials_of(prior_, rows, splits, keys, stacked(predicted, weights), machines);
  }

  // A device left out is asked about as described, as any that nobody measured.
  [[nodiscard]] std::vector<Trial> device_trials() const {
    if (plan_.by_device.empty() || !any_accepted()) {
      return trials(rows_, plan_.by_device, rows_.by_device, Machines::kLeftOut);
    }
    const TrialRows described =
        trial_rows(prior_, prepared_.sets, prepared_.described, spec_.trial_by, options_.jobs);
    TC_CHECK(described.examples.rows.size() == rows_.examples.rows.size(),
             "constants do not decide what physics answers");
    std::vector<Trial> all;
    for (const measured::Split& split : plan_.by_device) {
      TrialRows rows = rows_;
      for (const std::size_t row : split.score) {
        rows.examples.rows[row] = described.examples.rows[row];
        rows.examples.priors[row] = described.examples.priors[row];
        rows.works[row] = described.works[row];
      }
      std::ranges::move(trials(rows, {&split, 1}, rows.by_device, Machines::kLeftOut),
                        std::back_inserter(all));
    }
    return all;
  }

  void learn_trust() {
    report("trials of new kinds and devices", 0.6);
    const Trials all{
        .base = trials_of(prior_, rows_, plan_.base, rows_.by_group, base_, Machines::kFitted),
        .by_kind = trials(rows_, plan_.by_kind, rows_.by_kind, Machines::kFitted),
        .by_device = device_trials()};
    fitted_.parts.trust = Trust(all);
  }

  void finish() {
    report("all rows", 0.9);
    HybridParts& parts = fitted_.parts;
    parts.domain = Domain::of(rows_.examples, rows_.works, rows_.names);
    for (const Device& device : prepared_.devices) {
      if (!parts.devices.has(device.name)) parts.devices.add(device);
    }
    describe();
    learned::StackPredictorParts stack;
    for (std::size_t c = 0; c < tried_.size(); ++c) {
      if (weights_[c] == 0) continue;
      learned::Trained trained =
          learned::train(*tried_[c], rows_.examples, {.threads = options_.jobs});
      fitted_.training_csv = std::move(trained.training_csv);
      fitted_.card = std::move(trained.card);
      fitted_.card.name = spec_.name;
      stack.members.push_back({.name = tried_[c]->name,
                               .weight = weights_[c],
                               .predictor = std::move(trained.predictor),
                               .settings = fitted_.card.settings});
    }
    if (stack.members.empty()) return;
    if (fitted_.chosen != kStack) {
      parts.residual = std::move(stack.members.front().predictor);
      return;
    }
    describe_stack(stack);
    parts.residual = learned::make_predictor(std::move(stack));
  }

  void describe_stack(const learned::StackPredictorParts& stack) {
    fitted_.training_csv.clear();
    fitted_.card.settings.clear();
    for (const learned::StackMember& member : stack.members) {
      fitted_.card.settings["stack_" + member.name] = fmt::format("{}", member.weight);
    }
  }

  void describe() {
    learned::ModelCard& card = fitted_.card;
    card.name = spec_.name;
    card.kind = "physics";
    card.seed = spec_.seed;
    std::set<std::string> op_classes;
    for (const analytical::KernelQuery& query : rows_.examples.queries) {
      op_classes.insert(measured::op_class(query.kernel));
    }
    card.op_classes.assign(op_classes.begin(), op_classes.end());
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
  PreparedFit prepared_;
  const HybridOptions& options_;
  TrialRows rows_;
  TrialPlan plan_;
  std::vector<const learned::LearnerSpec*> tried_;
  std::vector<double> weights_;  // of those tried, in the correction
  Corrections base_;             // its trials
  FittedHybrid fitted_;
};

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
                        PreparedFit prepared, const HybridOptions& options) {
  return HybridFit(prior, spec, std::move(prepared), options).run();
}

FittedHybrid fit_hybrid(const analytical::CostModel& prior, const HybridSpec& spec,
                        std::span<const SampleSet> sets, std::span<const Device> devices,
                        const HybridOptions& options) {
  TC_CHECK(sets.size() == devices.size() && !sets.empty(), "one device per set");
  if (options.step && spec.calibrate) options.step("constants", 0);
  PreparedFit prepared = prepare_fit(
      prior, sets, devices,
      {.calibrate = spec.calibrate,
       .constants = {.accept_suspicious = options.accept_suspicious, .jobs = options.jobs}});
  return fit_hybrid(prior, spec, std::move(prepared), options);
}

FittedHybrid fit_default_hybrid(const analytical::CostModel& prior, const std::string& name,
                                const PreparedFit& prepared, const HybridOptions& options) {
  FittedHybrid fitted = fit_hybrid(prior, default_hybrid(name), prepared, options);
  describe_data(prepared.sets, fitted);
  return fitted;
}

}  // namespace tilecast::hybrid
