#include "measured/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "hwdesc/device.h"
#include "hwdesc/device_yaml.h"
#include "ir/array_elements.h"
#include "ir/kernels/kernel_fingerprint.h"
#include "ir/load_program.h"
#include "measured/measurement_set.h"
#include "measured/op_kernels.h"
#include "measured/paradnn.h"
#include "measured/physics.h"
#include "measured/total_interval.h"

namespace tilecast::measured {
namespace {

// --- the work of measurement rows as kernels: operators through measured/op_kernels.h, HLO files
// through ir/load_program.h. Rows with equal work share it; each file is read once.

struct WorksOfRows {
  std::deque<Workload> works;
  std::vector<std::size_t> work_of;  // by row
};

namespace fs = std::filesystem;

constexpr std::string_view kTrainingStep = "fc_training";  // measured/paradnn.h

// Rows with the same source of work: an operator or a file.
struct Source {
  std::vector<std::size_t> works;            // into WorksOfRows::works
  std::vector<const MeasurementRow*> first;  // the first row of each
};

std::string fingerprint_of(const std::vector<WorkloadPart>& parts) {
  const auto hex = [](const ir::Kernel& kernel) {
    const ir::Fingerprint print = ir::fingerprint(kernel);
    return fmt::format("{:016x}{:016x}", print[0], print[1]);
  };
  if (parts.size() == 1 && parts[0].launches == 1) return hex(parts[0].kernel);
  std::string all;
  for (const WorkloadPart& part : parts)
    all += fmt::format("{}x{};", hex(part.kernel), part.launches);
  return content_hash(all);
}

bool is_whole_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "matmul bf16 m=64 n=12288": the operator and its cells. `bucketed`: sizes are rounded down to
// powers of two.
std::string describe_operator(const std::string& key, bool bucketed) {
  std::string text;
  for (std::size_t at = 0; at < key.size();) {
    const std::size_t end = std::min(key.find(' ', at), key.size());
    const std::string_view cell = std::string_view(key).substr(at, end - at);
    const std::size_t equals = cell.find('=');
    at = end + 1;
    if (cell.starts_with("op=")) {
      text += cell.substr(3);
    } else if (cell.starts_with("dtype=")) {
      text += fmt::format(" {}", cell.substr(equals + 1));
    } else if (const std::string_view value = cell.substr(equals + 1);
               bucketed && is_whole_number(value) && value.size() < 18) {
      std::int64_t power = 1;
      while (power * 2 <= std::stoll(std::string(value))) power *= 2;
      text += fmt::format(" {}={}", cell.substr(0, equals), power);
    } else {
      text += fmt::format(" {}", cell);
    }
  }
  return text;
}

class Builder {
 public:
  Builder(const MeasurementSet& set, const hwdesc::Device& device)
      : set_(set), device_(device), defaults_(op_defaults(device)) {}

  void build(const Source& source, std::deque<Workload>& works) const {
    if (source.first.front()->file.empty()) {
      build_operator(*source.first.front(), works[source.works.front()]);
    } else {
      build_from_file(source, works);
    }
  }

 private:
  [[noreturn]] void fail(const MeasurementRow& row, std::string_view message) const {
    const std::string where =
        set_.table.where(set_.table.rows[row.table_row], row.is_program ? "program" : "kernel");
    throw Error(fmt::format("{}: {}", where, message));
  }
  template <class Body>
  auto with_place(const MeasurementRow& row, Body&& body) const {
    try {
      return body();
    } catch (const Error& error) {
      fail(row, error.what());
    }
  }

  // Builds the parts of a training step; returns its class.
  std::string build_training_step(const CsvRow& cells, Workload& work) const {
    const FcTraining parameters = fc_training_row(OpRow(set_.table, cells), defaults_);
    work.is_program = true;
    try {
      work.parts = fc_training_program(parameters, defaults_);
      if (!set_.manifest.feed) return std::string(kTrainingStep);
      return std::string(fc_training_class(parameters, work.parts, device_, *set_.manifest.feed));
    } catch (const Error& error) {
      throw Error(fmt::format("{}: {}", set_.table.where(cells, "op"), error.what()));
    }
  }

  [[nodiscard]] std::vector<WorkloadPart> launches_of(const CsvRow& cells) const {
    std::vector<WorkloadPart> parts;
    for (ir::Kernel& launch : operator_launches(set_.table, cells, defaults_)) {
      parts.push_back({std::move(launch)});
    }
    return parts;
  }

