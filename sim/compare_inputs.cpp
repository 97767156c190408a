// Builds rows of a comparison: of programs one per kernel, joined with measurement sets; of sets
// one per workload and tile; of a profile one per instruction.
#include "sim/compare_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <unordered_map>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "base/parallel.h"
#include "measured/importers/profile_device.h"
#include "measured/importers/xplane_join.h"
#include "sim/compare_rows.h"
#include "sim/simulator.h"

namespace tilecast::sim {
namespace {

using measured::SampleSet;

struct MeasuredSide {
  std::string set;
  std::size_t side = 0, device = 0;
  MeasuredKernels kernels;
  // Numbers of kernels joined by name only, by equal work under another name, and with the fastest
  // tile.
  std::size_t others = 0, equals = 0, fastest = 0;
};

// One program on one device.
struct Placed {
  const ir::Program& program;
  std::size_t group = 0, device = 0;
  std::string stem;               // of the file name
  std::vector<std::size_t> rows;  // by kernel
};

// Notes what is left out.
SampleSet samples_on(const measured::MeasurementSet& set, const hwdesc::Device& device,
                     const CompareSetup& setup, ComparisonBuilder& builder) {
  SampleSet samples = measured::make_samples(
      set, device, {.check_physics = setup.check_physics, .jobs = setup.jobs});
  builder.note_samples(samples, device);
  return samples;
}

// Adds the set for every device it was measured on; if descriptions share rows, for the first.
void add_measured_sides(const std::string& path, const CompareSetup& setup,
                        std::deque<MeasuredSide>& sides, ComparisonBuilder& builder) {
  const measured::MeasurementSet set = measured::read_measurement_set(path);
  std::vector<std::string> seen;
  for (std::size_t d = 0; d < setup.devices.size(); ++d) {
    const hwdesc::Device& device = setup.devices[d];
    SampleSet samples = samples_on(set, device, setup, builder);
    if (samples.samples.empty()) continue;
    if (std::ranges::any_of(samples.samples, &measured::Sample::holds_dispatch)) {
      builder.note(
          "{}: times hold the host's dispatch, unmeasured; a dispatch floor is taken off them",
          samples.name);
    }
    const std::string on = samples.measured_on;
    const std::size_t measured = builder.measured(on, d);
    if (std::ranges::find(seen, on) != seen.end()) continue;
    seen.push_back(on);
    sides.push_back({samples.name, measured, d, MeasuredKernels(set, std::move(samples), device)});
    if (const std::size_t n = sides.back().kernels.all_dispatch(); n > 0) {
      builder.note("{}: {} left out: shorter than the dispatch they hold", sides.back().set,
                   count_of(n, "row"));
    }
  }
}

// Kernels of one program use the same rows on every device.
std::vector<std::size_t> add_rows(const ir::Program& program, std::size_t group,
                                  ComparisonBuilder& builder) {
  std::unordered_map<std::string, int> seen;
  std::vector<std::size_t> rows;
  rows.reserve(program.kernels().size());
  for (const ir::ScheduledKernel& scheduled : program.kernels()) {
    const std::string name = fmt::format("{}/{}", scheduled.computation, scheduled.kernel.name());
    const std::string key = fmt::format("{}#{}", name, seen[name]++);
    rows.push_back(builder.row(group, key,
                               {.name = scheduled.kernel.name(),
                                .op_class = measured::op_class(scheduled.kernel),
                                .tile = analytical::to_string(compiler_choice(scheduled.kernel)),
                                .launches = scheduled.multiplicity}));
  }
  return rows;
}

// Per launch; nullopt if the device does not describe energy.
std::optional<Joules> energy_of_answer(const measured::Prediction& answer,
                                       const hwdesc::Device& device) {
  if (!answer.estimate || !answer.estimate->energy) return std::nullopt;
  return answer.estimate->energy->total() + device.idle_power() * answer.on_device;
}

void add_models(const Placed& placed, const CompareSetup& setup, ComparisonBuilder& builder) {
  SampleSet questions;
  for (const ir::ScheduledKernel& scheduled : placed.program.kernels()) {
    measured::Sample question;
    question.work = questions.works.size();
    questions.samples.push_back(std::move(question));
    measured::Workload work;
    work.parts.push_back({scheduled.kernel});
    questions.works.push_back(std::move(work));
  }
  const measured::PredictionPlan plan(questions);
  for (std::size_t column = 0; column < setup.columns.size(); ++column) {
    const ModelColumn& model = setup.columns[column];
    if (model.device != placed.device) continue;
    const auto answers = plan.predict(*model.answers, setup.devices[placed.device], setup.jobs);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (!answers[i].answered) continue;
      CompareCell cell = cell_of(answers[i]);
      cell.energy = energy_of_answer(answers[i], setup.devices[placed.device]);
      builder.set(placed.rows[i], column, std::move(cell));
    }
    if (setup.step) setup.step();
  }
}

void add_compiler(const Placed& placed, const hwdesc::Device& device, ComparisonBuilder& builder) {
  for (std::size_t i = 0; i < placed.rows.size(); ++i) {
    const auto time = compiler_time(placed.program.kernels()[i].kernel, device.clock);
    if (time) builder.set(placed.rows[i], builder.compiler(), {*time});
  }
}

void note_join(const MeasuredSide& side, ComparisonBuilder& builder) {
  if (side.others > 0) {
    builder.note("{}: {} joined by name only: the module measured differs in them", side.set,
                 count_of(side.others, "kernel"));
  }
  if (side.equals > 0) {
    builder.note("{}: {} with the time of equal work under another name", side.set,
                 count_of(side.equals, "kernel"));
  }
  if (side.fastest > 0) {
    builder.note(
        "{}: {} with the fastest tile measured: no row has the tile that the module runs, or it "
        "does not say",
        side.set, count_of(side.fastest, "kernel"));
  }
}

void add_measured(const Placed& placed, MeasuredSide& side, ComparisonBuilder& builder) {
  for (std::size_t i = 0; i < placed.rows.size(); ++i) {
    const ir::Kernel& kernel = placed.program.kernels()[i].kernel;
    const auto measured = side.kernels.find(kernel, placed.stem);
    if (!measured || builder.has(placed.rows[i], side.side)) continue;  // the first set wins
    builder.set(placed.rows[i], side.side, {.time = measured->time, .spread = measured->spread});
    side.others += measured->same ? 0 : 1;
    side.equals += measured->own ? 0 : 1;
    side.fastest += measured->is_of_compiler ? 0 : 1;
  }
  if (const auto run = side.kernels.find(placed.program, placed.stem)) {
    builder.set_whole(placed.group, side.side, run->time);
    if (!run->same) {
      builder.note("{}: the run of {} is of a module that differs", side.set,
                   placed.program.name());
    }
  }
}

void note_measured(const std::deque<MeasuredSide>& sides, ComparisonBuilder& builder) {
  for (const MeasuredSide& side : sides) {
    note_join(side, builder);
    const std::vector<Unmatched> rows = side.kernels.unmatched();
    std::vector<Unmatched>& all = builder.comparison().unmatched;
    all.insert(all.end(), rows.begin(), rows.end());
  }
  std::ranges::stable_sort(builder.comparison().unmatched,
                           [](const auto& a, const auto& b) { return a.time > b.time; });
}

using measured::Sample;
using measured::Workload;

// Equal on every device for the same row of a set, independent of the device's layouts.
std::string row_key(const Workload& work, const Sample& sample) {
  return fmt::format("{}\n{}\n{}\n{}", work.name, work.op_class, work.family,
                     analytical::to_string(sample.tile));
}

std::vector<std::size_t> add_rows(const SampleSet& samples, std::size_t group,
                                  ComparisonBuilder& builder) {
  std::unordered_map<std::string, int> seen;
  std::vector<std::size_t> rows;
  for (const Sample& sample : samples.samples) {
    const Workload& work = samples.works[sample.work];
    std::string key = row_key(work, sample);
    if (const int before = seen[key]++; before > 0) key += fmt::format("\n#{}", before);
    rows.push_back(builder.row(group, key,
                               {.name = work.name,
                                .op_class = work.op_class,
                                .tile = analytical::to_string(sample.tile),
                                .line = sample.line}));
  }
  return rows;
}

// The compiler's estimate of the sample: for its own tile, or summed over the kernels of a program.
std::optional<Seconds> compiler_estimate(const SampleSet& samples, const Sample& sample,
                                         const hwdesc::Device& device) {
  Seconds sum;
  const Workload& work = samples.works[sample.work];
  for (const measured::WorkloadPart& part : work.parts) {
    const bool own =
        sample.tile == analytical::TileConfig{} || sample.tile == compiler_choice(part.kernel);
    const std::optional<Seconds> time =
        own ? compiler_time(part.kernel, device.clock) : std::nullopt;
    if (!time) return std::nullopt;
    sum += *time * part.launches;
  }
  if (sample.holds_dispatch) sum += measured::dispatch_of(work.op_class, samples.manifest, device);
  return sum;
}

void add_measured(const SampleSet& samples, const std::vector<std::size_t>& rows,
                  std::size_t device, ComparisonBuilder& builder) {
  const std::size_t side = builder.measured(samples.measured_on, device);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Sample& sample = samples.samples[i];
    builder.set(rows[i], side, {.time = sample.measured, .spread = sample.spread});
  }
}

