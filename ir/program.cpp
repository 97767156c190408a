#include "ir/program.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "base/parallel.h"
#include "ir/collective_groups.h"
#include "ir/counts/trip_count.h"
#include "ir/counts/work_counts.h"
#include "ir/kernels/kernel_fingerprint.h"
#include "ir/library_calls.h"
#include "ir/schedule_order.h"

namespace tilecast::ir {

// Flattens a module's control flow into the kernels of a Program; part of make_program(). Single
// use, not thread-safe.
class ProgramBuilder {
 public:
  ProgramBuilder(const Module& module, const ProgramOptions& options);
  [[nodiscard]] Program build();

 private:
  // The kernels that produce a result: as a whole and, where known, per tuple element.
  using ValueId = std::uint32_t;
  struct Value {
    boost::container::small_vector<KernelId, 2> kernels;
    std::vector<ValueId> elements;
  };
  struct Command {           // what the runtime does next: one kernel, or a loop
    std::size_t first, end;  // its kernels
    bool recorded;           // it may be part of a launch graph
  };
  // State of one walk through one computation.
  struct Frame {
    ComputationId computation;
    std::vector<ValueId> values;  // by instruction
    std::vector<ValueId> arguments;
    double multiplicity = 1;
    std::int32_t loop_depth = 0;
    // Known scalar values of its arguments, for loops: one row per run, or a single row that holds
    // for all runs.
    std::vector<ScalarValues> scalars;
    std::vector<KernelId> pending;  // asynchronous kernels whose first user has not been seen yet
    std::vector<Command> commands;
  };
  struct Trips {
    std::optional<double> total;        // over all runs of the loop
    std::vector<ScalarValues> scalars;  // for the body's frame
  };
  struct Pending {
    std::size_t done_at;  // number of kernels scheduled before its done op
    bool done = false;
  };

  [[nodiscard]] ValueId walk(Frame frame, int depth);
  // The frame for a computation called from `frame`.
  [[nodiscard]] Frame inside(const Frame& frame, ComputationId callee,
                             const std::vector<InstrId>& operands, double multiplicity);
  [[nodiscard]] Trips count_trips(const Frame& frame, const Instruction& op);
  [[nodiscard]] ValueId visit(Frame& frame, InstrId id, int depth);
  [[nodiscard]] ValueId visit_while(Frame& frame, const Instruction& op, int depth);
  [[nodiscard]] ValueId visit_conditional(Frame& frame, const Instruction& op, int depth);
  [[nodiscard]] ValueId visit_done(Frame& frame, const Instruction& op);
  [[nodiscard]] ValueId visit_free(Frame& frame, const Instruction& op);
  [[nodiscard]] ValueId launch(Frame& frame, InstrId id);
  void resolve_first_use(Frame& frame, KernelId user, const std::vector<KernelId>& used);
  void carry_on(const Frame& frame, const Instruction& op, std::vector<KernelId>& waits_for);
  void close(Frame& frame);
  void form_graphs(const Frame& frame);
  void make_kernels();

  [[nodiscard]] ValueId add_value(Value value);
  [[nodiscard]] ValueId element(ValueId tuple, std::int64_t index) const;
  [[nodiscard]] std::vector<KernelId> kernels_behind(const std::vector<ValueId>& values);
  [[nodiscard]] ValueId merged(const std::vector<ValueId>& values);
  [[nodiscard]] std::vector<ValueId> operand_values(const Frame& frame,
                                                    const Instruction& op) const;
  void note(std::string what, bool matters = false);
  void note_shape(const Shape& shape);

