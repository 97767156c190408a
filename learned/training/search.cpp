#include "learned/training/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/error.h"
#include "learned/training/learner_parameters.h"

namespace tilecast::learned {
namespace {

constexpr std::uint64_t kStream = 0x9e3779b97f4a7c15;  // a stream different from that of the splits
constexpr double kDecade = 10;                         // wider ranges are drawn by logarithm
constexpr int kMostDraws = 100;

// Uniform in [0, 1); the standard's distributions differ between libraries.
double draw(std::mt19937_64& engine) {
  return static_cast<double>(engine() >> 11) * 0x1p-53;
}

std::string draw_number(const SearchRange& range, const ParameterRange& allowed,
                        std::mt19937_64& engine) {
  const double low = parse_parameter(range.values.at(0), allowed);
  const double high = parse_parameter(range.values.at(1), allowed);
  const bool by_logarithm = low > 0 && high / low > kDecade;
  const double u = draw(engine);
  double value = by_logarithm ? low * std::pow(high / low, u) : low + u * (high - low);
  if (allowed.kind == ParameterRange::Kind::kInteger) {
    value = by_logarithm ? std::round(value) : low + std::floor(u * (high - low + 1));
  } else {
    value = std::stod(fmt::format("{:.3g}", value));  // a short decimal number
  }
  return parameter_text(std::clamp(value, low, high));
}

std::string draw_value(const SearchRange& range, const ParameterRange& allowed,
                       std::mt19937_64& engine) {
  if (range.range) return draw_number(range, allowed, engine);
  const auto at = static_cast<std::size_t>(draw(engine) * static_cast<double>(range.values.size()));
  return range.values.at(at);
}

LearnerSpec draw_trial(const LearnerSpec& spec, std::mt19937_64& engine) {
  std::string last;
  for (int draws = 0; draws < kMostDraws; ++draws) {
    LearnerSpec trial = spec;
    for (const SearchRange& range : spec.search.ranges) {
      const ParameterRange& allowed = range_of(spec.kind, range.parameter);
      set_parameter(trial, range.parameter, draw_value(range, allowed, engine));
    }
    try {
      check_parameters(trial);
      return trial;
    } catch (const Error& error) {
      last = error.what();
    }
  }
  throw Error(fmt::format("learner {}: search: none of {} draws can be trained; {}", spec.name,
                          kMostDraws, last));
}

struct Entry {
  std::size_t trial = 0;
  FitResult fit;
};

// NaN is the worst.
bool is_better(const Entry& a, const Entry& b) {
  const auto rank = [](double value) {
    return std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
  };
  const double x = rank(a.fit.validation), y = rank(b.fit.validation);
  return x != y ? x < y : a.trial < b.trial;
}

}  // namespace

std::vector<LearnerSpec> draw_trials(const LearnerSpec& spec) {
  std::mt19937_64 engine(spec.seed ^ kStream);
  std::vector<LearnerSpec> trials{spec};
  for (int i = 1; i < spec.search.trials; ++i) trials.push_back(draw_trial(spec, engine));
  return trials;
}

std::vector<HalvingRound> halving(int trials, int rounds, int resource) {
  std::vector<HalvingRound> plan(static_cast<std::size_t>(rounds));
  for (HalvingRound& round : plan) {
    round.trials = trials;
    trials = (trials + 1) / 2;
  }
  for (auto round = plan.rbegin(); round != plan.rend(); ++round) {
    round->resource = std::max(1, resource);
    resource /= 2;
  }
  return plan;
}

SearchResult run_search(const LearnerSpec& spec, const Fitter& fitter, int threads,
                        const std::function<void(const SearchStep&)>& step) {
  const std::vector<LearnerSpec> trials = draw_trials(spec);
  const std::vector<HalvingRound> plan =
      halving(spec.search.trials, spec.search.rounds, resource_of(spec));
  double whole = 0, past = 0;
  for (const HalvingRound& round : plan) whole += double{1} * round.trials * round.resource;
  std::vector<std::size_t> running(trials.size());
  std::iota(running.begin(), running.end(), std::size_t{0});
  std::vector<Entry> entries;
  for (std::size_t r = 0; r < plan.size(); ++r) {
    running.resize(static_cast<std::size_t>(plan[r].trials));
    entries.clear();
    for (const std::size_t number : running) {
      LearnerSpec trial = trials[number];
      set_resource(trial, plan[r].resource);
      SearchStep progress{.trial = static_cast<int>(number) + 1,
                          .round = static_cast<int>(r) + 1,
                          .rounds = static_cast<int>(plan.size()),
                          .spec = &trial};
      const FitHooks hooks{.step =
                               [&](const FitStep& fit) {
                                 progress.fit = fit;
                                 progress.done = (past + fit.step) / whole;
                                 if (step) step(progress);
                               },
                           .threads = threads};
      entries.push_back({number, fitter.fit(trial, hooks)});
      past += plan[r].resource;
    }
    std::ranges::sort(entries, is_better);
    for (std::size_t i = 0; i < entries.size(); ++i) running[i] = entries[i].trial;
  }
  Entry& best = entries.front();
  return {trials[best.trial], static_cast<int>(best.trial) + 1, std::move(best.fit)};
}

}  // namespace tilecast::learned
