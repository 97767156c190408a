#include "sim/study/study_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "base/jobs.h"
#include "base/text.h"
#include "search/constrained_minimum.h"

namespace tilecast::sim {
namespace {

constexpr std::size_t kMostStudyPoints = 100'000'000;

std::size_t axes_of(const Study& study, StudyAxis::Kind kind) {
  return static_cast<std::size_t>(std::ranges::count(study.axes, kind, &StudyAxis::kind));
}

namespace fs = std::filesystem;
using Numbers = std::map<std::string, double, std::less<>>;

constexpr std::size_t kMostPrograms = 64;  // cached per program file

std::string unit_of(const StudyAxis& axis) {
  using enum hwdesc::UnitKind;
  switch (axis.unit) {
    case kTime:
      return "_s";
    case kCapacity:
      return "_B";
    case kBandwidth:
      return "_B/s";
    case kFrequency:
      return "_Hz";
    case kFlopRate:
      return "_FLOP/s";
    case kCycles:
      return "_cycles";
    default:
      return "";
  }
}

// A hash of the bytes of a file, or of all files in a folder.
std::uint64_t content_hash(const std::string& path) {
  if (!fs::is_directory(path)) return base::fnv1a(base::SourceText::read_file(path).text());
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  std::uint64_t hash = base::fnv1a("");
  for (const std::string& file : files) {
    hash = base::fnv1a(base::SourceText::read_file(file).text(), base::fnv1a(file, hash));
  }
  return hash;
}

std::string number_cell(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

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
          "{}: --optimise: no axis is a range (range, log, latin or sobol); a sweep without it "
          "tries every value of the lists",
          study.file);
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
  return Error("{}: --optimise: none of {} machines is feasible: {}", study.file, answers.size(),
               fmt::join(reasons, "; "));
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

StudyPoints::StudyPoints(const Study& study) : study_(study) {
  const auto times = [&](std::size_t count) {
    if (count > kMostStudyPoints / size_) {
      throw Error("{}: the study has more than {} points", study.file, kMostStudyPoints);
    }
    size_ *= count;
  };
  times(study.devices.size());
  for (const StudyAxis& axis : study.axes) {
    if (axis.kind == StudyAxis::Kind::kGrid) times(axis.values.size());
  }
  times(study.samples);
  latin_ =
      search::latin_hypercube(study.samples, axes_of(study, StudyAxis::Kind::kLatin), study.seed);
  sobol_ = search::sobol(study.samples, axes_of(study, StudyAxis::Kind::kSobol));
}

const StudyDevice& StudyPoints::device(std::size_t point) const {
  return study_.devices[point / (size_ / study_.devices.size())];
}

hwdesc::Overrides StudyPoints::overrides(std::size_t point) const {
  const std::size_t sample = point % study_.samples;
  std::size_t rest = point / study_.samples;  // the last grid axis varies fastest
  hwdesc::Overrides result(study_.axes.size());
  std::size_t latin = 0, sobol = 0;
  for (std::size_t i = 0; i < study_.axes.size(); ++i) {
    const StudyAxis& axis = study_.axes[i];
    result[i].first = axis.key;
    if (axis.kind == StudyAxis::Kind::kLatin) {
      result[i].second = axis_value(axis, latin_[sample][latin++]);
    } else if (axis.kind == StudyAxis::Kind::kSobol) {
      result[i].second = axis_value(axis, sobol_[sample][sobol++]);
    }
  }
  for (std::size_t i = study_.axes.size(); i-- > 0;) {
    const StudyAxis& axis = study_.axes[i];
    if (axis.kind != StudyAxis::Kind::kGrid) continue;
    result[i].second = axis.values[rest % axis.values.size()];
    rest /= axis.values.size();
  }
  return result;
}

std::string axis_value(const StudyAxis& axis, double share) {
  const double top = axis.integer ? axis.high + 1 : axis.high;  // makes all integers equally likely
  double value = axis.logarithmic ? axis.low * std::pow(top / axis.low, share)
                                  : axis.low + (top - axis.low) * share;
  if (axis.integer) value = std::floor(value);
  if (share >= 1) value = axis.high;
  return hwdesc::format_quantity(std::clamp(value, axis.low, axis.high), axis.unit);
}

// State of one point while its rows are built.
struct StudyRun::Point : StudyMachine {
  bool always = false;  // simulated even if a constraint is violated
  std::optional<hwdesc::Device> device;
  std::vector<hwdesc::DeviceNumber> numbers;
  Numbers derived;  // from the description; then from the row as well
  Numbers results;
  std::vector<std::string> broken;
  std::string error;