  void build_operator(const MeasurementRow& row, Workload& work) const {
    const CsvRow& cells = set_.table.rows[row.table_row];
    const std::string key = operator_key(set_.table, cells);
    work.name = describe_operator(key, false);
    std::string op(set_.table.cell(cells, "op"));
    if (op == kTrainingStep) {
      op = build_training_step(cells, work);
    } else {
      work.parts = launches_of(cells);
    }
    if (op == "all-reduce") op = "all_reduce";
    finish(row, op, describe_operator(key, true), work);
  }

  void build_from_file(const Source& source, std::deque<Workload>& works) const {
    const MeasurementRow& first = *source.first.front();
    const std::string path = (fs::path(set_.directory) / first.file).string();
    const ir::Program program = with_place(first, [&] {
      const ir::LoadOptions options;
      return ir::program_for(ir::load_module(path, options), defaults_.layout, options).program;
    });
    std::unordered_map<std::string_view, const ir::Kernel*> by_name;
    for (const ir::ScheduledKernel& scheduled : program.kernels()) {
      by_name.emplace(scheduled.kernel.name(), &scheduled.kernel);
    }
    const std::string stem = fs::path(first.file).stem().string();
    for (std::size_t i = 0; i < source.works.size(); ++i) {
      const MeasurementRow& row = *source.first[i];
      Workload& work = works[source.works[i]];
      if (row.is_program) {
        work.is_program = true;
        work.name = program.name();
        for (const ir::ScheduledKernel& scheduled : program.kernels()) {
          work.parts.push_back({scheduled.kernel, scheduled.multiplicity, scheduled.asynchronous});
        }
        if (work.parts.empty()) fail(row, fmt::format("{}: no kernel that takes time", row.file));
        finish(row, "program", stem, work);
      } else {
        const ir::Kernel& kernel = *with_place(row, [&] { return find(program, by_name, row); });
        work.name = kernel.name();
        work.parts.push_back({kernel});
        finish(row, op_class(kernel), stem, work);
      }
    }
  }