  const Module& module_;
  const ProgramOptions& options_;
  std::vector<std::pair<ComputationId, InstrId>> launched_;  // by kernel
  LoopEvaluator loops_;
  std::vector<bool> has_loop_;  // by computation
  Program program_;
  std::vector<Value> values_;
  std::vector<std::uint32_t> seen_;  // by ValueId: last kernels_behind() that visited it
  std::uint32_t visit_number_ = 0;
  std::size_t visited_ = 0;
  std::unordered_map<std::uint32_t, Pending> pending_;  // by kernel id
  // Collectives that fusions with their flags run beside: by kernel id, those begun.
  std::unordered_map<std::uint32_t, std::vector<KernelId>> running_;
  std::unordered_map<std::string_view, KernelId> sends_;  // to other slices, by rendezvous
  std::int64_t slices_ = 1;
  bool all_recorded_ = true;  // in the last computation walked
  std::map<std::string, std::size_t> note_positions_;
};

namespace {

constexpr int kMaxCallDepth = 256;
constexpr std::size_t kMaxVisited = 4'000'000;
constexpr std::size_t kMaxKernels = 2'000'000;  // 1 to 4 KB each
constexpr std::size_t kBatch = 64;              // kernels that a thread builds per task
constexpr std::size_t kMostScalarRows = 1024;   // runs of a computation to distinguish

std::string number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// Whether XLA:GPU can record it in a launch graph: fusions (all that it writes itself becomes one),
// copies, and products of cuBLAS.
bool is_recorded(const Module& module, const Instruction& op) {
  switch (op.opcode) {
    case Opcode::kFusion:
    case Opcode::kCopy:
    case Opcode::kDot:
    case Opcode::kBroadcast:
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kTranspose:
    case Opcode::kGather:
    case Opcode::kScatter:
      return true;
    case Opcode::kAsyncStart:
      return !op.called.empty() &&
             std::ranges::all_of(module.at(op.called[0]).instructions,
                                 [](const Instruction& inner) {
                                   return inner.opcode == Opcode::kFusion ||
                                          op_class(inner.opcode) == OpClass::kFree;
                                 });
    default:
      return is_elementwise(op.opcode);
  }
}

// Fusions of XLA:TPU in which a collective begins and ends; those between hand on its flags, which
// are in memory space 2.
constexpr std::string_view kCollectiveStart = "AsyncCollectiveStart";
constexpr std::string_view kCollectiveDone = "AsyncCollectiveDone";
constexpr int kFlagSpace = 2;

// Target of the custom call that a fusion ends with, or "".
std::string_view fused_target(const Module& module, const Instruction& op) {
  if (op.opcode != Opcode::kFusion || op.called.empty()) return {};
  const Computation& fused = module.at(op.called[0]);
  const auto* call = fused.at(fused.root).get<CustomCallAttrs>();
  return call == nullptr ? std::string_view() : std::string_view(call->target);
}

// Channel of a fusion's collective; 0: none.
std::int64_t fused_channel(const Module& module, const Instruction& op) {
  for (const Instruction& inner : module.at(op.called[0]).instructions) {
    const auto* collective = inner.get<CollectiveAttrs>();
    if (collective != nullptr && collective->channel_id != 0) return collective->channel_id;
  }
  return 0;
}

}  // namespace

double Program::host_launches() const {
  double launches = 0;
  if (!is_recorded_) return launches;
  std::vector<bool> counted(graphs_.size());
  for (const ScheduledKernel& kernel : kernels_) {
    if (kernel.graph < 0) {
      launches += kernel.multiplicity;
    } else if (!counted[static_cast<std::size_t>(kernel.graph)]) {
      counted[static_cast<std::size_t>(kernel.graph)] = true;
      launches += graphs_[static_cast<std::size_t>(kernel.graph)];
    }
  }
  return launches;
}

bool is_zero_cost(Opcode opcode) {
  const OpClass work = op_class(opcode);
  return work == OpClass::kFree || work == OpClass::kAsyncDone;
}

Program make_program(const Module& module, const ProgramOptions& options) {
  const std::optional<Module> replaced = with_library_calls_replaced(module);
  Program program;
  MemoryUse memory;
  const bool worth_a_thread = module.entry_computation().instructions.size() > kBatch;
  base::parallel_for(2, worth_a_thread ? options.jobs : 1, [&](std::size_t part) {
    if (part == 0) program = ProgramBuilder(replaced ? *replaced : module, options).build();
    if (part == 1) memory = memory_use(module);
  });
  program.memory_ = std::move(memory);
  return program;
}

ProgramBuilder::ProgramBuilder(const Module& module, const ProgramOptions& options)
    : module_(module), options_(options), loops_(module) {
  for (const Computation& computation : module.computations) {  // callees come first
    has_loop_.push_back(std::ranges::any_of(computation.instructions, [&](const Instruction& op) {
      return op.opcode == Opcode::kWhile || std::ranges::any_of(op.called, [&](ComputationId id) {
               return id.index() < has_loop_.size() && has_loop_[id.index()];
             });
    }));
  }
  if (!(options.default_trip_count >= 0) || options.default_trip_count > 1e18) {
    throw Error("the default trip count is " + number(options.default_trip_count) +
                ", expected 0 .. 1e18");
  }
}

double tokens_of(const Computation& entry) {
  const Dims* shape = nullptr;
  for (const InstrId id : entry.parameters) {
    const Shape& argument = entry.at(id).shape;
    if (argument.rank() != 2) continue;
    if (argument.dtype != DType::kS32 && argument.dtype != DType::kS64) continue;
    if (shape != nullptr && *shape != argument.dims) return 0;
    shape = &argument.dims;
  }
  return shape == nullptr ? 0 : static_cast<double>((*shape)[0]) * static_cast<double>((*shape)[1]);
}

Program ProgramBuilder::build() {
  program_.name_ = module_.name;
  program_.is_recorded_ = options_.xla_gpu;
  program_.arguments_ = module_.entry_computation().parameters.size();
  program_.is_scheduled_ = module_.is_scheduled;
  if (__builtin_mul_overflow(module_.replica_count, module_.num_partitions, &program_.devices_)) {
    throw Error("module " + module_.name + ": replica_count x num_partitions overflows");
  }
  if (program_.devices_ == 1) program_.tokens_ = tokens_of(module_.entry_computation());
  std::vector<ValueId> arguments;
  for (std::size_t i = 0; i < module_.entry_computation().parameters.size(); ++i) {
    arguments.push_back(add_value({}));
  }
  (void)walk({.computation = module_.entry, .arguments = std::move(arguments), .scalars = {{}}}, 0);
  make_kernels();
  program_.devices_ *= slices_;  // the module is that of one of them
  for (ScheduledKernel& kernel : program_.kernels_) {
    if (kernel.done_before.valid() && kernel.done_before.index() >= program_.kernels_.size()) {
      kernel.done_before = {};
    }
  }
  return std::move(program_);
}

ProgramBuilder::ValueId ProgramBuilder::walk(Frame frame, int depth) {
  if (depth > kMaxCallDepth) {
    throw Error("module " + module_.name + ": calls nest deeper than 256");
  }
  const Computation& computation = module_.at(frame.computation);
  frame.values.assign(computation.instructions.size(), 0);
  for (const InstrId next : schedule_order(computation)) {
    if (++visited_ > kMaxVisited) {
      throw Error("module " + module_.name +
                  ": more than 4 million instructions once its calls are inlined");
    }
    frame.values[next.index()] = visit(frame, next, depth);
  }
  close(frame);
  form_graphs(frame);
  return frame.values[computation.root.index()];
}

ProgramBuilder::ValueId ProgramBuilder::visit(Frame& frame, InstrId id, int depth) {
  const Instruction& op = module_.at(frame.computation).at(id);
  switch (op.opcode) {
    case Opcode::kWhile:
      return visit_while(frame, op, depth);
    case Opcode::kConditional:
      return visit_conditional(frame, op, depth);
    case Opcode::kCall: {
      const std::size_t first = program_.kernels_.size();
      const ValueId result =
          walk(inside(frame, op.called.at(0), op.operands, frame.multiplicity), depth + 1);
      frame.commands.push_back({first, program_.kernels_.size(), all_recorded_});
      return result;
    }
    default:
      break;
  }
  if (op_class(op.opcode) == OpClass::kAsyncDone) return visit_done(frame, op);
  if (is_zero_cost(op.opcode) || only_names_memory(op)) return visit_free(frame, op);
  if (is_annotation(op)) {
    note("annotation custom-calls (sharding, placement) counted as free");
    return frame.values[op.operands[0].index()];
  }
  return launch(frame, id);
}

ProgramBuilder::ValueId ProgramBuilder::visit_while(Frame& frame, const Instruction& op,
                                                    int depth) {
  Trips trips = count_trips(frame, op);
  const double assumed = options_.default_trip_count;
  const auto times = static_cast<double>(frame.scalars.size());
  if (!trips.total) {
    note("trip count of " + op.name + " unknown: " + number(assumed) + " assumed", true);
  }
  const double multiplicity =
      trips.total ? frame.multiplicity / times * *trips.total : frame.multiplicity * assumed;
  Frame iteration = inside(frame, op.called.at(1), {}, multiplicity);
  iteration.arguments = operand_values(frame, op);
  iteration.loop_depth = frame.loop_depth + 1;
  iteration.scalars = std::move(trips.scalars);
  const std::size_t first = program_.kernels_.size();
  if (!options_.xla_gpu || !trips.total) {
    Frame test = iteration;
    test.computation = op.called.at(0);
    (void)walk(std::move(test), depth + 1);
  }
  const ValueId result = walk(std::move(iteration), depth + 1);
  for (const KernelId kernel : kernels_behind({result})) {
    const auto started = pending_.find(kernel.value);
    if (started == pending_.end() || started->second.done || kernel.index() <= first) continue;
    ScheduledKernel& carried = program_.kernels_[kernel.index()];
    carried.beside = KernelId(first);
    std::erase_if(carried.waits_for, [&](KernelId id) { return id.index() >= first; });
  }
  frame.commands.push_back(
      {first, program_.kernels_.size(), trips.total.has_value() && all_recorded_});
  return result;
}

ProgramBuilder::Trips ProgramBuilder::count_trips(const Frame& frame, const Instruction& op) {
  const auto known = known_trip_count(op);
  const bool has_loop = has_loop_[op.called.at(1).index()];
  const auto times = static_cast<double>(frame.scalars.size());
  Trips trips{0.0, {}};
  if (known) *trips.total = static_cast<double>(*known) * times;
  if (known && !has_loop) return {trips.total, {{}}};
  bool every_step = true;
  for (const ScalarValues& row : frame.scalars) {
    const ScalarValue state =
        loops_.evaluate(module_.at(frame.computation), op.operands.at(0), row);
    LoopRun run = loops_.run(op, state);
    every_step = every_step && run.is_stepwise && (!known || run.trips == known);
    if (!known) {
      trips.total = run.trips && trips.total
                        ? std::optional(*trips.total + static_cast<double>(*run.trips))
                        : std::nullopt;
    }
    for (ScalarValue& in_step : run.states) trips.scalars.push_back({std::move(in_step)});
  }
  if (trips.scalars.empty()) trips.scalars = {{ScalarValue{}}};
  if (!every_step || trips.scalars.size() > kMostScalarRows) {
    ScalarValue always = trips.scalars.front().front();
    for (const ScalarValues& row : trips.scalars) always = common(always, row.front());
    trips.scalars = {{std::move(always)}};
  }
  return trips;
}

ProgramBuilder::Frame ProgramBuilder::inside(const Frame& frame, ComputationId callee,
                                             const std::vector<InstrId>& operands,
                                             double multiplicity) {
  Frame next{.computation = callee,
             .multiplicity = multiplicity,
             .loop_depth = frame.loop_depth,
             .scalars = {{}}};
  for (const InstrId operand : operands) next.arguments.push_back(frame.values[operand.index()]);
  if (!has_loop_[callee.index()]) return next;
  next.scalars.assign(frame.scalars.size(), {});
  for (std::size_t i = 0; i < frame.scalars.size(); ++i) {
    for (const InstrId operand : operands) {
      next.scalars[i].push_back(
          loops_.evaluate(module_.at(frame.computation), operand, frame.scalars[i]));
    }
  }
  return next;
}

// Runs of commands that can be recorded; a loop inside one is part of its graph.
void ProgramBuilder::form_graphs(const Frame& frame) {
  all_recorded_ = std::ranges::all_of(frame.commands, &Command::recorded);
  if (!options_.xla_gpu) return;
  const auto& commands = frame.commands;
  for (std::size_t i = 0, end = 0; i < commands.size(); i = end + 1) {
    end = i;
    while (end < commands.size() && commands[end].recorded) ++end;
    if (end - i < kLeastGraph) continue;
    const auto graph = static_cast<std::int32_t>(program_.graphs_.size());
    program_.graphs_.push_back(frame.multiplicity);
    for (std::size_t k = commands[i].first; k < commands[end - 1].end; ++k) {
      program_.kernels_[k].graph = graph;
    }
  }
}

ProgramBuilder::ValueId ProgramBuilder::visit_conditional(Frame& frame, const Instruction& op,
                                                          int depth) {
  const std::size_t branches = op.called.size();
  note(op.name + ": one of " + std::to_string(branches) + " branches runs; each counts 1/" +
           std::to_string(branches),
       true);
  const double multiplicity = frame.multiplicity / static_cast<double>(branches);
  std::vector<ValueId> results;
  const std::size_t first = program_.kernels_.size();
  for (std::size_t i = 0; i < branches; ++i) {
    results.push_back(
        walk(inside(frame, op.called[i], {op.operands.at(i + 1)}, multiplicity), depth + 1));
  }
  frame.commands.push_back({first, program_.kernels_.size(), false});
  return merged(results);
}

ProgramBuilder::ValueId ProgramBuilder::visit_done(Frame& frame, const Instruction& op) {
  ValueId value = frame.values[op.operands.at(0).index()];
  // What hosts exchange between slices has arrived, not left, where its receive is done.
  if (const auto transfer = slice_transfer(module_.at(frame.computation).at(op.operands[0]))) {
    if (op.opcode == Opcode::kSendDone) return value;
    const auto sent = sends_.find(transfer->rendezvous);
    if (sent != sends_.end()) value = merged({value, add_value({{sent->second}, {}})});
  }
  for (const KernelId kernel : kernels_behind({value})) {
    const auto it = pending_.find(kernel.value);
    if (it != pending_.end() && !it->second.done) {
      it->second = {program_.kernels_.size(), true};
    }
  }
  return value;
}

ProgramBuilder::ValueId ProgramBuilder::visit_free(Frame& frame, const Instruction& op) {
  if (op.opcode == Opcode::kParameter) {
    const auto parameter = static_cast<std::size_t>(op.as<ParameterAttrs>().number);
    return parameter < frame.arguments.size() ? frame.arguments[parameter] : add_value({});
  }
  if (op.opcode == Opcode::kTuple) return add_value({{}, operand_values(frame, op)});
  if (op.opcode == Opcode::kGetTupleElement) {
    return element(frame.values[op.operands[0].index()], op.as<IndexAttrs>().index);
  }
  if (op.operands.size() == 1) return frame.values[op.operands[0].index()];
  return merged(operand_values(frame, op));
}

ProgramBuilder::ValueId ProgramBuilder::launch(Frame& frame, InstrId id) {
  const Computation& computation = module_.at(frame.computation);
  const Instruction& op = computation.at(id);
  if (program_.kernels_.size() >= kMaxKernels) {
    throw Error("module " + module_.name +
                ": more than 2 million kernels once its calls are inlined");
  }
  const KernelId kernel(program_.kernels_.size());
  std::vector<ValueId> inputs = operand_values(frame, op);
  for (const InstrId before : *op.control_predecessors)
    inputs.push_back(frame.values[before.index()]);
  launched_.emplace_back(frame.computation, id);
  ScheduledKernel scheduled;
  scheduled.multiplicity = frame.multiplicity;
  scheduled.waits_for = kernels_behind(inputs);
  const bool starts_collective = fused_target(module_, op) == kCollectiveStart;
  scheduled.asynchronous = starts_asynchronously(op.opcode) || starts_collective;
  carry_on(frame, op, scheduled.waits_for);
  if (starts_collective) running_[kernel.value] = {kernel};
  scheduled.computation = computation.name;
  scheduled.loop_depth = frame.loop_depth;
  resolve_first_use(frame, kernel, scheduled.waits_for);
  if (scheduled.asynchronous) {
    frame.pending.push_back(kernel);
    pending_[kernel.value] = {};
  }
  if (const auto transfer = slice_transfer(op)) {
    if (op.opcode == Opcode::kSend) sends_[transfer->rendezvous] = kernel;
    slices_ = std::max(slices_, transfer->slices);
  }
  note_shape(op.shape);
  frame.commands.push_back({kernel.index(), kernel.index() + 1, is_recorded(module_, op)});
  program_.kernels_.push_back(std::move(scheduled));
  return add_value({{kernel}, {}});
}

// What runs beside a collective, with its flags, does not wait for it; its end does.
void ProgramBuilder::carry_on(const Frame& frame, const Instruction& op,
                              std::vector<KernelId>& waits_for) {
  std::vector<KernelId> begun;
  for (const KernelId kernel : waits_for) {
    const auto at = running_.find(kernel.value);
    if (at != running_.end()) begun.insert(begun.end(), at->second.begin(), at->second.end());
  }
  const auto is_flag = [&](InstrId id) {
    return module_.at(frame.computation).at(id).shape.memory_space() == kFlagSpace;
  };
  if (begun.empty() || std::ranges::none_of(op.operands, is_flag)) return;
  std::ranges::sort(begun);
  begun.erase(std::unique(begun.begin(), begun.end()), begun.end());
  std::erase_if(waits_for,
                [&](KernelId id) { return std::ranges::find(begun, id) != begun.end(); });
  if (fused_target(module_, op) != kCollectiveDone) {
    running_[static_cast<std::uint32_t>(program_.kernels_.size())] = std::move(begun);
    return;
  }
  const std::int64_t channel = fused_channel(module_, op);
  for (const KernelId start : begun) {
    const auto& [where, what] = launched_[start.index()];
    if (fused_channel(module_, module_.at(where).at(what)) != channel) continue;
    pending_[start.value] = {program_.kernels_.size(), true};
    waits_for.push_back(start);
  }
  std::ranges::sort(waits_for);
}

// Called before `user` is scheduled: it is the first user of the finished asynchronous kernels that
// it waits for.
void ProgramBuilder::resolve_first_use(Frame& frame, KernelId user,
                                       const std::vector<KernelId>& used) {
  if (frame.pending.empty()) return;
  std::erase_if(frame.pending, [&](KernelId kernel) {
    const bool uses =
        pending_.at(kernel.value).done && std::find(used.begin(), used.end(), kernel) != used.end();
    if (uses) program_.kernels_[kernel.index()].done_before = user;
    return uses;
  });
}

// At the end of a computation: asynchronous kernels without a user must complete by their done op.
void ProgramBuilder::close(Frame& frame) {
  for (const KernelId kernel : frame.pending) {
    const Pending& state = pending_.at(kernel.value);
    if (state.done) program_.kernels_[kernel.index()].done_before = KernelId(state.done_at);
  }
}

// Builds the kernels in parallel, after the walk, which must be sequential.
void ProgramBuilder::make_kernels() {
  const std::size_t kernels = launched_.size();
  KernelContents contents;
  const auto make_some = [&](std::size_t first, std::size_t end) {
    WorkCounter counter(module_);
    for (std::size_t i = first; i < end; ++i) {
      const auto& [computation, instruction] = launched_[i];
      Kernel& kernel = program_.kernels_[i].kernel;
      kernel = make_kernel(module_, computation, instruction, counter, options_.gpu_code);
      contents.share(kernel);
    }
  };
  base::parallel_for_batches(kernels, kBatch, options_.jobs, make_some);
  for (std::size_t i = 0; i < kernels; ++i) {
    const auto& [computation, instruction] = launched_[i];
    const std::string& config = *module_.at(computation).at(instruction).backend_config;
    if (config.find("window_config") != std::string::npos &&
        !program_.kernels_[i].kernel.compiler_tile()) {
      note("backend_config with an unreadable window_config ignored");
    }
  }
}

ProgramBuilder::ValueId ProgramBuilder::add_value(Value value) {
  values_.push_back(std::move(value));
  seen_.push_back(0);
  return static_cast<ValueId>(values_.size() - 1);
}

ProgramBuilder::ValueId ProgramBuilder::element(ValueId tuple, std::int64_t index) const {
  const auto& elements = values_[tuple].elements;
  return index >= 0 && index < std::ssize(elements) ? elements[static_cast<std::size_t>(index)]
                                                    : tuple;
}

std::vector<KernelId> ProgramBuilder::kernels_behind(const std::vector<ValueId>& values) {
  ++visit_number_;
  std::vector<KernelId> kernels;
  std::vector<ValueId> open = values;
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    if (seen_[id] == visit_number_) continue;
    seen_[id] = visit_number_;
    const Value& value = values_[id];
    kernels.insert(kernels.end(), value.kernels.begin(), value.kernels.end());
    open.insert(open.end(), value.elements.begin(), value.elements.end());
  }
  std::sort(kernels.begin(), kernels.end());
  kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
  return kernels;
}