  [[nodiscard]] double value(std::string_view name) const {
    if (const auto at = derived.find(name); at != derived.end()) return at->second;
    if (const auto at = results.find(name); at != results.end()) return at->second;
    if (const auto* number = hwdesc::find_number(numbers, name)) return number->value;
    constexpr std::string_view kPeak = "peak.";
    if (name == "peak.vector") return device->vector_peak().value;
    if (name.starts_with(kPeak)) return device->matrix_peak(name.substr(kPeak.size())).value;
    return std::nan("");  // a result that this model does not provide
  }
  [[nodiscard]] double value(const base::Formula& formula) const {
    return formula.value([this](std::string_view name) { return value(name); });
  }
  void derive(const Study& study, bool of_results) {
    for (const StudyFormula& formula : study.derived) {
      if (formula.needs_results == of_results) derived[formula.name] = value(formula.formula);
    }
    for (const StudyFormula& constraint : study.constraints) {
      if (constraint.needs_results != of_results) continue;
      const double holds = value(constraint.formula);
      if (holds == 0 || std::isnan(holds)) broken.push_back(constraint.name);
    }
  }
};

StudyRun::StudyRun(const Study& study) : study_(study), points_(study) {
  columns_ = {"point", "device"};
  for (const StudyAxis& axis : study.axes) {
    columns_.push_back(axis.key + (axis.numeric ? unit_of(axis) : ""));
  }
  columns_.insert(columns_.end(), {"program", "model"});
  for (const StudyResult& result : study_results()) columns_.push_back(result.name);
  for (const StudyFormula& derived : study.derived) columns_.push_back(derived.name);
  columns_.insert(columns_.end(), {"bound", "feasible", "broken", "error"});

  for (const std::string& file : study.programs) {
    programs_.push_back({ir::load_module(file, {}), {}});
  }
  for (const StudyDevice& device : study.devices) {
    std::vector<ChosenModel>& chosen = models_.emplace_back();
    for (const std::string& model : study.models) {
      chosen.push_back(choose_model(model, {&device.device, 1}));
    }
  }
}

std::string StudyRun::identity() const {
  std::string text = study_.text;
  for (const StudyDevice& device : study_.devices) {
    text += hwdesc::print_device(device.device);
    for (const std::string& model : study_.models) {
      if (fs::is_directory(model)) text += fmt::format("{:x}\n", content_hash(model));
      const auto shipped = shipped_model_for(device.device);
      if (shipped) text += fmt::format("{:x}\n", content_hash(*shipped));
    }
  }
  for (const std::string& program : study_.programs) {
    text += fmt::format("{} {:x}\n", program, content_hash(program));
  }
  return text + fmt::format("{}", fmt::join(columns_, ","));
}

const ir::DeviceProgram& StudyRun::program_for(
    std::size_t program, const hwdesc::Device& device,
    std::unique_ptr<const ir::DeviceProgram>& own) const {
  const ir::LayoutRules rules = analytical::layout_rules(device);
  const std::string key =
      fmt::format("{} {} {} {} {} {} {} {} {} {}", static_cast<int>(rules.fusion.compiler),
                  rules.fusion.windows, rules.sublanes, rules.lanes, rules.word_bits, rules.tiled,
                  rules.max_rank1_tile, rules.scratchpad.space, rules.scratchpad.capacity,
                  rules.scratchpad.windows);
  const Program& of = programs_[program];
  const std::lock_guard lock(mutex_);
  if (const auto known = of.built.find(key); known != of.built.end()) return *known->second;
  auto built = std::make_unique<const ir::DeviceProgram>(ir::program_for(of.loaded, rules, {}));
  if (of.built.size() < kMostPrograms) return *(of.built[key] = std::move(built));
  own = std::move(built);
  return *own;
}

std::vector<std::string> StudyRun::row(Point& point, std::size_t program, std::size_t model) const {
  std::optional<Simulation> run;
  if (point.device && point.error.empty() && (point.always || point.broken.empty())) {
    try {
      std::unique_ptr<const ir::DeviceProgram> own;
      const ir::DeviceProgram& built = program_for(program, *point.device, own);
      const auto device = static_cast<std::size_t>(point.base - study_.devices.data());
      run = simulate(built.program, *point.device, *models_[device][model].model,
                     {.skip_unknown = study_.skip_unknown_ops});
    } catch (const Error& error) {
      point.error = error.what();
    }
  }
  std::vector<std::string> cells = {fmt::format("{}", point.point), point.base->device.name};
  for (std::size_t i = 0; i < study_.axes.size(); ++i) {
    const StudyAxis& axis = study_.axes[i];
    const std::string& text = point.overrides[i].second;
    cells.push_back(axis.numeric ? number_cell(hwdesc::parse_quantity(text, axis.unit)) : text);
  }
  cells.push_back(study_.programs[program]);
  cells.push_back(study_.models[model]);
  for (const StudyResult& result : study_results()) {
    const std::optional<double> value = run ? result.value(*run) : std::nullopt;
    if (value) point.results[result.name] = *value;
    cells.push_back(value ? number_cell(*value) : "");
  }
  if (run) point.derive(study_, true);
  for (const StudyFormula& derived : study_.derived) {
    const auto at = point.derived.find(derived.name);
    cells.push_back(at == point.derived.end() ? "" : number_cell(at->second));
  }
  const bool feasible = run && point.broken.empty();
  cells.insert(cells.end(), {run ? main_bound(*run) : "", feasible ? "1" : "0",
                             fmt::format("{}", fmt::join(point.broken, "; ")), point.error});
  return cells;
}

StudyRun::Point StudyRun::described(StudyMachine machine) const {
  Point point{std::move(machine)};
  try {
    point.device = point.base->source.with(point.overrides);
    if (!study_.derived.empty() || !study_.constraints.empty()) {
      point.numbers = hwdesc::device_numbers(*point.device);
      point.derive(study_, false);
    }
  } catch (const Error& error) {
    point.error = error.what();
  }
  return point;
}

std::string StudyRun::rows(std::size_t index) const {
  const Point point = described(points_.machine(index));
  std::string lines;
  for (std::size_t program = 0; program < programs_.size(); ++program) {
    for (std::size_t model = 0; model < study_.models.size(); ++model) {
      Point each = point;
      lines += measured::csv_line(row(each, program, model));
    }
  }
  return lines;
}

StudyAnswer StudyRun::answer(const StudyMachine& machine, const StudyObjective& objective) const {
  Point point = described(machine);
  point.always = true;
  if (point.device && point.numbers.empty()) point.numbers = hwdesc::device_numbers(*point.device);
  StudyAnswer answer{.slacks = std::vector<double>(study_.constraints.size(), 1e300),
                     .feasible = true};
  const double nothing = std::nan("");
  for (std::size_t program = 0; program < programs_.size(); ++program) {
    for (std::size_t model = 0; model < study_.models.size(); ++model) {
      Point each = point;
      answer.rows += measured::csv_line(row(each, program, model));
      const bool ran = each.error.empty();
      answer.feasible = answer.feasible && ran && each.broken.empty();
      answer.objective += ran ? each.value(objective.column) : nothing;
      for (std::size_t i = 0; i < answer.slacks.size(); ++i) {
        const double slack = ran ? study_.constraints[i].formula.slack(
                                       [&](std::string_view name) { return each.value(name); })
                                 : nothing;
        answer.slacks[i] = slack < answer.slacks[i] || std::isnan(slack) ? slack : answer.slacks[i];
      }
    }
  }
  answer.objective /= static_cast<double>(programs_.size() * study_.models.size());
  return answer;
}

measured::CsvTable StudyRun::table(std::span<const std::string> rows) const {
  std::string text = measured::csv_line(columns_);
  for (const std::string& lines : rows) text += lines;
  return measured::read_csv(base::SourceText(study_.file, std::move(text)));
}

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
