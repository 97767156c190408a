#include "sim/compare_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "measured/importers/profile_device.h"
#include "measured/importers/xplane_join.h"
#include "sim/compare_rows.h"
#include "sim/simulator.h"

namespace tilecast::sim {
namespace {

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

  void add(const JoinedModule& joined);
  [[nodiscard]] Comparison finish(const measured::XplaneJoin& join);

 private:
  void add_row(const ProfiledInstruction& of, const XplaneTimes& times,
               const ModuleAnswers& answers);
  void add_run(const XplaneModule& module, const ModuleAnswers& answers);
  void add_idle(const XplaneModule& module, const Kernels& kernels);

  const ProfileInput& input_;
  const CompareSetup& setup_;
  ComparisonBuilder builder_;
  ProfileSummary summary_;
  std::map<std::string, int> modules_called_;
  std::size_t measured_ = 0, group_ = 0;
};

Predictions answers_of(const ir::Program& program, const hwdesc::Device& device,
                       const analytical::CostModel& model) {
  const Simulation simulated = simulate(program, device, model, {.unknown_op = UnknownOp::kSkip});
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

void ProfileRows::add(const JoinedModule& joined) {
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
            times, answers);
  };
  for (const auto& [name, times] : module.instructions) add(name, times);
  for (const auto& [name, times] : module.transfers) add(name, times);
  add_idle(module, kernels);
  add_run(module, answers);
  if (setup_.step) setup_.step();
}

void ProfileRows::add_row(const ProfiledInstruction& of, const XplaneTimes& times,
                          const ModuleAnswers& answers) {
  ProfileCounts counts{.category = times.category.empty() ? of.op_class : times.category,
                       .median = times.median,
                       .profile_flops = times.flops,
                       .profile_bytes = times.bytes_accessed};
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
  for (std::size_t column = 0; column < setup_.columns.size(); ++column) {
    if (!of.is_timed(times)) {
      builder_.set(row, column, {Seconds{0}});
      continue;
    }
    const auto& cells = answers.of_models[column].cells;
    if (const auto cell = cells.find(of.name); cell != cells.end()) {
      builder_.set(row, column, cell->second);
    }
  }
}

// Adds the time of runs without a kernel, for which models predict nothing.
void ProfileRows::add_idle(const XplaneModule& module, const Kernels& kernels) {
  Seconds busy;
  for (const auto& [name, times] : module.instructions) {
    if (kernels.contains(name) && !times.asynchronous) busy += times.total;
  }
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

void ProfileRows::add_run(const XplaneModule& module, const ModuleAnswers& answers) {
  ProfileProgram program{.group = group_,
                         .runs = static_cast<double>(module.runs.occurrences),
                         .total = module.runs.total,
                         .median = module.runs.median,
                         .predicted = {}};
  for (const Predictions& each : answers.of_models) program.predicted.emplace_back(each.run);
  summary_.programs.push_back(std::move(program));
}

Comparison ProfileRows::finish(const measured::XplaneJoin& join) {
  summary_.joined = join.kernels + join.controls;
  std::map<std::string, ProfileLeftOver> left_over;
  for (const measured::XplaneLeftOver& left : join.left_over) {
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

}  // namespace

Comparison compare_profile(const ProfileInput& input, const CompareSetup& setup) {
  const measured::XplaneJoin join = measured::join_modules(input.profile, input.modules);
  if (join.modules.empty()) {
    throw Error(
        fmt::format("{}: the profile holds no module that can be read; give those that ran "
                    "(--module)",
                    input.file));
  }
  ProfileRows rows(input, setup);
  for (const JoinedModule& joined : join.modules) rows.add(joined);
  return rows.finish(join);
}

}  // namespace tilecast::sim
