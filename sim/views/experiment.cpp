#include "sim/views/experiment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>

#include "sim/views/evaluation.h"
#include "sim/views/text_table.h"

namespace tilecast::sim::views {
namespace {

using measured::Metric;
using validation::BarResult;
using validation::DirectionResult;
using validation::ExperimentResult;
using validation::HybridRound;
using validation::ResultSet;
using validation::ResultStratum;
using validation::Round;
using validation::SplitKind;

// Those that every column answered, of those there are.
std::string row_count(const ResultStratum& stratum) {
  return stratum.rows == stratum.rows_measured
             ? std::to_string(stratum.rows)
             : fmt::format("{} of {}", stratum.rows, stratum.rows_measured);
}

// Every stratum x column.
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

std::string set_text(const ResultSet& set) {
  return fmt::format("{}: {} rows, {} left out, measured on {}, hash {}", set.name, set.rows,
                     set.left_out, set.device, set.hash.substr(0, kShortHash));
}

// Smallest and largest, "12" or "10 to 12".
std::string range(const std::vector<Round>& rounds, std::size_t Round::*field) {
  const auto [low, high] = std::ranges::minmax(rounds, {}, field);
  return low.*field == high.*field ? fmt::format("{}", low.*field)
                                   : fmt::format("{} to {}", low.*field, high.*field);
}

constexpr std::size_t kListed = 5;  // rounds that are told one by one

// "seed 1: depth 6, lambda 2": what a round found.
void add_round(const Round& round, const std::string& what, const std::vector<std::string>& found,
               std::vector<std::string>& lines) {
  if (found.empty()) return;
  lines.push_back(fmt::format("{}{}{}", round.name.empty() ? "" : round.name + ": ", what,
                              fmt::join(found, ", ")));
}

// One line per learner: what it is, and how many rows it had in every round.
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

// One line per hybrid: mean of its trials over the rounds.
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

std::string seeds_text(const validation::SplitSpec& split) {
  return split.seeds == 1 ? fmt::format("seed {}", split.seed)
                          : fmt::format("{} seeds", split.seeds);
}

// Only of kinds that deal the same rows whatever the seed.
std::string trainings(const validation::SplitSpec& split) {
  return split.seeds > 1 ? fmt::format("; {} seeds of training", split.seeds) : "";
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
  lines.insert(lines.begin(),
               fmt::format("fitted on {} rows of {} kernels, scored on {}{}",
                           range(rounds, &Round::fit_rows), range(rounds, &Round::fit_works),
                           range(rounds, &Round::score_rows), refused));
  if (rounds.size() > kListed || !result.experiment.calibrates()) return lines;
  for (const Round& round : rounds) {
    lines.push_back(fmt::format("{}{}", round.name.empty() ? "" : round.name + ": ",
                                round.accepted ? fmt::format("{}", fmt::join(round.changed, ", "))
                                               : "no fit was accepted; descriptions scored"));
  }
  return lines;
}

std::string split_text(const validation::SplitSpec& split) {
  switch (split.kind) {
    case SplitKind::kNone:
      return "nothing fitted";
    case SplitKind::kFixed:
      return "fixed: the named rows fitted, others scored" + trainings(split);
    case SplitKind::kKFold:
      return fmt::format("{} folds by kernel (seed {}), pooled", split.folds, split.seed);
    case SplitKind::kLargest:
      return fmt::format("the largest {} % of sizes of each op class scored",
                         percent(split.share)) +
             trainings(split);
    case SplitKind::kLeaveOneClassOut:
      return "leave one op class out, pooled";
    case SplitKind::kLeaveOneKernelOut:
      return "leave one kernel out, pooled";
    case SplitKind::kLeaveOneDeviceOut:
      return split.rows == 0
                 ? "leave one device out, pooled; equal work on others may be fitted"
                 : fmt::format(
                       "leave all but {} random rows of one device out, pooled; equal work "
                       "on others may be fitted; {}",
                       split.rows, seeds_text(split));
    case SplitKind::kLeaveOneFamilyOut:
      return fmt::format("leave one family out, {} random works of the others fitted, pooled",
                         split.works);
    case SplitKind::kSampledRows:
      return fmt::format("{} random rows of one kernel fitted, the others scored; {} seeds",
                         split.rows, split.seeds);
    case SplitKind::kSampledWorks:
      return fmt::format("{} random works fitted, the others scored; {} seeds", split.works,
                         split.seeds);
    case SplitKind::kHeldOutFamilies:
      return fmt::format("random families until {} % of the rows scored, the others fitted; {}",
                         percent(split.share), seeds_text(split));
    case SplitKind::kHeldOutWorks:
      return fmt::format("random kernels until {} % of the rows scored, the others fitted; {}",
                         percent(split.share), seeds_text(split));
    case SplitKind::kFirstRows:
      return fmt::format("the first {} % of each set's rows fitted, the others scored",
                         percent(split.share)) +
             trainings(split);
  }
  return "";
}

std::string experiment_text(const ExperimentResult& result) {
  std::string out = fmt::format("{}: {}\n", result.experiment.name, result.experiment.claim);
  for (const ResultSet& set : result.sets) out += fmt::format("set     {}\n", set_text(set));
  out += fmt::format("split   {}\n", split_text(result.experiment.split));
  for (const std::string& line : fit_lines(result)) out += fmt::format("fit     {}\n", line);
  std::vector<Column> columns;
  for (const std::string& title : titles(result)) {
    const bool text = title == "rows" || title == "model";
    columns.push_back({title, text ? Align::kLeft : Align::kRight});
  }
  TextTable table(columns);
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

}  // namespace tilecast::sim::views