  [[nodiscard]] static const ir::Kernel* find(
      const ir::Program& program,
      const std::unordered_map<std::string_view, const ir::Kernel*>& by_name,
      const MeasurementRow& row) {
    if (row.kernel.empty()) {
      if (program.kernels().size() == 1) return &program.kernels().front().kernel;
      throw Error(fmt::format("{}: {} kernels, expected one; name it: {}#KERNEL", row.file,
                              program.kernels().size(), row.file));
    }
    const auto found = by_name.find(row.kernel);
    if (found != by_name.end()) return found->second;
    std::vector<std::string_view> names;
    for (const auto& [name, kernel] : by_name) names.push_back(name);
    std::ranges::sort(names);
    const std::string near = base::nearest(row.kernel, names);
    throw Error(fmt::format("{}: no kernel is called '{}'{}", row.file, row.kernel,
                            near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }

  // Values given in the row take precedence.
  static void finish(const MeasurementRow& row, const std::string& op_class,
                     const std::string& family, Workload& work) {
    work.op_class = row.op_class.empty() ? op_class : row.op_class;
    work.family = row.family.empty() ? family : row.family;
    work.fingerprint = fingerprint_of(work.parts);
  }

  const MeasurementSet& set_;
  const hwdesc::Device& device_;
  OpDefaults defaults_;
};

// `rows` point into `set`. Throws Error naming file, row and column.
WorksOfRows build_works(const MeasurementSet& set, const std::vector<const MeasurementRow*>& rows,
                        const hwdesc::Device& device, int jobs) {
  WorksOfRows built;
  std::unordered_map<std::string, std::size_t> by_key;
  std::unordered_map<std::string, std::size_t> by_file;
  std::vector<Source> sources;
  for (const MeasurementRow* row : rows) {
    const std::string key = fmt::format(
        "{}#{}\n{}\n{}\n{}\n{}", row->file, row->kernel, row->is_program ? 'P' : 'K',
        row->file.empty() ? operator_key(set.table, set.table.rows[row->table_row]) : "",
        row->op_class, row->family);
    const auto [known, is_new] = by_key.emplace(key, built.works.size());
    built.work_of.push_back(known->second);
    if (!is_new) continue;
    std::size_t source = sources.size();
    if (!row->file.empty()) source = by_file.emplace(row->file, source).first->second;
    if (source == sources.size()) sources.emplace_back();
    sources[source].works.push_back(built.works.size());
    sources[source].first.push_back(row);
    built.works.emplace_back();
  }
  const Builder builder(set, device);
  base::parallel_for(sources.size(), jobs,
                     [&](std::size_t i) { builder.build(sources[i], built.works); });
  return built;
}

// The set's name for `device`; "" if the set has no rows of it.
std::string name_in_set(const MeasurementSet& set, const hwdesc::Device& device) {
  std::map<std::string, std::string> by_name;  // name in the description -> name in rows
  std::set<std::string> all;
  for (const MeasurementRow& row : set.rows) all.insert(row.device);
  for (const RowFault& fault : set.faults) all.insert(fault.device);
  if (all.size() == 1) return *all.begin();
  for (const std::string& device_of_rows : all) {
    by_name.emplace(
        hwdesc::is_path(device_of_rows) ? hwdesc::load_device(device_of_rows).name : device_of_rows,
        device_of_rows);
  }
  constexpr std::size_t kUnrelated = std::numeric_limits<std::size_t>::max();
  const auto distance = [&](const auto& entry) {
    return device.lineage_distance(entry.first).value_or(kUnrelated);
  };
  const auto nearest = std::ranges::min_element(by_name, {}, distance);
  return nearest == by_name.end() || distance(*nearest) == kUnrelated ? "" : nearest->second;
}

void require_times(const MeasurementSet& set) {
  if (set.manifest.timing != Timing::kNone) return;
  std::string names;
  for (const Quantity& quantity : set.manifest.quantities) {
    names += (names.empty() ? "" : ", ") + quantity.name;
  }
  throw Error(fmt::format("{}: holds no times (timing: none), only {}; expected a set with times",
                          set.directory, names));
}

// Removes the samples whose lines have faults.
void drop_faulty(SampleSet& samples, std::vector<RowFault> faults) {
  std::set<int> lines;
  for (const RowFault& fault : faults) lines.insert(fault.line);
  std::erase_if(samples.samples, [&](const Sample& s) { return lines.contains(s.line); });
  samples.faults.insert(samples.faults.end(), faults.begin(), faults.end());
  std::ranges::stable_sort(samples.faults, {}, &RowFault::line);
}

void check_physics(SampleSet& samples, const hwdesc::Device& device, int jobs) {
  std::vector<Sample> untimed;  // set aside, because the physics checks need times
  std::erase_if(samples.samples, [&](const Sample& sample) {
    const bool has_time = !std::isnan(sample.measured.value);
    if (!has_time) untimed.push_back(sample);
    return !has_time;
  });
  drop_faulty(samples, physics_faults(samples, device, jobs));
  samples.samples.insert(samples.samples.end(), untimed.begin(), untimed.end());
  std::ranges::stable_sort(samples.samples, {}, &Sample::line);
}

}  // namespace

SampleSet make_samples(const MeasurementSet& set, const hwdesc::Device& device,
                       const SampleOptions& options) {
  SampleSet samples{.name = set.manifest.name,
                    .hash = set.hash,
                    .device = device.name,
                    .measured_on = name_in_set(set, device),
                    .manifest = set.manifest,
                    .parameter_names = set.parameter_names};
  if (!options.untimed) require_times(set);
  std::vector<const MeasurementRow*> rows;
  for (const MeasurementRow& row : set.rows) {
    if (row.device == samples.measured_on && (row.runtime || options.untimed)) rows.push_back(&row);
  }
  for (const RowFault& fault : set.faults) {
    if (fault.device == samples.measured_on) samples.faults.push_back(fault);
  }
  WorksOfRows built = build_works(set, rows, device, options.jobs);
  samples.works = std::move(built.works);
  const bool host_timed = set.manifest.timing == Timing::kHost;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const MeasurementRow& row = *rows[i];
    const Seconds runtime = row.runtime.value_or(Seconds{std::nan("")});
    samples.samples.push_back({.work = built.work_of[i],
                               .line = row.line,
                               .tile = row.tile,
                               .parameters = row.parameters,
                               .quantities = row.quantities,
                               .measured = runtime - row.dispatch.value_or(Seconds{0}),
                               .holds_dispatch = host_timed && row.runtime && !row.dispatch,
                               .split = row.split,
                               .repeats = row.repeats,
                               .spread = row.spread});
  }
  if (options.check_physics) check_physics(samples, device, options.jobs);
  return samples;
}

namespace {

using ir::Op;
using ir::OpClass;
using ir::Opcode;

// Elements that an op processes: the size of its result or its largest operand.
double extent(const ir::Kernel& kernel, const Op& op) {
  double most = ir::array_elements(op.shape);
  for (const ir::OpId id : op.operands) {
    most = std::max(most, ir::array_elements(kernel.op(id).shape));
  }
  return most;
}

// Largest extent of the ops for which `is` holds.
template <class Predicate>
double largest(const ir::Kernel& kernel, Predicate&& is) {
  double most = 0;
  for (const Op& op : kernel.ops()) {
    if (is(op)) most = std::max(most, extent(kernel, op));
  }
  return most;
}

bool has(const ir::Kernel& kernel, Opcode opcode) {
  return std::ranges::any_of(kernel.ops(), [&](const Op& op) { return op.opcode == opcode; });
}

}  // namespace

std::string op_class(const ir::Kernel& kernel) {
  if (kernel.opcode() == Opcode::kFusion) return fused_class(kernel);
  return std::string(ir::name(kernel.opcode()));
}

std::string fused_class(const ir::Kernel& kernel) {
  if (has(kernel, Opcode::kConvolution)) return "convolution_fusion";
  if (has(kernel, Opcode::kDot)) return "matmul_fusion";
  // A reduction or transpose dominates if its extent is at least a quarter of the largest array.
  constexpr double kDominates = 0.25;
  const double whole = largest(kernel, [](const Op&) { return true; });
  const auto dominates = [&](auto&& is) { return largest(kernel, is) >= kDominates * whole; };
  const auto reduces = [](const Op& op) { return ir::op_class(op.opcode) == OpClass::kReduction; };
  const auto moves = [](const Op& op) {
    return ir::has(op.opcode, ir::Trait::kRelayout) && !ir::has(op.opcode, ir::Trait::kReshapes);
  };
  if (std::ranges::any_of(kernel.ops(), reduces) && dominates(reduces)) return "reduce_fusion";
  if (std::ranges::any_of(kernel.ops(), moves) && dominates(moves)) return "transpose_fusion";
  return "loop_fusion";
}

namespace {

using analytical::Estimate;
using analytical::KernelQuery;
using analytical::TileConfig;

constexpr std::size_t kChunk = 64;  // queries per batch

// The part of a query other than the kernel; points into a sample.
struct Asked {
  const TileConfig* tile = nullptr;
  std::span<const float> parameters;
};

struct AskedLess {
  bool operator()(const Asked& a, const Asked& b) const {
    if (*a.tile != *b.tile) return *a.tile < *b.tile;
    // Compared by bits, because NaN means that a row has no such parameter.
    const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
    return std::ranges::lexicographical_compare(a.parameters, b.parameters, {}, bits, bits);
  }
};

struct Question {
  std::size_t kernel = 0;
  Asked asked;
};

// Numbers distinct queries in order of appearance.
class Questions {
 public:
  std::size_t number_of(const ir::Kernel& kernel, const Sample& sample) {
    const std::size_t k = kernel_number(kernel);
    const Asked asked{&sample.tile, sample.parameters};
    const auto [known, is_new] = by_asked_[k].emplace(asked, asked_.size());
    if (is_new) asked_.push_back({k, asked});
    return known->second;
  }
  [[nodiscard]] const std::vector<Question>& asked() const { return asked_; }
  [[nodiscard]] const ir::Kernel& kernel(std::size_t number) const { return *kernels_[number]; }

