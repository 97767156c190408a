#include "sim/study/study_optimum.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/jobs.h"
#include "base/text.h"
#include "search/constrained_minimum.h"

namespace tilecast::sim {
namespace {

// A dimension of the search: an axis with more than one value, or the devices.
struct Dimension {
  const StudyAxis* axis = nullptr;  // null: devices
  std::size_t levels = 0;           // 0: any value in its range
};

std::size_t levels_of(const StudyAxis& axis) {
  constexpr double kMostLevels = 1000;  // larger integer ranges are treated as continuous
  if (!axis.is_range()) return axis.values.size();
  const double whole = axis.high - axis.low + 1;
  return axis.integer && whole <= kMostLevels ? static_cast<std::size_t>(whole) : 0;
}

class OptimumSpace {
 public:
  explicit OptimumSpace(const Study& study) : study_(study) {
    if (std::ranges::none_of(study.axes, &StudyAxis::is_range)) {
      throw UsageError(
          fmt::format("{}: --optimise: no axis is a range (range, log, latin or "
                      "sobol); a sweep without it tries every value of the lists",
                      study.file));
    }
    if (study.devices.size() > 1) dimensions_.push_back({nullptr, study.devices.size()});
    for (const StudyAxis& axis : study.axes) {
      const Dimension dimension{&axis, levels_of(axis)};
      if (dimension.levels != 1) dimensions_.push_back(dimension);
    }
  }

  [[nodiscard]] const std::vector<Dimension>& dimensions() const { return dimensions_; }
  [[nodiscard]] std::vector<std::size_t> levels() const {
    std::vector<std::size_t> levels;
    for (const Dimension& dimension : dimensions_) levels.push_back(dimension.levels);
    return levels;
  }
  [[nodiscard]] StudyMachine machine(std::size_t index, std::span<const double> point) const {
    StudyMachine machine{index, &study_.devices.front(), {}};
    std::size_t at = 0;
    if (dimensions_.front().axis == nullptr) machine.base = &study_.devices[level(point, at++)];
    for (const StudyAxis& axis : study_.axes) {
      const bool varies = at < dimensions_.size() && dimensions_[at].axis == &axis;
      machine.overrides.emplace_back(axis.key, varies ? value(point, at) : axis.values.front());
      if (varies) ++at;
    }
    return machine;
  }

 private:
  [[nodiscard]] std::size_t level(std::span<const double> point, std::size_t dimension) const {
    const std::size_t levels = dimensions_[dimension].levels;
    return std::min(static_cast<std::size_t>(point[dimension] * static_cast<double>(levels)),
                    levels - 1);
  }
  [[nodiscard]] std::string value(std::span<const double> point, std::size_t dimension) const {
    const StudyAxis& axis = *dimensions_[dimension].axis;
    if (!axis.is_range()) return axis.values[level(point, dimension)];
    if (dimensions_[dimension].levels == 0) return axis_value(axis, point[dimension]);
    const auto steps = static_cast<double>(level(point, dimension));
    return hwdesc::format_quantity(axis.low + steps, axis.unit);
  }

  const Study& study_;
  std::vector<Dimension> dimensions_;
};

// Journal format of a result: a line of numbers, then the rows.
std::string packed(const StudyAnswer& answer) {
  return fmt::format("{} {} {}\n{}", answer.feasible ? 1 : 0, answer.objective,
                     fmt::join(answer.slacks, " "), answer.rows);
}

StudyAnswer unpacked(const std::string& text, std::size_t constraints) {
  const std::size_t end = text.find('\n');
  TC_CHECK(end != std::string::npos, "a journal of this format");
  std::vector<double> numbers;
  std::string_view line = std::string_view(text).substr(0, end);
  while (!line.empty()) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    if (blank > 0)
      numbers.push_back(std::strtod(std::string(line.substr(0, blank)).c_str(), nullptr));
    line.remove_prefix(std::min(blank + 1, line.size()));
  }
  TC_CHECK(numbers.size() == 2 + constraints, "a journal of this format");
  return {text.substr(end + 1), numbers[1], {numbers.begin() + 2, numbers.end()}, numbers[0] == 1};
}

// Evaluates machines of one study, each once, with a journal if there is one.
class Asking {
 public:
  Asking(const Study& study, const StudyRun& run, const OptimumSpace& space,
         const OptimumOptions& options)
      : study_(study), run_(run), space_(space), options_(options) {
    if (options.journal.empty()) return;
    const std::string identity =
        fmt::format("{}\noptimise {}{} {}", run.identity(), options.objective.larger ? "-" : "",
                    options.objective.column, options.seed);
    journal_.emplace(options.journal, identity, options.evaluations, options.resume);
  }

  search::Trial ask(std::span<const double> point) {
    const std::size_t index = answers_.size();
    const StudyMachine machine = space_.machine(index, point);
    const std::string* known = nullptr;
    if (journal_) {
      const auto at = journal_->known().find(index);
      if (at != journal_->known().end()) known = &at->second;
    }
    StudyAnswer answer = known ? unpacked(*known, study_.constraints.size())
                               : run_.answer(machine, options_.objective);
    if (journal_ && !known) journal_->add({{{index, packed(answer)}}});
    search::Trial trial{options_.objective.larger ? -answer.objective : answer.objective,
                        answer.slacks, answer.feasible};
    answers_.push_back(std::move(answer));
    if (options_.progress) options_.progress(answers_.size());
    return trial;
  }
  [[nodiscard]] const std::vector<StudyAnswer>& answers() const { return answers_; }