void add_compiler(const SampleSet& samples, const std::vector<std::size_t>& rows,
                  const hwdesc::Device& device, ComparisonBuilder& builder) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto time = compiler_estimate(samples, samples.samples[i], device);
    if (time) builder.set(rows[i], builder.compiler(), {*time});
  }
}

void add_model(const SampleSet& samples, const std::vector<std::size_t>& rows, std::size_t column,
               const CompareSetup& setup, ComparisonBuilder& builder) {
  const ModelColumn& model = setup.columns[column];
  const std::vector<measured::Prediction> answers =
      measured::predict(samples, *model.answers, setup.devices[model.device], setup.jobs);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!answers[i].answered) continue;
    builder.set(rows[i], column, cell_of(answers[i]));
  }
}

void note_dispatch(const SampleSet& samples, ComparisonBuilder& builder) {
  const auto with_dispatch =
      static_cast<std::size_t>(std::ranges::count_if(samples.samples, &Sample::holds_dispatch));
  if (with_dispatch == 0) return;
  builder.note(
      "{}: {} of {} hold the host's dispatch, unmeasured; a dispatch floor is added to estimates "
      "of them",
      samples.name, with_dispatch, count_of(samples.samples.size(), "row"));
}

// Keeps the samples whose cells match all filters.
void keep_where(const measured::MeasurementSet& set, const std::vector<CellFilter>& filters,
                SampleSet& samples) {
  std::unordered_map<int, const measured::CsvRow*> row_of;
  for (const measured::MeasurementRow& row : set.rows) {
    row_of.emplace(row.line, &set.table.rows[row.table_row]);
  }
  for (const CellFilter& filter : filters) {
    if (std::ranges::find(set.table.columns, filter.column) == set.table.columns.end()) {
      throw Error("{}: no column is called '{}', expected one of {}", set.directory, filter.column,
                  fmt::join(set.table.columns, ", "));
    }
    std::erase_if(samples.samples, [&](const Sample& sample) {
      return set.table.cell(*row_of.at(sample.line), filter.column) != filter.value;
    });
  }
}

