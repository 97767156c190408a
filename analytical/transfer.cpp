#include "analytical/transfer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "analytical/iteration_space.h"
#include "base/math.h"
#include "ir/array_elements.h"
#include "ir/kernels/in_place_update.h"
#include "ir/memory/memory_use.h"

namespace tilecast::analytical {
namespace {

double padded_extent(const StoredArray& array, const Extents& extents, int position) {
  const std::int64_t tile = array.tile[position];
  const std::int64_t extent = extents[array.minor_first[position]];
  if (tile <= 1) return static_cast<double>(extent);
  return static_cast<double>(base::round_up(extent, tile));
}

std::size_t found_in(const ir::Shape& shape) {
  return shape.layout ? static_cast<std::size_t>(shape.layout->cache) : 0;
}

MemoryStream stream_of(const ir::Kernel& kernel, const Footprints& footprints, ir::OpId id,
                       double granule_bytes) {
  const int group = footprints.group_of(id);
  const ir::Shape& shape = kernel.op(id).shape;
  const StoredArray array = stored_array(shape, granule_bytes);
  return {.array = array,
          .group = group,
          .loops = footprints.groups()[group].loops,
          .op = id,
          .once_bytes = whole_bytes(array),
          .level = found_in(shape)};
}

// Stream of the target tiles that an update falls into. For a scatter they lie anywhere, with the
// layout of its updates.
MemoryStream update_stream(const ir::Kernel& kernel, const Footprints& footprints,
                           const ir::InPlaceUpdate& update, double granule_bytes) {
  MemoryStream stream = stream_of(kernel, footprints, update.update, granule_bytes);
  stream.op = update.target;
  stream.level = found_in(kernel.op(update.op).shape);
  stream.part_of_tiles = update.reads;
  if (update.reads) return stream;
  const ir::Dims& part = kernel.op(update.update).shape.dims;
  stream.array = stored_array(kernel.op(update.op).shape, granule_bytes);
  Extents written;
  written.fill(1);
  for (int i = 0; i < stream.array.rank; ++i) {
    const std::int64_t size = part[stream.array.minor_first[i]];
    written[stream.array.minor_first[i]] = std::max<std::int64_t>(size, 1);
    const bool fills = size % stream.array.tile[i] == 0 || size == stream.array.size[i];
    stream.part_of_tiles = stream.part_of_tiles || !fills;
  }
  stream.once_bytes = region_bytes(stream.array, written);
  return stream;
}

// Whether the op passes `id` on or replaces elements of it, and reads nothing of it.
bool is_target(const ir::Op& op, ir::OpId id) {
  if (ir::has(op.opcode, ir::Trait::kReshapes)) return true;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    if (op.operands[i] != id) continue;
    if (ir::operand_use(op.opcode, op.operands.size(), i) != ir::OperandUse::kTarget) return false;
  }
  return true;
}

// Whether a parameter is never read: unused, passed through or only updated in place.
bool stays_unread(const ir::Kernel& kernel, std::size_t parameter) {
  const ir::OpId id = kernel.parameters()[parameter];
  const auto passed_on = passed_through(kernel);
  const bool in_place = std::ranges::any_of(
      kernel.in_place(), [&](const auto& pair) { return pair.second == parameter; });
  const auto unread = [&](const auto& unread_by, ir::OpId read) -> bool {
    return std::ranges::all_of(kernel.users(read), [&](ir::OpId user) {
      if (std::ranges::find(passed_on, user) != passed_on.end()) return true;
      return in_place && is_target(kernel.op(user), read) && unread_by(unread_by, user);
    });
  };
  return unread(unread, id) && std::ranges::find(kernel.outputs(), id) == kernel.outputs().end();
}

}  // namespace

MemoryPath memory_path(const hwdesc::MemoryLevel& level) {
  return {.read = level.sustained_read().value,
          .write = level.sustained_write().value,
          .latency_s = level.latency.value,
          .full_duplex = level.full_duplex};
}

double saved_beside_s(const MemoryPath& path, double read_bytes, double write_bytes) {
  const double lines_in = (read_bytes + write_bytes) / path.read;
  const double carried = (read_bytes / 2 + write_bytes) / path.write;
  const double in_turn = path.busy_s(read_bytes / path.read, write_bytes / path.write);
  return std::max(0.0, in_turn - std::max(lines_in, carried));
}