 private:
  const Study& study_;
  const StudyRun& run_;
  const OptimumSpace& space_;
  const OptimumOptions& options_;
  std::optional<base::Journal> journal_;
  std::vector<StudyAnswer> answers_;
};

// The error if no machine is feasible: how many machines violate which constraint.
Error none_feasible(const Study& study, const std::vector<StudyAnswer>& answers) {
  std::vector<std::string> reasons;
  std::size_t failed = 0;
  for (const StudyAnswer& answer : answers) failed += std::isnan(answer.objective) ? 1 : 0;
  if (failed > 0) reasons.push_back(fmt::format("{} have no result", failed));
  for (std::size_t i = 0; i < study.constraints.size(); ++i) {
    std::size_t broken = 0;
    double nearest = -1e300;
    for (const StudyAnswer& answer : answers) {
      if (std::isnan(answer.slacks[i])) continue;
      broken += answer.slacks[i] < 0 ? 1 : 0;
      nearest = std::max(nearest, answer.slacks[i]);
    }
    if (broken == 0) continue;
    reasons.push_back(fmt::format("{} break {}", broken, study.constraints[i].name));
    if (nearest < 0) reasons.back() += fmt::format(", by {:.2g} % at least", -100 * nearest);
  }
  return Error(fmt::format("{}: --optimise: none of {} machines is feasible: {}", study.file,
                           answers.size(), fmt::join(reasons, "; ")));
}

std::vector<std::string> active_constraints(const Study& study, const StudyAnswer& best) {
  constexpr double kActive = 1e-3;  // relative
  std::vector<std::string> active;
  for (std::size_t i = 0; i < study.constraints.size(); ++i) {
    if (best.slacks[i] < kActive) active.push_back(study.constraints[i].name);
  }
  return active;
}

std::vector<std::string> bounds_reached(const OptimumSpace& space, std::span<const double> point) {
  constexpr double kNear = 1e-4;
  std::vector<std::string> reached;
  for (std::size_t i = 0; i < point.size(); ++i) {
    const auto& [axis, levels] = space.dimensions()[i];
    if (axis == nullptr || !axis->is_range()) continue;
    const double edge = levels == 0 ? kNear : 1.0 / static_cast<double>(levels);
    if (point[i] < edge) reached.push_back(axis->key + " (least)");
    if (point[i] > 1 - edge) reached.push_back(axis->key + " (most)");
  }
  return reached;
}

std::string or_none(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string summary_of(const Study& study, const OptimumSpace& space, const OptimumOptions& options,
                       const search::Minimum& minimum, const StudyAnswer& best) {
  const auto feasible = std::ranges::count(minimum.trials, true, &search::Trial::feasible);
  return fmt::format(
      "{} {} {:.6g}: point {}, found in {} evaluations ({} feasible), seed {}; constraints active: "
      "{}; on a bound: {}",
      options.objective.larger ? "most" : "least", options.objective.column, best.objective,
      *minimum.best, minimum.trials.size(), feasible, options.seed,
      or_none(active_constraints(study, best)),
      or_none(bounds_reached(space, minimum.points[*minimum.best])));
}

// Adds a column that marks the best of `rows`, which are by evaluation.
measured::CsvTable marked(measured::CsvTable table, std::size_t best) {
  table.columns.emplace_back("best");
  for (measured::CsvRow& row : table.rows) {
    row.cells.emplace_back(table.cell(row, "point") == std::to_string(best) ? "1" : "0");
  }
  return table;
}

measured::CsvTable improving_rows(const measured::CsvTable& table, const search::Minimum& minimum) {
  measured::CsvTable improving{table.file, table.columns, {}};
  const std::size_t per_point = table.rows.size() / minimum.trials.size();
  std::optional<double> least;
  for (std::size_t i = 0; i < minimum.trials.size(); ++i) {
    const search::Trial& trial = minimum.trials[i];
    if (!trial.feasible || (least && trial.value >= *least)) continue;
    least = trial.value;
    const auto begin = table.rows.begin() + static_cast<std::ptrdiff_t>(i * per_point);
    improving.rows.insert(improving.rows.end(), begin,
                          begin + static_cast<std::ptrdiff_t>(per_point));
  }
  return improving;
}

}  // namespace

StudyOptimum study_optimum(const Study& study, const StudyRun& run, const OptimumOptions& options) {
  const OptimumSpace space(study);
  Asking asking(study, run, space, options);
  const search::Minimum minimum = search::constrained_minimum(
      {.levels = space.levels(),
       .constraints = study.constraints.size(),
       .evaluations = options.evaluations,
       .seed = options.seed,
       .evaluate = [&](std::span<const double> point) { return asking.ask(point); },
       .stop = options.stop});
  if (options.stop && options.stop()) return {};
  if (!minimum.best) throw none_feasible(study, asking.answers());
  std::vector<std::string> rows;
  for (const StudyAnswer& answer : asking.answers()) rows.push_back(answer.rows);
  StudyOptimum found{.complete = true};
  found.summary = summary_of(study, space, options, minimum, asking.answers()[*minimum.best]);
  found.table = marked(run.table(rows), *minimum.best);
  found.improving = improving_rows(found.table, minimum);
  return found;
}

}  // namespace tilecast::sim