void add_set(const measured::MeasurementSet& set, std::size_t group, const CompareSetup& setup,
             ComparisonBuilder& builder) {
  for (std::size_t d = 0; d < setup.devices.size(); ++d) {
    const hwdesc::Device& device = setup.devices[d];
    SampleSet samples = samples_on(set, device, setup, builder);
    keep_where(set, setup.where, samples);
    note_dispatch(samples, builder);
    const std::vector<std::size_t> rows = add_rows(samples, group, builder);
    for (std::size_t column = 0; column < setup.columns.size(); ++column) {
      if (setup.columns[column].device != d) continue;
      add_model(samples, rows, column, setup, builder);
      if (setup.step) setup.step();
    }
    if (d == 0) add_compiler(samples, rows, device, builder);
    if (!samples.samples.empty()) add_measured(samples, rows, d, builder);
  }
}

using measured::JoinedModule;
using measured::XplaneModule;
using measured::XplaneTimes;

// A model's predictions for one module.
struct Predictions {
  Seconds run;                                         // predicted, with copies overlapping kernels
  std::unordered_map<std::string, CompareCell> cells;  // by kernel; missing: no estimate
};

struct ModuleAnswers {
  std::unordered_map<std::string, ir::Opcode> opcodes;  // by instruction
  ir::Program program;                                  // on the first device
  std::vector<Predictions> of_models;                   // by column of the setup
};