MemoryPath MemoryPath::without(BoundMask removed, Bound reads, Bound writes) const {
  constexpr double kFree = std::numeric_limits<double>::infinity();
  return {.read = has(removed, reads) ? kFree : read,
          .write = has(removed, writes) ? kFree : write,
          .latency_s = kept_s(removed, Bound::kLatency, latency_s),
          .full_duplex = full_duplex};
}

StoredArray stored_array(const ir::Shape& shape, double granule_bytes) {
  StoredArray array;
  array.rank = std::min(shape.rank(), kMaxRank);
  array.granule_bytes = granule_bytes;
  array.element_bytes = shape.layout && shape.layout->element_bits > 0
                            ? shape.layout->element_bits / 8.0
                            : ir::storage_bytes(shape.dtype);
  const ir::Dims order = physical_order(shape);
  ir::Dims tile;
  if (shape.layout && !shape.layout->tiles.empty()) tile = shape.layout->tiles.front();
  for (int i = 0; i < array.rank; ++i) {
    const auto dim = shape.rank() > kMaxRank ? array.rank - 1 - i : order[shape.rank() - 1 - i];
    array.minor_first[i] = static_cast<std::int8_t>(dim);
    array.size[i] = std::max<std::int64_t>(shape.dims[dim], 1);
    const bool tiled = i < static_cast<int>(tile.size());
    array.tile[i] = tiled ? std::max<std::int64_t>(tile[tile.size() - 1 - i], 1) : 1;
  }
  if (array.rank == 0 && !tile.empty()) {  // scalars take one tile
    array.element_bytes *= static_cast<double>(std::max<std::int64_t>(tile.back(), 1));
  }
  array.tile_bytes = array.element_bytes;
  for (int i = 0; i < array.rank; ++i) {
    array.tile_bytes *= static_cast<double>(std::max<std::int64_t>(array.tile[i], 1));
  }
  return array;
}

WindowCost window_cost(const StoredArray& array, const Extents& extents, double rate,
                       const hwdesc::TransferEngine& engine) {
  WindowCost cost{.bytes = region_bytes(array, extents)};
  const double listed = std::isinf(rate) ? 0 : descriptors(array, extents) - 1;
  const double moved =
      cost.bytes / run_efficiency(array, extents) + engine.full_efficiency_transfer.value;
  cost.engine_s = std::max(moved / rate, listed * engine.descriptor.value);
  return cost;
}

double resident_bytes(const StoredArray& array, const Extents& extents) {
  double bytes = array.element_bytes;
  for (int i = 0; i < array.rank; ++i) bytes *= padded_extent(array, extents, i);
  return bytes;
}

double attained(double rate, const hwdesc::TransferEngine& engine, double latency_s,
                double workers) {
  const double limit = workers * engine.in_flight.value;
  return limit > 0 && latency_s > 0 ? std::min(rate, limit / latency_s) : rate;
}

double strided_slowdown(double run, double stride, double run_cost) {
  constexpr double kChipPage = 2048, kAddressPage = 65536, kAddressCost = 1.5;
  const double opened = std::min(stride / kChipPage, 1.0);
  const double translated = kAddressCost * std::min(stride / kAddressPage, 1.0);
  return 1 + (opened + translated) * run_cost / run;
}

double whole_bytes(const StoredArray& array) {
  Extents whole;
  whole.fill(1);
  for (int i = 0; i < array.rank; ++i) whole[array.minor_first[i]] = array.size[i];
  return resident_bytes(array, whole);
}

double contiguous_bytes(const StoredArray& array, const Extents& extents) {
  double run = array.tile_bytes;
  for (int i = 0; i < array.rank; ++i) {
    const std::int64_t extent = extents[array.minor_first[i]];
    run *= static_cast<double>(array.tile[i] > 1 ? base::ceil_div(extent, array.tile[i]) : extent);
    if (extent < array.size[i]) break;
  }
  return run;
}

