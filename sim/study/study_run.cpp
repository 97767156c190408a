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
#include "sim/study/study_columns.h"

namespace tilecast::sim {
namespace {

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

double peak_of(const hwdesc::Device& device, std::string_view what) {
  if (what == "vector") return device.vector_peak().value;
  return device.matrix_peak(what).value;
}

std::string number_cell(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

}  // namespace

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
    if (name.starts_with(kPeak)) return peak_of(*device, name.substr(kPeak.size()));
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
      fmt::format("{} {} {} {} {} {} {}", rules.sublanes, rules.lanes, rules.word_bits, rules.tiled,
                  rules.max_rank1_tile, rules.scratchpad.space, rules.scratchpad.capacity);
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
      run =
          simulate(built.program, *point.device, *models_[device][model].model,
                   {.unknown_op = study_.skip_unknown_ops ? UnknownOp::kSkip : UnknownOp::kError});
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

}  // namespace tilecast::sim