struct ProfiledInstruction {
  std::string name, op_class;
  const ir::ScheduledKernel* kernel = nullptr;  // nullptr: not a kernel
  bool has_transfer = false;                    // with its own row in the profile

  // Whether these times correspond to a model's prediction. The instruction line of a TPU, which
  // has categories, contains only the start of asynchronous instructions.
  [[nodiscard]] bool is_timed(const XplaneTimes& times) const {
    if (!kernel || times.asynchronous) return kernel != nullptr;
    return !has_transfer && !(kernel->asynchronous && !times.category.empty());
  }
};

using Kernels = std::unordered_map<std::string, const ir::ScheduledKernel*>;  // by name

Predictions answers_of(const ir::Program& program, const hwdesc::Device& device,
                       const analytical::CostModel& model) {
  const Simulation simulated = simulate(program, device, model, {.skip_unknown = true});
  Predictions answers{.run = simulated.timeline, .cells = {}};
  for (const SimulatedKernel& kernel : simulated.kernels) {
    if (kernel.skipped) continue;
    const analytical::Estimate& estimate = *kernel.estimate;
    answers.cells.emplace(kernel.name, CompareCell{.time = estimate.time,
                                                   .bound = estimate.bound,
                                                   .correction = estimate.correction,
                                                   .opaque = is_opaque(estimate)});
  }
  return answers;
}

ModuleAnswers answers_of(const JoinedModule& joined, const CompareSetup& setup) {
  const ir::LoadedModule loaded{joined.profiled->name, joined.module, {}};
  ModuleAnswers result;
  for (const ir::Computation& computation : loaded.module.computations) {
    for (const ir::Instruction& op : computation.instructions) {
      result.opcodes.emplace(op.name, op.opcode);
    }
  }
  result.of_models.resize(setup.columns.size());
  for (std::size_t d = 0; d < setup.devices.size(); ++d) {
    ir::DeviceProgram built =
        ir::program_for(loaded, analytical::layout_rules(setup.devices[d]), setup.load);
    for (std::size_t column = 0; column < setup.columns.size(); ++column) {
      if (setup.columns[column].device != d) continue;
      result.of_models[column] =
          answers_of(built.program, setup.devices[d], *setup.columns[column].answers);
    }
    if (d == 0) result.program = std::move(built.program);
  }
  return result;
}

class ProfileRows {
 public:
  ProfileRows(const ProfileInput& input, const CompareSetup& setup)
      : input_(input), setup_(setup), builder_(setup) {
    const measured::XplaneProfile& profile = input.profile;
    measured_ = builder_.measured(setup.devices.front().name, 0);
    summary_.file = input.file;
    summary_.device = measured::device_text(profile.device);
    summary_.guess = input.guess;
    summary_.device_time = profile.device_time;
    summary_.steps = static_cast<double>(profile.steps.occurrences);
    summary_.step_median = profile.steps.median;
    for (const XplaneModule& module : profile.modules) ++modules_called_[module.name];
  }

  void add(const JoinedModule& joined) {
    const XplaneModule& module = *joined.profiled;
    const ModuleAnswers answers = answers_of(joined, setup_);
    group_ = builder_.add_group(modules_called_[module.name] == 1
                                    ? module.name
                                    : fmt::format("{}({})", module.name, module.program_id),
                                input_.file);
    for (const ir::Note& note : answers.program.notes()) builder_.note(note.what);
    Kernels kernels;
    for (const ir::ScheduledKernel& each : answers.program.kernels()) {
      kernels.emplace(each.kernel.name(), &each);
    }
    const auto add = [&](const std::string& name, const XplaneTimes& times) {
      const auto opcode = answers.opcodes.find(name);
      if (opcode == answers.opcodes.end() || times.occurrences <= 0) return;
      const auto found = kernels.find(name);
      const ir::ScheduledKernel* kernel = found == kernels.end() ? nullptr : found->second;
      add_row({.name = name,
               .op_class = kernel ? measured::op_class(kernel->kernel)
                                  : std::string(ir::name(opcode->second)),
               .kernel = kernel,
               .has_transfer = module.transfers.contains(name)},
              times, &answers);
    };
    for (const auto& [name, times] : joined.instructions) add(name, times);
    for (const auto& [name, times] : module.transfers) add(name, times);
    for (const auto& [name, times] : joined.transfers) {
      add_row({.name = name, .op_class = name}, times, nullptr);
    }
    add_idle(joined, kernels);
    add_run(module, answers);
    if (setup_.step) setup_.step();
  }