 private:
  std::size_t kernel_number(const ir::Kernel& kernel) {
    if (const auto seen = by_address_.find(&kernel); seen != by_address_.end()) return seen->second;
    const auto [known, is_new] = by_print_.emplace(ir::fingerprint(kernel), kernels_.size());
    if (is_new) {
      kernels_.push_back(&kernel);
      by_asked_.emplace_back();
    }
    by_address_.emplace(&kernel, known->second);
    return known->second;
  }

  std::vector<Question> asked_;
  std::vector<const ir::Kernel*> kernels_;
  std::vector<std::map<Asked, std::size_t, AskedLess>> by_asked_;  // by kernel
  std::map<ir::Fingerprint, std::size_t> by_print_;
  std::unordered_map<const ir::Kernel*, std::size_t> by_address_;
};

std::vector<std::optional<Estimate>> ask(std::span<const KernelQuery> queries,
                                         const analytical::CostModel& model,
                                         const hwdesc::Device& device, int jobs) {
  std::vector<std::optional<Estimate>> answers(queries.size());
  const std::size_t chunks = (queries.size() + kChunk - 1) / kChunk;
  base::parallel_for(chunks, jobs, [&](std::size_t chunk) {
    const std::size_t first = chunk * kChunk;
    const std::size_t count = std::min(kChunk, queries.size() - first);
    std::vector<std::optional<Estimate>> some =
        model.estimate(queries.subspan(first, count), device);
    std::move(some.begin(), some.end(), answers.begin() + static_cast<std::ptrdiff_t>(first));
  });
  return answers;
}

// The 90 % interval of the device time. Parts with the same kernel and answer have the same error,
// so they are merged as launches. A single kernel keeps exactly its own interval.
std::optional<Interval> interval_of(std::vector<LaunchedEstimate> parts) {
  const auto is_corrected = [](const LaunchedEstimate& part) {
    return part.estimate->correction.has_value();
  };
  if (std::ranges::none_of(parts, is_corrected)) return std::nullopt;
  std::ranges::stable_sort(parts, std::less<>(), &LaunchedEstimate::estimate);
  std::vector<LaunchedEstimate> kernels;
  for (const LaunchedEstimate& part : parts) {
    if (!kernels.empty() && kernels.back().estimate == part.estimate) {
      kernels.back().launches += part.launches;
    } else {
      kernels.push_back(part);
    }
  }
  if (kernels.size() > 1) return total_interval(kernels);
  const auto& [estimate, launches] = kernels.front();
  return Interval{.low = estimate->correction->low.value * launches,
                  .high = estimate->correction->high.value * launches};
}

}  // namespace

PredictionPlan::PredictionPlan(const SampleSet& samples) : samples_(&samples) {
  Questions questions;
  first_term_.push_back(0);
  for (const Sample& sample : samples.samples) {
    for (const WorkloadPart& part : samples.works[sample.work].parts) {
      terms_.push_back({questions.number_of(part.kernel, sample), part.launches});
    }
    first_term_.push_back(terms_.size());
  }
  const std::vector<Question>& asked = questions.asked();
  std::vector<std::size_t> order(asked.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return asked[i].kernel; });
  std::vector<std::size_t> place(asked.size());
  for (const std::size_t i : order) {
    place[i] = queries_.size();
    const auto& [tile, parameters] = asked[i].asked;
    queries_.push_back({questions.kernel(asked[i].kernel), *tile == TileConfig{} ? nullptr : tile,
                        parameters, samples.manifest.writer, samples.manifest.timed});
  }
  for (Term& term : terms_) term.query = place[term.query];
}

std::vector<Prediction> PredictionPlan::predict(const analytical::CostModel& model,
                                                const hwdesc::Device& device, int jobs) const {
  const std::vector<std::optional<Estimate>> answers = ask(queries_, model, device, jobs);
  std::vector<Prediction> predictions(samples_->samples.size());
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const std::span<const Term> terms(terms_.data() + first_term_[i],
                                      first_term_[i + 1] - first_term_[i]);
    const bool answered =
        std::ranges::all_of(terms, [&](const Term& t) { return answers[t.query].has_value(); });
    if (!answered) continue;
    const Sample& sample = samples_->samples[i];
    Prediction& prediction = predictions[i];
    prediction.answered = true;
    std::vector<LaunchedEstimate> launched;
    for (const Term& term : terms) {
      prediction.on_device += answers[term.query]->time * term.launches;
      launched.push_back({&*answers[term.query], term.launches});
    }
    if (terms.size() == 1) prediction.estimate = answers[terms[0].query];
    if (sample.holds_dispatch) {
      prediction.dispatch =
          dispatch_of(samples_->works[sample.work].op_class, samples_->manifest, device);
    }
    prediction.interval = interval_of(std::move(launched));
    if (!prediction.interval) continue;
    if (!(prediction.on_device.value > 0)) continue;
    // The interval is relative to the time including dispatch, as it was learned (hybrid/bands.h).
    const double whole = prediction.comparable() / prediction.on_device;
    prediction.interval->low *= whole;
    prediction.interval->high *= whole;
  }
  return predictions;
}

std::vector<Prediction> predict(const SampleSet& samples, const analytical::CostModel& model,
                                const hwdesc::Device& device, int jobs) {
  return PredictionPlan(samples).predict(model, device, jobs);
}

Seconds dispatch_of(const std::string& op_class, const Manifest& manifest,
                    const hwdesc::Device& device) {
  const auto& fitted = device.calibration.dispatch;
  if (const auto found = fitted.find(op_class); found != fitted.end()) return found->second;
  const auto& floors = manifest.dispatch;
  if (const auto found = floors.find(op_class); found != floors.end()) return found->second;
  return device.dispatch.host;
}

}  // namespace tilecast::measured
