#include "analytical/kernel_body.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analytical/compute_units.h"
#include "analytical/transfer.h"
#include "ir/array_elements.h"

namespace tilecast::analytical {
namespace {

using ir::KernelBody;
using ir::Opcode;

// Registers that hold a block: rows of lanes, whole sublanes.
double registers(const ir::Shape& shape, const hwdesc::Device& device) {
  const auto lanes = static_cast<double>(device.vector.lanes);
  const auto sublanes = static_cast<double>(device.vector.sublanes);
  const ir::Dims& dims = shape.dims;
  const double words = words_per_element(shape, device);
  double outer = 1;
  for (std::size_t i = 0; i + 2 < dims.size(); ++i) outer *= static_cast<double>(dims[i]);
  const double minor = dims.empty() ? 1 : static_cast<double>(dims.back());
  const double rows = dims.size() < 2 ? 1 : static_cast<double>(dims[dims.size() - 2]);
  return outer * base::ceil(minor / lanes) * base::ceil(rows * words / sublanes);
}

// The operation as a kernel of its own, with operands and result in registers.
UnitCycles cycles_of(const KernelBody::Work& work, const hwdesc::Device& device) {
  ir::KernelBuilder builder("block", work.opcode);
  ir::Op op{.opcode = work.opcode, .shape = work.result};
  op.dimensions = work.dimensions;
  op.attrs = work.attrs;
  for (const ir::Shape& operand : work.operands) op.operands.push_back(builder.parameter(operand));
  const ir::OpId id = builder.add(std::move(op));
  const ir::Kernel kernel = builder.build({id});
  const IterationSpace space = make_iteration_space(kernel, device.native_tile);
  const Footprints footprints(kernel, space);
  const ComputeModel model(kernel, device, space, footprints);
  const LoopSizes whole = tile_extents(space, full_tile(space));
  std::vector<Extents> extents(footprints.groups().size());
  footprints.evaluate(whole, extents);
  UnitCycles cycles = model.prologue(extents);
  const UnitCycles after = model.epilogue(extents);
  for (const auto& [bound, of_unit] : kUnits) cycles.*of_unit += after.*of_unit;
  cycles.conversion += after.conversion;
  cycles.matrix += model.matrix_cycles(whole) - model.matrix_fill_cycles();
  if (space.matrix && !model.has_matrix_work()) cycles.vector += model.vector_matrix_cycles(whole);
  cycles.on_chip = 0;
  return cycles;
}

struct Moved {  // of one step
  double read_bytes = 0, write_bytes = 0, read_s = 0, write_s = 0, count = 0;

  void add(bool written, const WindowCost& cost, double times) {
    (written ? write_bytes : read_bytes) += times * cost.bytes;
    (written ? write_s : read_s) += times * cost.engine_s;
    count += times;
  }
};

class WrittenKernel {
 public:
  WrittenKernel(const ir::Kernel& kernel, const KernelBody& body, const hwdesc::Device& device);
  [[nodiscard]] Accounting account(BoundMask removed) const;

 private:
  struct Window {
    bool written = false;
    StoredArray array;
    Extents block{};
    double share = 1;  // of blocks: those at the end of an array move only what exists
    std::vector<double> moves;
  };
  void add_work(const KernelBody& body);
  void add_window(const ir::Shape& shape, const KernelBody::Window& window);
  [[nodiscard]] Moved moved(std::size_t level, double steps, const MemoryPath& memory) const;