double gap_bytes(const StoredArray& array, const Extents& extents) {
  const double run = contiguous_bytes(array, extents);
  for (int i = 0; i < array.rank; ++i) {
    if (extents[array.minor_first[i]] >= array.size[i]) continue;
    Extents whole = extents;
    whole[array.minor_first[i]] = array.size[i];
    const double tile = padded_extent(array, extents, i);
    return run * (padded_extent(array, whole, i) / tile - 1);
  }
  return 0;
}

double run_efficiency(const StoredArray& array, const Extents& extents) {
  if (array.run_cost_bytes <= 0) return 1;
  const double run = contiguous_bytes(array, extents);
  return run / (run + array.run_cost_bytes);
}

double descriptors(const StoredArray& array, const Extents& extents) {
  if (array.descriptor_strides == 0 || array.rank <= array.descriptor_strides + 1) return 1;
  int strides = 0;
  double count = 1;
  bool in_run = true;
  bool joined = false;  // does the next dimension continue at the same stride?
  for (int i = 0; i < array.rank; ++i) {
    const std::int64_t tile = std::max<std::int64_t>(array.tile[i], 1);
    const std::int64_t extent = extents[array.minor_first[i]];
    const bool whole = extent >= array.size[i];
    if (!in_run && extent > tile) {
      if (!joined) ++strides;
      if (strides > array.descriptor_strides) {
        count *= static_cast<double>(base::ceil_div(extent, tile));
      }
      joined = true;
    }
    in_run = in_run && whole;
    joined = joined && whole;
  }
  return count;
}

double region_bytes(const StoredArray& array, const Extents& extents) {
  double run = array.element_bytes;
  double runs = 1;
  bool contiguous = true;
  for (int i = 0; i < array.rank; ++i) {
    const double extent = padded_extent(array, extents, i);
    (contiguous || array.tile[i] > 1 ? run : runs) *= extent;
    contiguous = contiguous && extents[array.minor_first[i]] >= array.size[i];
  }
  if (array.granule_bytes <= 1) return run * runs;
  return base::ceil(run / array.granule_bytes) * array.granule_bytes * runs;
}

std::vector<MemoryStream> input_streams(const ir::Kernel& kernel, const Footprints& footprints,
                                        double granule_bytes) {
  std::vector<MemoryStream> streams;
  for (std::size_t i = 0; i < kernel.parameters().size(); ++i) {
    const ir::OpId id = kernel.parameters()[i];
    if (stays_unread(kernel, i) || !kernel.op(id).shape.is_array()) continue;
    streams.push_back(stream_of(kernel, footprints, id, granule_bytes));
  }
  for (const MemoryStream& output : output_streams(kernel, footprints, granule_bytes)) {
    if (output.part_of_tiles) streams.push_back(output);
  }
  return streams;
}

std::vector<MemoryStream> output_streams(const ir::Kernel& kernel, const Footprints& footprints,
                                         double granule_bytes) {
  std::vector<MemoryStream> streams;
  const auto passed_on = passed_through(kernel);
  for (const ir::OpId id : kernel.outputs()) {
    if (!kernel.op(id).shape.is_array() || std::ranges::find(passed_on, id) != passed_on.end()) {
      continue;
    }
    const auto updates = ir::in_place_updates(kernel, id);
    if (updates.empty()) streams.push_back(stream_of(kernel, footprints, id, granule_bytes));
    for (const ir::InPlaceUpdate& update : updates) {
      streams.push_back(update_stream(kernel, footprints, update, granule_bytes));
    }
  }
  return streams;
}

