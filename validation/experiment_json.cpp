#include <nlohmann/json.hpp>

#include "sim/views/fits.h"
#include "sim/views/rows.h"
#include "validation/experiment_views.h"

namespace tilecast::validation {
namespace {

using sim::views::json_number;
using Json = nlohmann::ordered_json;

Json scores(const ExperimentResult& result) {
  Json all = Json::array();
  for (const ResultStratum& stratum : result.strata) {
    for (std::size_t i = 0; i < result.experiment.columns.size(); ++i) {
      for (const measured::Metric metric : result.experiment.metrics) {
        const Cell& cell = stratum.cells[i][static_cast<std::size_t>(metric)];
        Json score = {{"by", measured::name(stratum.breakdown)},
                      {"stratum", stratum.name},
                      {"rows", stratum.rows},
                      {"rows_measured", stratum.rows_measured},
                      {"works", stratum.works},
                      {"column", result.experiment.columns[i]},
                      {"metric", measured::name(metric)},
                      {"value", json_number(cell.value)}};
        if (cell.worst) score["worst"] = json_number(cell.worst);
        if (cell.interval) score["interval_95"] = {cell.interval->low, cell.interval->high};
        if (result.experiment.learns() && !cell.by_seed.empty()) {
          score["by_seed"] = Json::array();
          for (const auto& value : cell.by_seed) score["by_seed"].push_back(json_number(value));
        }
        all.push_back(std::move(score));
      }
    }
  }
  return all;
}

// The composition of a hybrid in one round; errors are the MAPE of trials.
Json made_of(const HybridRound& one) {
  return {{"hybrid", one.hybrid},
          {"trial_by", learned::kValidateBy[static_cast<std::size_t>(one.trial_by)]},
          {"rows", one.rows},
          {"kernels", one.kernels},
          {"trials", sim::views::trials_json(one.report)},
          {"correlation", one.correlation}};
}

Json bars(const ExperimentResult& result) {
  Json all = Json::array();
  for (const BarResult& bar : result.bars) {
    all.push_back({{"metric", measured::name(bar.bar.metric)},
                   {"column", bar.bar.column},
                   {"stratum", bar.stratum},
                   {"over", bar.bar.over == Statistic::kWorst ? "worst" : "mean"},
                   {"kind", kLimits[static_cast<std::size_t>(bar.bar.kind)]},
                   {"limit", json_number(bar.limit)},
                   {"limit_column", bar.limit_column},
                   {"best_other", bar.bar.limit_column == kBestOther},
                   {"value", json_number(bar.value)},
                   {"met", bar.met},
                   {"text", bar_text(bar)}});
    if (bar.bar.margin > 0) all.back()["margin"] = bar.bar.margin;
  }
  return all;
}

Json learners(const Experiment& experiment) {
  Json all = Json::array();
  for (const learned::LearnerSpec& learner : experiment.learners) {
    all.push_back({{"name", learner.name},
                   {"ranks_only", learner.ranks_only()},
                   {"settings", learned::settings_of(learner)}});
  }
  return all;
}

Json hybrids(const Experiment& experiment) {
  Json all = Json::array();
  for (const hybrid::HybridSpec& spec : experiment.hybrids) {
    all.push_back({{"name", spec.name},
                   {"guard", spec.belief == hybrid::Belief::kRules},
                   {"members", spec.members}});
  }
  return all;
}

// Published numbers, on other data.
Json published(const ExperimentResult& result) {
  Json all = Json::array();
  const std::vector<std::vector<std::string>> shown = published_rows(result);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const Published& one = result.experiment.published[i];
    all.push_back({{"column", one.column},
                   {"metric", measured::name(one.metric)},
                   {"value", one.row.value},
                   {"unit", one.row.unit},
                   {"source", one.row.source},
                   {"where", one.row.where},
                   {"subject", one.row.subject},
                   {"in", one.row.column},
                   {"hardware", one.row.hardware},
                   {"data", one.row.data},
                   {"split", one.row.split},
                   {"shown", shown[i]}});
  }
  return all;
}

Json directions(const ExperimentResult& result) {
  Json all = Json::array();
  for (const DirectionResult& one : result.directions) {
    Json json = {{"finding", one.direction.finding},
                 {"text", direction_text(one)},
                 {"better", one.direction.better},
                 {"than", one.direction.than},
                 {"metric", measured::name(one.direction.metric)},
                 {"stratum", one.direction.stratum},
                 {"verdict", name(one.verdict)},
                 {"seeds", one.seeds},
                 {"value_better", json_number(one.better)},
                 {"value_than", json_number(one.than)}};
    if (one.difference) {
      json["difference_interval_95"] = {one.difference->low, one.difference->high};
    }
    all.push_back(std::move(json));
  }
  return all;
}

Json experiment(const ExperimentResult& result) {
  Json sets = Json::array();
  for (const sim::training::SetSummary& set : result.sets) {
    sets.push_back({{"name", set.name},
                    {"device", set.device},
                    {"rows", set.rows},
                    {"left_out", set.left_out},
                    {"with_dispatch", set.with_dispatch},
                    {"hash", set.hash}});
  }
  Json rounds = Json::array();
  for (const Round& round : result.rounds) {
    rounds.push_back({{"name", round.name},
                      {"fit_rows", round.fit_rows},
                      {"fit_works", round.fit_works},
                      {"score_rows", round.score_rows},
                      {"fitted", round.fitted},
                      {"accepted", round.accepted},
                      {"changed", round.changed}});
    if (!round.scaled.empty()) rounds.back()["scaled"] = round.scaled;
    for (const sim::training::LearnedRound& one : round.learned) {
      rounds.back()["learned"].push_back({{"learner", one.learner},
                                          {"train_rows", one.train_rows},
                                          {"validation_rows", one.validation_rows}});
      if (one.fitted_log_l1) rounds.back()["learned"].back()["fitted_log_l1"] = *one.fitted_log_l1;
      if (!one.chosen.empty()) rounds.back()["learned"].back()["chosen"] = one.chosen;
    }
    for (const HybridRound& one : round.hybrids) {
      rounds.back()["hybrids"].push_back(made_of(one));
    }
  }
  Json metrics = Json::array();
  for (const measured::Metric metric : result.experiment.metrics) {
    metrics.push_back(measured::name(metric));
  }
  Json json = {{"name", result.experiment.name},
               {"claim", result.experiment.claim},
               {"split", split_text(result.experiment.split)},
               {"seeds", result.experiment.split.seeds},
               {"sets", sets},
               {"fit", fit_lines(result)},
               {"rounds", rounds},
               {"columns", result.experiment.columns},
               {"metrics", metrics},
               {"scores", scores(result)},
               {"bars", bars(result)},
               {"notes", result.notes}};
  // Without learners or hybrids, the document has no such members.
  if (!result.experiment.learners.empty()) json["learners"] = learners(result.experiment);
  if (!result.experiment.hybrids.empty()) json["hybrids"] = hybrids(result.experiment);
  if (!result.experiment.published.empty()) json["published"] = published(result);
  if (!result.directions.empty()) json["directions"] = directions(result);
  return json;
}

}  // namespace

std::string experiment_json(const ExperimentResult& result) {
  return sim::views::json_line(experiment(result));
}

std::string experiments_json(std::span<const std::string> experiments,
                             std::span<const SkippedExperiment> skipped) {
  Json json = {{"schema", "tilecast.validate/1"}, {"experiments", Json::array()}};
  for (const std::string& each : experiments) json["experiments"].push_back(Json::parse(each));
  json["skipped"] = Json::array();
  for (const SkippedExperiment& one : skipped) {
    json["skipped"].push_back({{"name", one.name}, {"why", one.why}});
  }
  return sim::views::json_text(json, 2);
}

}  // namespace tilecast::validation
