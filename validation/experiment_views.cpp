#include "validation/experiment_views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>

#include "sim/views/evaluation.h"
#include "sim/views/fits.h"
#include "sim/views/rows.h"

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

namespace {

using measured::Metric;
using sim::training::SetSummary;
using sim::views::metric_cell;
using sim::views::metric_title;
using sim::views::percent;

// "8.1 [7.2, 9.0]"; with seeds "8.1 (worst 9.3)", and the interval if there is one.
std::string experiment_cell(Metric metric, const Cell& cell) {
  if (!cell.worst) return metric_cell(metric, {.value = cell.value, .interval = cell.interval});
  return fmt::format("{} (worst {})",
                     metric_cell(metric, {.value = cell.value, .interval = cell.interval}),
                     sim::views::metric_value(metric, *cell.worst));
}

std::string exact(Metric metric, double value) {
  if (std::isnan(value)) return "-";
  return sim::views::is_share(metric) ? fmt::format("{:.2f} %", 100 * value)
                                      : fmt::format("{:.3f}", value);
}

std::string exact(Metric metric, const std::optional<double>& value) {
  return value ? exact(metric, *value) : "undefined";
}

std::string difference_text(const DirectionResult& result) {
  if (!result.difference) {
    return fmt::format("{} {}, a 95 % interval needs 3", result.seeds,
                       result.seeds == 1 ? "seed" : "seeds");
  }
  const Metric metric = result.direction.metric;
  return fmt::format("difference [{}, {}] over {} seeds, 95 %",
                     exact(metric, result.difference->low), exact(metric, result.difference->high),
                     result.seeds);
}

// Kernels with several tiles for rankings of tiles, else rows.
std::size_t count_of(const ResultStratum& stratum, Metric metric) {
  return measured::ranks_tiles(metric) ? stratum.kernels_with_tiles : stratum.rows;
}

// Rows with predictions in every column, and all rows.
std::string row_count(const ResultStratum& stratum) {
  return stratum.rows == stratum.rows_measured
             ? std::to_string(stratum.rows)
             : fmt::format("{} of {}", stratum.rows, stratum.rows_measured);
}

// All combinations of stratum and column.
std::vector<std::vector<std::string>> table_rows(const ExperimentResult& result) {
  std::vector<std::vector<std::string>> rows;
  for (const ResultStratum& stratum : result.strata) {
    for (std::size_t i = 0; i < result.experiment.columns.size(); ++i) {
      std::vector<std::string> cells{stratum.title(), row_count(stratum),
                                     std::to_string(stratum.works), result.experiment.columns[i]};
      for (const Metric metric : result.experiment.metrics) {
        cells.push_back(
            experiment_cell(metric, stratum.cells[i][static_cast<std::size_t>(metric)]));
      }
      rows.push_back(std::move(cells));
    }
  }
  return rows;
}

std::vector<std::string> titles(const ExperimentResult& result) {
  std::vector<std::string> all{"rows", "n", "works", "model"};
  for (const Metric metric : result.experiment.metrics) all.push_back(metric_title(metric));
  return all;
}

std::string set_text(const SetSummary& set) {
  return fmt::format("{}: {} rows, {} left out, measured on {}, hash {}", set.name, set.rows,
                     set.left_out, set.device, set.hash.substr(0, sim::views::kShortHash));
}

// Minimum and maximum, as "12" or "10 to 12".
std::string range(const std::vector<Round>& rounds, std::size_t Round::*field) {
  const auto [low, high] = std::ranges::minmax(rounds, {}, field);
  return low.*field == high.*field ? fmt::format("{}", low.*field)
                                   : fmt::format("{} to {}", low.*field, high.*field);
}

constexpr std::size_t kListed = 5;  // rounds listed individually

// "seed 1: depth 6, lambda 2": the result of a round.
void add_round(const Round& round, const std::string& what, const std::vector<std::string>& found,
               std::vector<std::string>& lines) {
  if (found.empty()) return;
  lines.push_back(fmt::format("{}{}{}", round.name.empty() ? "" : round.name + ": ", what,
                              fmt::join(found, ", ")));
}

// One line per learner: its kind, and its rows in every round.
std::vector<std::string> learner_lines(const ExperimentResult& result) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < result.experiment.learners.size(); ++i) {
    std::size_t least = SIZE_MAX, most = 0, validation = 0;
    for (const Round& round : result.rounds) {
      least = std::min(least, round.learned[i].train_rows);
      most = std::max(most, round.learned[i].train_rows);
      validation = std::max(validation, round.learned[i].validation_rows);
    }
    const learned::LearnerSpec& learner = result.experiment.learners[i];
    lines.push_back(fmt::format(
        "{}: {}{}, trained on {}, stopped by up to {} of the fitted rows", learner.name,
        learned::name(learner.kind), learner.ranks_only() ? " that only ranks tiles" : "",
        least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most),
        validation));
    for (const Round& round :
         std::span(result.rounds).first(std::min(result.rounds.size(), kListed))) {
      add_round(round, fmt::format("{}: the search chose ", learner.name), round.learned[i].chosen,
                lines);
    }
  }
  return lines;
}