  [[nodiscard]] Comparison finish(const measured::XplaneJoin& join) {
    summary_.joined = join.kernels + join.controls + join.transfers;
    std::map<std::string, ProfileLeftOver> left_over;
    for (const measured::XplaneLeftOver& left : join.left_over) {
      if (!measured::transfer_category(left.category).empty()) {
        add_outside(left);
        continue;
      }
      ProfileLeftOver& of = left_over[left.category];
      of.category = left.category;
      of.events += static_cast<double>(left.events);
      of.time += left.total;
    }
    for (auto& [category, left] : left_over) summary_.left_over.push_back(std::move(left));
    std::ranges::stable_sort(summary_.left_over, std::greater<>(), &ProfileLeftOver::time);
    std::ranges::stable_sort(summary_.programs, std::greater<>(), &ProfileProgram::total);
    for (const std::string& note : input_.profile.notes) builder_.note(note);
    for (const std::string& note : join.notes) builder_.note(note);
    builder_.comparison().profile = std::move(summary_);
    Comparison comparison = builder_.finish();
    for (ProfileProgram& program : comparison.profile->programs) {
      program.predicted.resize(comparison.sides.size());
    }
    return comparison;
  }

 private:
  // `answers`: null for what no model answers.
  void add_row(const ProfiledInstruction& of, const XplaneTimes& times,
               const ModuleAnswers* answers) {
    ProfileCounts counts{.category = times.category.empty() ? of.op_class : times.category,
                         .median = times.median,
                         .profile_flops = times.flops,
                         .profile_bytes = times.bytes_accessed,
                         .launch = times.launch};
    if (of.kernel) {
      const ir::WorkCounts& work = of.kernel->kernel.work();
      if (work.flops >= 0) counts.flops = work.flops;
      if (work.bytes_accessed >= 0) counts.bytes = work.bytes_accessed;
    }
    const std::string name = of.name + (times.asynchronous ? " (transfer)" : "");
    const auto launches = static_cast<double>(times.occurrences);
    const std::size_t row = builder_.row(group_, name,
                                         {.name = name,
                                          .op_class = of.op_class,
                                          .launches = launches,
                                          .overlaps = times.asynchronous,
                                          .profile = std::move(counts)});
    builder_.set(row, measured_, {times.total / launches});
    for (std::size_t column = 0; answers && column < setup_.columns.size(); ++column) {
      if (!of.is_timed(times)) {
        builder_.set(row, column, {Seconds{0}});
        continue;
      }
      const auto& cells = answers->of_models[column].cells;
      if (const auto cell = cells.find(of.name); cell != cells.end()) {
        builder_.set(row, column, cell->second);
      }
    }
  }

  // Adds the time of runs without a kernel, for which models predict nothing.
  void add_idle(const JoinedModule& joined, const Kernels& kernels) {
    const XplaneModule& module = *joined.profiled;
    Seconds busy;
    for (const auto& [name, times] : joined.instructions) {
      if (kernels.contains(name) && !times.asynchronous) busy += times.total;
    }
    for (const auto& [name, times] : joined.transfers) busy += times.total;
    const Seconds idle = module.runs.total - busy;
    if (module.runs.occurrences <= 0 || idle.value <= 0) return;
    const auto runs = static_cast<double>(module.runs.occurrences);
    const std::size_t row =
        builder_.row(group_, "(idle)",
                     {.name = "(idle between kernels)",
                      .op_class = "idle",
                      .launches = runs,
                      .overlaps = true,
                      .profile = ProfileCounts{.category = "idle", .median = idle / runs}});
    builder_.set(row, measured_, {idle / runs});
    for (std::size_t column = 0; column < setup_.columns.size(); ++column) {
      builder_.set(row, column, {Seconds{0}});
    }
  }