namespace {

using ir::array_elements;
using ir::Op;
using ir::Opcode;
using ir::OpId;

double ratio(double part, double whole) {
  return whole > 0 ? std::min(1.0, part / whole) : 0;
}

bool only_renames(Opcode opcode) {
  return ir::has(opcode, ir::Trait::kReshapes) || opcode == Opcode::kGetTupleElement ||
         opcode == Opcode::kTuple;
}

OpId behind_renames(const ir::Kernel& kernel, OpId id) {
  while (only_renames(kernel.op(id).opcode) && kernel.op(id).operands.size() == 1) {
    id = kernel.op(id).operands[0];
  }
  return id;
}

// Ops whose value leaves the kernel and is not read inside it: an in-place update of such a value
// reads neither the elements it replaces nor those it keeps.
std::vector<bool> values_only_written(const ir::Kernel& kernel) {
  std::vector<bool> is_output(kernel.ops().size());
  for (const OpId id : kernel.outputs()) is_output[id.index()] = true;
  std::vector<bool> only(kernel.ops().size());
  for (std::size_t i = kernel.ops().size(); i-- > 0;) {
    const auto users = kernel.users(OpId(i));
    const bool passed_on = std::all_of(users.begin(), users.end(), [&](OpId user) {
      return only_renames(kernel.op(user).opcode) && only[user.index()];
    });
    only[i] = passed_on && (is_output[i] || !users.empty());
  }
  return only;
}

// Lower bound on the share of one input dimension that the windows of all outputs touch.
double touched_share(std::int64_t input, std::int64_t output, const ir::WindowDim& window) {
  if (input <= 0) return 0;
  double touched = static_cast<double>(ir::valid_positions(input, output, window));
  if (window.base_dilation == 1) {
    const std::int64_t grid = std::gcd(window.stride, window.window_dilation);
    touched = std::min(touched, std::ceil(static_cast<double>(input) / static_cast<double>(grid)));
  }
  return ratio(touched, static_cast<double>(input));
}

// Share of the first operand that the windows of a convolution or reduce-window touch.
double windowed_share(const ir::Kernel& kernel, const Op& op) {
  const auto* conv = op.get<ir::ConvAttrs>();
  const auto* pool = op.get<ir::WindowAttrs>();
  if ((conv == nullptr && pool == nullptr) || op.operands.empty()) return 1;
  const ir::Shape& input = kernel.op(op.operands[0]).shape;
  const ir::Window& window = conv != nullptr ? conv->window : pool->window;
  const std::size_t rank = conv == nullptr
                               ? window.size()
                               : std::min({window.size(), conv->dims.input_spatial.size(),
                                           conv->dims.output_spatial.size()});
  double share = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto in = conv == nullptr ? i : static_cast<std::size_t>(conv->dims.input_spatial[i]);
    const auto out = conv == nullptr ? i : static_cast<std::size_t>(conv->dims.output_spatial[i]);
    if (in >= input.dims.size() || out >= op.shape.dims.size()) return 1;
    share *= touched_share(input.dims[in], op.shape.dims[out], window[i]);
  }
  return share;
}

// How an op needs an operand: as a piece of its own, or as data that other uses may share.
struct Need {
  double share = 0;
  bool piece = false;
};

// Share of the first operand that a picking op reads when `share` of its results is needed.
double picked_share(const ir::Kernel& kernel, const Op& op, double share) {
  return ratio(share * array_elements(op.shape), array_elements(kernel.op(op.operands[0]).shape));
}

// Share needed of the target of an update: the elements it keeps, if those are read, and those a
// scatter combines with.
double target_share(const ir::Kernel& kernel, const Op& op, std::size_t target, double share,
                    bool only_written) {
  const auto update = ir::replacement_of(op.opcode, op.operands.size(), target);
  if (!update) return share;
  const bool scatters = op.opcode == Opcode::kScatter;
  const double updated = ratio(array_elements(kernel.op(op.operands[*update]).shape),
                               array_elements(kernel.op(op.operands[target]).shape));
  if (only_written) return scatters ? share * updated : 0;
  return share * (scatters ? 1 : 1 - updated);
}

Need need_of(const ir::Kernel& kernel, const Op& op, std::size_t operand, double share,
             bool only_written) {
  const ir::OperandUse use = ir::operand_use(op.opcode, op.operands.size(), operand);
  if (use == ir::OperandUse::kPart) return {picked_share(kernel, op, share), true};
  if (use == ir::OperandUse::kTarget) {
    return {target_share(kernel, op, operand, share, only_written), false};
  }
  if (operand == 1 && multiplies_groups(op)) {
    const ir::Dims& matrices = kernel.op(op.operands[1]).shape.dims;
    const std::int64_t groups = matrices[op.as<ir::DotAttrs>().dims.rhs_group[0]];
    return {share * ratio(groups_met(kernel, op).count, static_cast<double>(groups)), false};
  }
  if (operand != 0) return {share, false};
  if (op.opcode == Opcode::kPad) return {picked_share(kernel, op, share), false};  // may drop some
  const bool slides = op.opcode == Opcode::kConvolution || op.opcode == Opcode::kReduceWindow;
  return {slides ? share * windowed_share(kernel, op) : share, false};
}