// One line per hybrid: the mean of its trials over the rounds.
std::vector<std::string> hybrid_lines(const ExperimentResult& result) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < result.experiment.hybrids.size(); ++i) {
    double before = 0, after = 0, physics = 0, corrected = 0;
    const auto n = static_cast<double>(result.rounds.size());
    for (const Round& round : result.rounds) {
      const hybrid::TrialReport& groups = round.hybrids[i].report;
      before += groups.before / n;
      after += groups.after / n;
      physics += groups.believed == 0 ? 1 : 0;
      if (groups.rows > 0) {
        corrected += static_cast<double>(groups.believed) / static_cast<double>(groups.rows) / n;
      }
    }
    lines.push_back(fmt::format(
        "{}: MAPE of groups left out {:.1f} % by physics, {:.1f} % corrected; {} % of their rows "
        "corrected, physics alone in {} of {} rounds",
        result.experiment.hybrids[i].name, before, after, percent(corrected), physics,
        result.rounds.size()));
  }
  return lines;
}

std::string published_text(const ExperimentResult& result) {
  std::string out = "Others' published numbers, on others' data and machines, beside ours:\n";
  for (const std::vector<std::string>& row : published_rows(result)) {
    out += fmt::format("others  {}, {}: ours {} (n = {}, {} {}), others' {} ({})\n", row[0], row[1],
                       row[2], row[3], row[4], row[4] == "1" ? "seed" : "seeds", row[5], row[6]);
  }
  return out;
}

}  // namespace

std::vector<std::string> fit_lines(const ExperimentResult& result) {
  const std::vector<Round>& rounds = result.rounds;
  std::vector<std::string> lines;
  for (const Round& round : std::span(rounds).first(std::min(rounds.size(), kListed))) {
    add_round(round, "analytical_scaled: ", round.scaled, lines);
  }
  if (rounds.empty() || !rounds.front().fitted) {
    lines.insert(lines.begin(), "fitted on nothing: presets as they are");
    return lines;
  }
  std::ranges::move(learner_lines(result), std::back_inserter(lines));
  std::ranges::move(hybrid_lines(result), std::back_inserter(lines));
  const std::string refused =
      result.experiment.calibrates()
          ? fmt::format("; fits refused: {} of {}", result.refused(), rounds.size())
          : "";
  const auto of = [&](std::size_t Round::*works, std::size_t Round::*programs) {
    const std::string known = range(rounds, programs);
    return range(rounds, works) + " kernels" + (known == "0" ? "" : " of " + known + " programs");
  };
  lines.insert(
      lines.begin(),
      fmt::format("fitted on {} rows of {}, scored on {} rows of {}{}",
                  range(rounds, &Round::fit_rows), of(&Round::fit_works, &Round::fit_programs),
                  range(rounds, &Round::score_rows),
                  of(&Round::score_works, &Round::score_programs), refused));
  if (rounds.size() > kListed || !result.experiment.calibrates()) return lines;
  for (const Round& round : rounds) {
    lines.push_back(fmt::format("{}{}", round.name.empty() ? "" : round.name + ": ",
                                round.accepted ? fmt::format("{}", fmt::join(round.changed, ", "))
                                               : "no fit was accepted; descriptions scored"));
  }
  return lines;
}