  // Memsets and copies outside of programs.
  void add_outside(const measured::XplaneLeftOver& left) {
    if (!outside_) outside_ = builder_.add_group("(outside of programs)", input_.file);
    group_ = *outside_;
    const XplaneTimes times{.occurrences = std::max<std::int64_t>(left.events, 1),
                            .total = left.total,
                            .median = left.total / static_cast<double>(left.events)};
    add_row({.name = left.name, .op_class = left.category}, times, nullptr);
    summary_.joined += left.total;
  }

  void add_run(const XplaneModule& module, const ModuleAnswers& answers) {
    ProfileProgram program{.group = group_,
                           .runs = static_cast<double>(module.runs.occurrences),
                           .total = module.runs.total,
                           .median = module.runs.median,
                           .predicted = {}};
    for (const Predictions& each : answers.of_models) program.predicted.emplace_back(each.run);
    summary_.programs.push_back(std::move(program));
  }

  const ProfileInput& input_;
  const CompareSetup& setup_;
  ComparisonBuilder builder_;
  ProfileSummary summary_;
  std::map<std::string, int> modules_called_;
  std::size_t measured_ = 0, group_ = 0;
  std::optional<std::size_t> outside_;  // the group of what is of no program
};

}  // namespace

Comparison compare_programs(std::span<const std::string> files,
                            std::span<const std::string> measured_sets, const CompareSetup& setup) {
  ComparisonBuilder builder(setup);
  builder.reads_modules();
  std::deque<MeasuredSide> sides;
  for (const std::string& path : measured_sets) add_measured_sides(path, setup, sides, builder);
  std::vector<ir::LoadedModule> modules(files.size());
  base::parallel_for(files.size(), setup.jobs,
                     [&](std::size_t i) { modules[i] = ir::load_module(files[i], setup.load); });
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const std::string stem = std::filesystem::path(files[i]).stem().string();
    std::size_t group = 0;
    for (std::size_t d = 0; d < setup.devices.size(); ++d) {
      const auto built =
          ir::program_for(modules[i], analytical::layout_rules(setup.devices[d]), setup.load);
      if (d == 0) group = builder.add_group(built.program.name(), files[i]);
      const Placed placed{built.program, group, d, stem, add_rows(built.program, group, builder)};
      for (const ir::Note& note : built.notes) builder.note(note.what);
      for (const ir::Note& note : built.program.notes()) builder.note(note.what);
      add_models(placed, setup, builder);
      if (d == 0) add_compiler(placed, setup.devices[d], builder);
      for (MeasuredSide& side : sides) {
        if (side.device == d) add_measured(placed, side, builder);
      }
    }
    modules[i] = {};
  }
  note_measured(sides, builder);
  return builder.finish();
}

Comparison compare_sets(std::span<const std::string> sets, const CompareSetup& setup) {
  ComparisonBuilder builder(setup);
  std::vector<std::string> hashes;
  for (const std::string& path : sets) {
    const measured::MeasurementSet set = measured::read_measurement_set(path);
    if (std::ranges::find(hashes, set.hash) != hashes.end()) {
      throw Error("{}: the same data as a set before it; give each set once", path);
    }
    hashes.push_back(set.hash);
    if (std::ranges::any_of(set.rows, [](const auto& row) { return !row.file.empty(); })) {
      builder.reads_modules();
    }
    add_set(set, builder.add_group(set.manifest.name, path), setup, builder);
  }
  return builder.finish();
}

Comparison compare_profile(const ProfileInput& input, const CompareSetup& setup) {
  const measured::XplaneJoin join = measured::join_modules(input.profile, input.modules);
  if (join.modules.empty()) {
    throw Error("{}: the profile holds no module that can be read; give those that ran (--module)",
                input.file);
  }
  ProfileRows rows(input, setup);
  for (const JoinedModule& joined : join.modules) rows.add(joined);
  return rows.finish(join);
}

}  // namespace tilecast::sim