// Share of an output that must be written: an in-place update writes only the update.
double written_share(const ir::Kernel& kernel, OpId id) {
  const OpId source = behind_renames(kernel, id);
  if (kernel.op(source).opcode == Opcode::kParameter) return 0;
  const auto updates = ir::in_place_updates(kernel, id);
  if (updates.empty()) return 1;
  double elements = 0;
  for (const ir::InPlaceUpdate& each : updates) {
    elements += array_elements(kernel.op(each.update).shape);
  }
  return ratio(elements, array_elements(kernel.op(id).shape));
}

template <class Counted>
Traffic traffic_of(const ir::Kernel& kernel, const Counted& counted) {
  const auto bytes = [&](OpId id) {
    const ir::Shape& shape = kernel.op(id).shape;
    return counted(shape) ? static_cast<double>(ir::unpadded_bytes(shape)) : 0.0;
  };
  const auto counts = [&](OpId id) { return bytes(id) > 0; };
  const bool reads = std::ranges::any_of(kernel.parameters(), counts);
  if (!reads && std::ranges::none_of(kernel.outputs(), counts)) return {};
  const std::vector<double> needed = needed_shares(kernel);
  Traffic traffic;
  for (const OpId id : kernel.parameters()) {
    traffic.read += Bytes{bytes(id) * needed[id.index()]};
  }
  std::vector<bool> written(kernel.ops().size());
  for (const OpId id : passed_through(kernel)) written[id.index()] = true;
  for (const OpId id : kernel.outputs()) {
    if (written[id.index()]) continue;
    written[id.index()] = true;
    traffic.write += Bytes{bytes(id) * written_share(kernel, id)};
  }
  return traffic;
}

}  // namespace

std::vector<double> needed_shares(const ir::Kernel& kernel) {
  const std::vector<bool> only_written = values_only_written(kernel);
  std::vector<double> shared(kernel.ops().size());
  std::vector<double> pieces(kernel.ops().size());
  for (const OpId id : kernel.outputs()) shared[id.index()] = 1;
  for (const OpId id : passed_through(kernel)) shared[id.index()] = 0;
  for (std::size_t i = kernel.ops().size(); i-- > 0;) {
    const Op& op = kernel.op(OpId(i));
    shared[i] = std::min(1.0, shared[i] + pieces[i]);
    for (std::size_t operand = 0; operand < op.operands.size(); ++operand) {
      const std::size_t source = op.operands[operand].index();
      const Need need = need_of(kernel, op, operand, shared[i], only_written[i]);
      if (need.piece) {
        pieces[source] += need.share;
      } else {
        shared[source] = std::max(shared[source], need.share);
      }
    }
  }
  return shared;
}

bool is_resident(const ir::Shape& shape, const hwdesc::Device& device) {
  constexpr int kScalars = 6;  // like the flags, in a small memory beside the levels
  if (shape.layout && shape.layout->cache > 0) return true;
  const int space = shape.memory_space();
  if (space == ir::kHostMemory && device.execution != hwdesc::Execution::kCache) return true;
  const auto level = std::ranges::find(device.memory, space, &hwdesc::MemoryLevel::memory_space);
  if (level != device.memory.end()) return level != device.memory.begin();
  return device.execution == hwdesc::Execution::kScratchpad &&
         (space == kSyncFlags || space == kScalars);
}

Traffic distinct_traffic(const ir::Kernel& kernel, const hwdesc::Device& device) {
  if (kernel.on_host()) return {};
  return traffic_of(kernel, [&](const ir::Shape& shape) { return !is_resident(shape, device); });
}

Traffic host_traffic(const ir::Kernel& kernel, const hwdesc::Device& device) {
  if (device.execution == hwdesc::Execution::kCache) return {};
  return traffic_of(kernel, [&](const ir::Shape& shape) {
    return kernel.on_host() || shape.memory_space() == ir::kHostMemory;
  });
}

}  // namespace tilecast::analytical