std::string bar_text(const BarResult& result) {
  constexpr std::string_view kSigns[] = {"<=", ">=", "<"};
  const Bar& bar = result.bar;
  std::string limit = exact(bar.metric, result.limit);
  if (!bar.limit_column.empty()) {
    const std::string margin =
        bar.margin > 0 ? fmt::format(" + {}", exact(bar.metric, bar.margin)) : "";
    const bool best = bar.limit_column == kBestOther;
    limit = fmt::format("{} ({}{}{})", limit, result.limit_column, best ? ", the best other" : "",
                        margin);
  }
  return fmt::format("{}{} of {}, {}: {}, bar {} {}", bar.over == Statistic::kWorst ? "worst " : "",
                     measured::name(bar.metric), bar.column, result.stratum,
                     result.value ? exact(bar.metric, *result.value) : "undefined",
                     kSigns[static_cast<std::size_t>(bar.kind)], limit);
}

std::string_view name(DirectionResult::Verdict verdict) {
  constexpr std::string_view kNames[] = {"agrees", "disagrees", "undecided"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string direction_text(const DirectionResult& result) {
  const Direction& direction = result.direction;
  return fmt::format(
      "{} ({} of {} {}, of {} {}, {}; {})", direction.finding, measured::name(direction.metric),
      direction.better, exact(direction.metric, result.better), direction.than,
      exact(direction.metric, result.than), direction.stratum, difference_text(result));
}

std::vector<std::vector<std::string>> published_rows(const ExperimentResult& result) {
  const ResultStratum& all = result.strata.front();
  std::vector<std::vector<std::string>> rows;
  for (const Published& published : result.experiment.published) {
    const auto column = std::ranges::find(result.experiment.columns, published.column) -
                        result.experiment.columns.begin();
    const Cell& cell =
        all.cells[static_cast<std::size_t>(column)][static_cast<std::size_t>(published.metric)];
    const measured::ReferenceRow& row = published.row;
    const auto with_value = std::ranges::count_if(
        cell.by_seed, [](const std::optional<double>& value) { return value.has_value(); });
    const std::size_t seeds = std::max<std::size_t>(1, static_cast<std::size_t>(with_value));
    rows.push_back({published.column, metric_title(published.metric),
                    experiment_cell(published.metric, cell),
                    std::to_string(count_of(all, published.metric)), std::to_string(seeds),
                    fmt::format("{}{}", row.value, row.unit == "%" ? " %" : ""),
                    fmt::format("{}, {}: {}, {}; {}, {}", row.file, row.where, row.subject,
                                row.column, row.hardware, row.data)});
  }
  return rows;
}

std::string experiment_text(const ExperimentResult& result) {
  std::string out = fmt::format("{}: {}\n", result.experiment.name, result.experiment.claim);
  for (const SetSummary& set : result.sets) out += fmt::format("set     {}\n", set_text(set));
  out += fmt::format("split   {}\n", split_text(result.experiment.split));
  for (const std::string& line : fit_lines(result)) out += fmt::format("fit     {}\n", line);
  std::vector<sim::views::Column> columns;
  for (const std::string& title : titles(result)) {
    const bool text = title == "rows" || title == "model";
    columns.push_back((text ? "" : ">") + title);
  }
  sim::views::TextTable table(columns);
  for (const std::vector<std::string>& row : table_rows(result)) table.add(row);
  out += table.render();
  for (const BarResult& bar : result.bars) {
    out += fmt::format("bar     {}: {}\n", bar.met ? "met" : "not met", bar_text(bar));
  }
  for (const DirectionResult& one : result.directions) {
    out += fmt::format("finding {}: {}\n", name(one.verdict), direction_text(one));
  }
  if (!result.experiment.published.empty()) out += published_text(result);
  for (const std::string& note : result.notes) out += fmt::format("note    {}\n", note);
  return out;
}

}  // namespace tilecast::validation
