#include "analytical/scratchpad_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analytical/distinct_traffic.h"
#include "analytical/pipeline.h"
#include "analytical/tile_space.h"

namespace tilecast::analytical {
namespace {

// A result smaller than this share of the scratchpad stays there while outer loops revisit it.
constexpr double kAccumulatorShare = 1.0 / 8;
// Ragged loops costed exactly; further ones count as interior tiles.
constexpr int kMaxRagged = 3;

}  // namespace

ScratchpadModel::ScratchpadModel(const ir::Kernel& kernel, const hwdesc::Device& device)
    : device_(&device),
      space_(make_iteration_space(kernel, device.native_tile)),
      footprints_(kernel, space_),
      compute_(kernel, device, space_, footprints_) {
  const hwdesc::MemoryLevel& memory = device.main_memory();
  const hwdesc::TransferEngine& engine = device.engines.front();
  read_rate_ = memory.sustained_read().value;
  write_rate_ = memory.sustained_write().value;
  latency_s_ = memory.latency.value;
  full_duplex_ = memory.full_duplex;
  setup_s_ = engine.setup.value;
  overhead_s_ = engine.iteration_overhead.value;
  stages_ = engine.stages;
  cycle_s_ = 1.0 / device.clock.value;
  add_streams(kernel);
}

void ScratchpadModel::add_streams(const ir::Kernel& kernel) {
  const hwdesc::MemoryLevel& memory = device_->main_memory();
  const auto in_main_memory = [&](const MemoryStream& stream) {
    return !is_resident(kernel.op(stream.op).shape, *device_);
  };
  const double run_cost = device_->engines.front().full_efficiency_run.value;
  for (const MemoryStream& input : input_streams(kernel, footprints_, memory.granule.value)) {
    inputs_.push_back({input, in_main_memory(input), false});
    inputs_.back().array.run_cost_bytes = run_cost;
  }
  const double small = kAccumulatorShare * device_->scratchpad().capacity.value;
  for (const MemoryStream& output : output_streams(kernel, footprints_, memory.granule.value)) {
    const bool resident = revisited(output.loops) && whole_bytes(output.array) <= small;
    outputs_.push_back({output, in_main_memory(output), resident});
    outputs_.back().array.run_cost_bytes = run_cost;
  }
}

// Does an outer loop come back to the same tile of a result after inner loops moved away from it?
bool ScratchpadModel::revisited(std::uint32_t loops) const {
  bool outside = false;
  for (const int loop : space_.order) {
    const bool moves_tile = (loops >> loop & 1U) != 0;
    if (moves_tile && outside) return true;
    outside = outside || (!moves_tile && !space_.loops[loop].reduction);
  }
  return false;
}

ScratchpadModel::Shape ScratchpadModel::prepare(const TileConfig& tile,
                                                std::span<Extents> groups) const {
  Shape shape;
  shape.extents = tile_extents(space_, tile);
  shape.trips.fill(1);
  for (std::size_t i = 0; i < space_.loops.size(); ++i) {
    shape.trips[i] = (space_.loops[i].size + shape.extents[i] - 1) / shape.extents[i];
  }
  footprints_.evaluate(shape.extents, groups);
  shape.scratchpad_bytes = footprint_bytes(shape, groups);
  return shape;
}

double ScratchpadModel::footprint_bytes(const Shape& shape, std::span<const Extents> groups) const {
  double bytes = 0;
  std::uint32_t cut = 0;
  bool split = false;
  for (std::size_t i = 0; i < space_.loops.size(); ++i) {
    if (shape.trips[i] <= 1) continue;
    cut |= 1U << i;
    split = split || space_.loops[i].reduction;
  }
  const auto add = [&](const Stream& stream) {
    const double buffers = (stream.loops & cut) != 0 ? stages_ : 1;
    bytes += buffers * resident_bytes(stream.array, groups[stream.group]);
  };
  for (const Stream& stream : inputs_) add(stream);
  for (const Stream& stream : outputs_) {
    if (stream.resident) {
      bytes += whole_bytes(stream.array);
    } else {
      add(stream);
    }
  }
  if (split) bytes += compute_.accumulator_bytes(groups);
  return bytes;
}

ScratchpadModel::Uses ScratchpadModel::uses(const Shape& shape, std::span<const Extents> groups,
                                            BoundMask removed) const {
  const auto drop = [removed](UnitCycles cycles) {
    if (has(removed, Bound::kMatrix)) cycles.matrix = 0;
    if (has(removed, Bound::kVector)) cycles.vector = 0;
    if (has(removed, Bound::kTranscendental)) cycles.transcendental = 0;
    if (has(removed, Bound::kCrossLane)) cycles.cross_lane = 0;
    if (has(removed, Bound::kOnChip)) cycles.on_chip = 0;
    return cycles;
  };
  Uses use;
  UnitCycles after = compute_.epilogue(groups);
  if (space_.matrix) {
    use.iteration = compute_.prologue(groups);
    if (compute_.has_matrix_work()) {
      use.iteration.matrix += compute_.matrix_cycles(shape.extents);
    } else {
      use.iteration.vector += compute_.vector_matrix_cycles(shape.extents);
    }
    for (std::size_t i = 0; i < space_.loops.size(); ++i) {
      if (!space_.loops[i].reduction || shape.trips[i] <= 1) continue;
      const UnitCycles partial = compute_.accumulate(groups);
      use.iteration.vector += partial.vector;
      use.iteration.on_chip += partial.on_chip;
      break;
    }
    use.iteration = drop(use.iteration);
    use.finish = drop(after);
    use.finish_s = compute_.overlapped(use.finish) * cycle_s_;
  } else {
    use.iteration = drop(after);
  }
  use.iteration_s = compute_.overlapped(use.iteration) * cycle_s_;
  return use;
}

void ScratchpadModel::add(const Stream& stream, std::span<const Extents> groups, double rate,
                          Moves::Way& way) const {
  const Extents& region = groups[stream.group];
  const double bytes = region_bytes(stream.array, region);
  way.bytes += bytes;
  way.engine_s += bytes / (rate * run_efficiency(stream.array, region));
  way.transfers += 1;
}

ScratchpadModel::Moves ScratchpadModel::moves(std::uint32_t changed,
                                              std::span<const Extents> groups) const {
  Moves moved;
  for (const Stream& stream : inputs_) {
    if (stream.in_main_memory && (stream.loops & changed) != 0) {
      add(stream, groups, read_rate_, moved.read);
    }
  }
  for (const Stream& stream : outputs_) {
    if (stream.in_main_memory && !stream.resident && (stream.loops & changed) != 0) {
      add(stream, groups, write_rate_, moved.write);
    }
  }
  return moved;
}

// The core issues the transfers and runs the loop besides computing; the engine moves bytes.
double ScratchpadModel::period_s(const Moves& moved, double use_s, BoundMask removed) const {
  const double load = has(removed, Bound::kHbmRead) ? 0 : moved.read.engine_s;
  const double store = has(removed, Bound::kHbmWrite) ? 0 : moved.write.engine_s;
  const double path = full_duplex_ ? std::max(load, store) : load + store;
  const double issue = has(removed, Bound::kIssue) ? 0 : setup_s_ * moved.transfers();
  const double core = use_s + issue + (has(removed, Bound::kOverhead) ? 0 : overhead_s_);
  const bool waits = moved.read.transfers > 0 && !has(removed, Bound::kLatency);
  const double round_trip = (waits ? latency_s_ : 0) + load + core;
  return steady_period_s(
      {.busy_s = std::max(path, core), .round_trip_s = round_trip, .stages = stages_});
}

double ScratchpadModel::transitions_s(const Shape& shape, const Uses& use,
                                      std::span<const Extents> groups, BoundMask removed,
                                      Tally* tally) const {
  int ragged[kMaxRagged];
  int ragged_count = 0;
  std::uint32_t ragged_loops = 0;
  for (const int loop : space_.order) {
    const bool is_ragged =
        shape.trips[loop] > 1 && space_.loops[loop].size % shape.extents[loop] != 0;
    if (!is_ragged || ragged_count == kMaxRagged) continue;
    ragged[ragged_count++] = loop;
    ragged_loops |= 1U << loop;
  }
  GroupExtents edge_storage(groups.size(), boost::container::default_init);
  double total = 0;
  for (int combination = 0; combination < 1 << ragged_count; ++combination) {
    LoopSizes extents = shape.extents;
    std::uint32_t edges = 0;  // loops at their last, smaller tile
    for (int i = 0; i < ragged_count; ++i) {
      if ((combination >> i & 1) == 0) continue;
      edges |= 1U << ragged[i];
      extents[ragged[i]] = space_.loops[ragged[i]].size % shape.extents[ragged[i]];
    }
    std::span<const Extents> region = groups;
    if (combination != 0) {
      const std::span<Extents> edge(edge_storage.data(), edge_storage.size());
      footprints_.evaluate(extents, edge);
      region = edge;
    }
    double outer = 1;  // positions of the outer loops that are at their edge as `edges` says
    for (std::size_t position = 0; position < space_.order.size(); ++position) {
      const int loop = space_.order[position];
      const double trips = static_cast<double>(shape.trips[loop]);
      if (trips <= 1) continue;
      const bool at_edge = (edges >> loop & 1U) != 0;
      const double positions = at_edge ? 1 : trips - static_cast<double>(ragged_loops >> loop & 1U);
      const double arrivals = at_edge ? 1 : positions - 1;
      const double weight = outer * arrivals;
      outer *= positions;
      edges &= ~(1U << loop);
      if (edges != 0 || weight == 0) continue;  // inner loops restart with a whole tile
      std::uint32_t changed = 0;
      for (std::size_t p = position; p < space_.order.size(); ++p) {
        if (shape.trips[space_.order[p]] > 1) changed |= 1U << space_.order[p];
      }
      const bool finishes = !space_.loops[loop].reduction;
      const Moves moved = moves(changed, region);
      const double use_s = use.iteration_s + (finishes ? use.finish_s : 0);
      const double period = period_s(moved, use_s, removed);
      total += weight * period;
      if (tally != nullptr) tally_period(moved, use, finishes, weight, period, removed, *tally);
    }
  }
  return total;
}

double ScratchpadModel::ends_s(const Uses& use, std::span<const Extents> groups, BoundMask removed,
                               Tally* tally) const {
  Moves first;
  for (const Stream& stream : inputs_) {
    if (stream.in_main_memory) add(stream, groups, read_rate_, first.read);
  }
  for (const Stream& stream : outputs_) {
    if (!stream.in_main_memory) continue;
    if (!stream.resident) {
      add(stream, groups, write_rate_, first.write);
      continue;
    }
    const double bytes = whole_bytes(stream.array);
    first.write.bytes += bytes;
    first.write.engine_s += bytes / write_rate_;
    first.write.transfers += 1;
  }
  const double latency = has(removed, Bound::kLatency) ? 0 : latency_s_;
  const double read = has(removed, Bound::kHbmRead) ? 0 : first.read.engine_s;
  const double write = has(removed, Bound::kHbmWrite) ? 0 : first.write.engine_s;
  const double ends = has(removed, Bound::kFillDrain)
                          ? 0
                          : (first.read.transfers > 0 ? latency + read : 0) +
                                (first.write.transfers > 0 ? latency + write : 0);
  // The first loads and the last stores are issued too, by a core that has nothing else to do.
  const double issue = has(removed, Bound::kIssue) ? 0 : setup_s_ * first.transfers();
  const double overhead = has(removed, Bound::kOverhead) ? 0 : overhead_s_;
  const double last_use = use.iteration_s + use.finish_s;
  if (tally != nullptr) {
    tally_period({}, use, true, 1, last_use, removed | 1U << index_of(Bound::kOverhead), *tally);
    tally->busy[index_of(Bound::kIssue)] += Seconds{issue};
    tally->blame[index_of(Bound::kIssue)] += issue;
    tally->busy[index_of(Bound::kOverhead)] += Seconds{overhead};
    tally->blame[index_of(Bound::kOverhead)] += overhead;
    tally->busy[index_of(Bound::kFillDrain)] += Seconds{ends};
    tally->blame[index_of(Bound::kFillDrain)] += ends;
    tally->read_bytes += first.read.bytes;
    tally->write_bytes += first.write.bytes;
  }
  return ends + issue + overhead + last_use;
}

double ScratchpadModel::run_s(const TileConfig& tile, BoundMask removed, Tally* tally,
                              bool may_spill) const {
  GroupExtents storage(footprints_.groups().size(), boost::container::default_init);
  const std::span<Extents> groups(storage.data(), storage.size());
  const Shape shape = prepare(tile, groups);
  const double excess = shape.scratchpad_bytes - device_->scratchpad().capacity.value;
  if (excess > 0 && !may_spill) return std::numeric_limits<double>::infinity();
  const double spill_s = excess > 0 ? excess / write_rate_ + excess / read_rate_ : 0;
  const Uses use = uses(shape, groups, removed);
  const double launch = has(removed, Bound::kOverhead) ? 0 : device_->dispatch.kernel_launch.value;
  if (tally != nullptr) {
    tally->busy[index_of(Bound::kOverhead)] += Seconds{launch};
    tally->blame[index_of(Bound::kOverhead)] += launch;
    tally->busy[index_of(Bound::kHbmWrite)] += Seconds{spill_s};
    tally->blame[index_of(Bound::kHbmWrite)] += spill_s;
  }
  return launch + spill_s + transitions_s(shape, use, groups, removed, tally) +
         ends_s(use, groups, removed, tally);
}

std::vector<TileConfig> ScratchpadModel::candidates(std::size_t limit) const {
  return candidate_tiles(space_, limit);
}

double ScratchpadModel::time_s(const TileConfig& tile) const {
  return run_s(tile, 0, nullptr);
}

double ScratchpadModel::iterations(const TileConfig& tile) const {
  return tile_count(space_, tile_extents(space_, tile));
}

double ScratchpadModel::least_iteration_s() const {
  const hwdesc::MatrixUnit& unit = device_->matrix;
  const double fill = compute_.has_matrix_work() ? unit.weight_load.value + unit.fill.value : 0;
  return overhead_s_ + fill * cycle_s_;
}

double ScratchpadModel::scratchpad_bytes(const TileConfig& tile) const {
  GroupExtents storage(footprints_.groups().size(), boost::container::default_init);
  return prepare(tile, {storage.data(), storage.size()}).scratchpad_bytes;
}

std::string ScratchpadModel::infeasible_reason(const TileConfig& tile) const {
  const hwdesc::MemoryLevel& scratchpad = device_->scratchpad();
  const double bytes = scratchpad_bytes(tile);
  if (bytes <= scratchpad.capacity.value) return {};
  constexpr double kMiB = 1024.0 * 1024.0;
  return fmt::format(
      "needs {:.2f} MiB of {} ({} stages of every cut operand), {:.2f} MiB available", bytes / kMiB,
      scratchpad.name, stages_, scratchpad.capacity.value / kMiB);
}

}  // namespace tilecast::analytical