  const hwdesc::Device* device_;
  std::vector<BoundMask> co_issue_;
  ir::Dims grid_;
  std::vector<Window> windows_;
  KernelBody::Copies beside_, in_turn_;
  double steps_ = 1;
  UnitCycles all_;  // cycles of all steps
};

WrittenKernel::WrittenKernel(const ir::Kernel& kernel, const KernelBody& body,
                             const hwdesc::Device& device)
    : device_(&device),
      co_issue_(co_issue_of(device)),
      grid_(body.grid),
      beside_(body.beside),
      in_turn_(body.in_turn),
      steps_(body.steps()) {
  add_work(body);
  const auto call = std::ranges::find(kernel.ops(), Opcode::kCustomCall, &ir::Op::opcode);
  if (call == kernel.ops().end()) return;
  for (const KernelBody::Window& window : body.windows) {
    const auto& arrays = window.written ? kernel.outputs() : std::span(call->operands);
    if (window.array < arrays.size()) add_window(kernel.op(arrays[window.array]).shape, window);
  }
}

void WrittenKernel::add_work(const KernelBody& body) {
  double loads = 0, stores = 0;
  for (const KernelBody::Work& work : body.work) {
    if (work.times <= 0) continue;
    if (work.opcode == Opcode::kDynamicSlice) {
      loads += work.times * registers(work.result, *device_);
    } else if (work.opcode == Opcode::kDynamicUpdateSlice) {
      stores += work.times * registers(work.result, *device_);
    } else {
      const UnitCycles once = cycles_of(work, *device_);
      for (const auto& [bound, of_unit] : kUnits) all_.*of_unit += work.times * (once.*of_unit);
      all_.conversion += work.times * once.conversion;
    }
  }
  all_.on_chip = std::max(loads / device_->vector.load_ports, stores / device_->vector.store_ports);
}

void WrittenKernel::add_window(const ir::Shape& shape, const KernelBody::Window& window) {
  if (is_resident(shape, *device_) || shape.rank() > kMaxRank ||
      window.block.size() != shape.dims.size()) {
    return;
  }
  const hwdesc::TransferEngine& engine = device_->engines.front();
  Window added{.written = window.written,
               .array = stored_array(shape, device_->main_memory().granule.value),
               .moves = window.moves};
  added.array.run_cost_bytes = engine.full_efficiency_run.value;
  added.array.descriptor_strides = engine.descriptor_strides;
  for (std::size_t i = 0; i < window.block.size(); ++i) {
    added.block[i] = std::min(window.block[i], shape.dims[i]);
    if (added.block[i] <= 0) return;
    const auto covered = base::round_up(shape.dims[i], added.block[i]);
    added.share *= static_cast<double>(shape.dims[i]) / static_cast<double>(covered);
  }
  windows_.push_back(std::move(added));
}

// Of each of `steps` steps that advance loop `level`; of the first loads and last stores beyond the
// loops.
Moved WrittenKernel::moved(std::size_t level, double steps, const MemoryPath& memory) const {
  const hwdesc::TransferEngine& engine = device_->engines.front();
  Moved moved;
  for (const Window& window : windows_) {
    const double rate = window.written ? memory.write : memory.read;
    const double times = level < grid_.size() ? window.moves[level] / steps : 1;
    if (times <= 0) continue;
    WindowCost cost = window_cost(window.array, window.block, rate, engine);
    cost.bytes *= window.share;
    cost.engine_s *= window.share;
    moved.add(window.written, cost, times);
  }
  return moved;
}

Accounting WrittenKernel::account(BoundMask removed) const {
  const double cycle_s = 1 / device_->clock.value;
  const MemoryPath memory =
      memory_path(device_->main_memory()).without(removed, Bound::kHbmRead, Bound::kHbmWrite);
  const hwdesc::TransferEngine& engine = device_->engines.front();
  const double setup_s = kept_s(removed, Bound::kIssue, engine.setup.value);
  const double overhead_s = kept_s(removed, Bound::kOverhead, engine.iteration_overhead.value);
  const UnitCycles units = all_.without(removed);
  const double use_s = overlapped(units, co_issue_) * cycle_s / steps_;
  Accounting sum;
  const auto run = [&](Moved moved, double count) {
    const auto beside = [&](bool written, double bytes, double rate) {
      if (bytes > 0) moved.add(written, {.bytes = bytes, .engine_s = bytes / rate}, 1 / steps_);
    };
    beside(false, beside_.read_bytes, memory.read);
    beside(true, beside_.written_bytes, memory.write);
    PerBound busy{};
    busy[index_of(Bound::kHbmRead)] = moved.read_s;
    busy[index_of(Bound::kHbmWrite)] = moved.write_s;
    busy[index_of(Bound::kIssue)] = setup_s * moved.count;
    busy[index_of(Bound::kOverhead)] = overhead_s;
    for (const auto& [bound, of_unit] : kUnits) {
      busy[index_of(bound)] = units.*of_unit * cycle_s / steps_;
    }
    const double core_s = use_s + setup_s * moved.count + overhead_s;
    const double wait_s = moved.read_s > 0 ? memory.latency_s : 0;
    const PipelineLoop loop{.path_s = memory.busy_s(moved.read_s, moved.write_s),
                            .core_s = core_s,
                            .round_trip_s = wait_s + moved.read_s + core_s,
                            .stages = static_cast<double>(engine.stages)};
    sum.add_periods(loop, busy, count, kMemoryPaths);
    sum.read_bytes += count * moved.read_bytes;
    sum.write_bytes += count * moved.write_bytes;
    sum.total_s += count * steady_period_s(loop);
  };
  const auto alone = [&](Bound bound, double seconds) {
    sum.add_alone(bound, seconds);
    sum.total_s += seconds;
  };
  double outer = 1;
  for (std::size_t level = 0; level < grid_.size(); ++level) {
    const auto size = static_cast<double>(grid_[level]);
    const double steps = outer * (size - 1);
    if (steps > 0) run(moved(level, steps, memory), steps);
    outer *= size;
  }
  run({}, 1);  // the last step
  const Moved ends = moved(grid_.size(), 1, memory);
  const auto end_s = [&](double seconds) { return seconds > 0 ? memory.latency_s + seconds : 0; };
  sum.read_bytes += ends.read_bytes + in_turn_.read_bytes;
  sum.write_bytes += ends.write_bytes + in_turn_.written_bytes;
  alone(Bound::kFillDrain,
        kept_s(removed, Bound::kFillDrain, end_s(ends.read_s) + end_s(ends.write_s)));
  alone(Bound::kMatrix, kept_s(removed, Bound::kMatrix,
                               all_.matrix > 0 ? device_->matrix.fill.value * cycle_s : 0));
  alone(Bound::kIssue, setup_s * (ends.count + in_turn_.count));
  alone(Bound::kHbmRead, in_turn_.read_bytes / memory.read);
  alone(Bound::kHbmWrite, in_turn_.written_bytes / memory.write);
  alone(Bound::kLatency, kept_s(removed, Bound::kLatency, in_turn_.count * memory.latency_s));
  alone(Bound::kOverhead, kept_s(removed, Bound::kOverhead, device_->dispatch.kernel_launch.value));
  sum.iterations = steps_;
  return sum;
}

}  // namespace

std::optional<Algorithm> kernel_body(const ir::Kernel& kernel, const hwdesc::Device& device) {
  const auto& cost = kernel.custom_call_cost();
  if (!cost || !cost->body || device.execution != hwdesc::Execution::kScratchpad) {
    return std::nullopt;
  }
  const KernelBody& body = *cost->body;
  std::string name = fmt::format("its code: {} steps", fmt::join(body.grid, " x "));
  if (body.grid.empty()) name = "its code: one step";
  for (const std::string& note : body.notes) name += "; " + note;
  return Algorithm{std::move(name), [written = WrittenKernel(kernel, body, device)](
                                        BoundMask removed) { return written.account(removed); }};
}

}  // namespace tilecast::analytical