// A value that may be any of `values`; element by element if all are tuples of equal size.
ProgramBuilder::ValueId ProgramBuilder::merged(const std::vector<ValueId>& values) {
  if (values.empty()) return add_value({});
  const std::size_t elements = values_[values[0]].elements.size();
  bool alike = elements > 0;
  for (const ValueId id : values) alike &= values_[id].elements.size() == elements;
  Value result;
  if (alike) {
    for (std::size_t i = 0; i < elements; ++i) {
      std::vector<ValueId> column;
      for (const ValueId id : values) column.push_back(values_[id].elements[i]);
      const std::vector<KernelId> kernels = kernels_behind(column);
      result.elements.push_back(add_value({{kernels.begin(), kernels.end()}, {}}));
    }
  } else {
    const std::vector<KernelId> kernels = kernels_behind(values);
    result.kernels.assign(kernels.begin(), kernels.end());
  }
  return add_value(std::move(result));
}

std::vector<ProgramBuilder::ValueId> ProgramBuilder::operand_values(const Frame& frame,
                                                                    const Instruction& op) const {
  std::vector<ValueId> values;
  values.reserve(op.operands.size());
  for (const InstrId id : op.operands) values.push_back(frame.values[id.index()]);
  return values;
}

void ProgramBuilder::note(std::string what, bool matters) {
  const auto [it, is_new] = note_positions_.try_emplace(what, program_.notes_.size());
  if (is_new) {
    program_.notes_.push_back({std::move(what), 1, matters});
  } else {
    ++program_.notes_[it->second].count;
  }
}

void ProgramBuilder::note_shape(const Shape& shape) {
  bool dynamic = false;
  for_each_leaf(shape, [&](const Shape& leaf) { dynamic |= leaf.dynamic_mask != 0; });
  if (dynamic) note("kernels with dynamic dimensions: their bounds are used");
}

}  // namespace tilecast::ir
