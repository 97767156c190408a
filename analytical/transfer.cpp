#include "analytical/transfer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/math.h"
#include "ir/kernels/in_place_update.h"

namespace tilecast::analytical {
namespace {

double padded_extent(const StoredArray& array, const Extents& extents, int position) {
  const std::int64_t tile = array.tile[position];
  const std::int64_t extent = extents[array.minor_first[position]];
  if (tile <= 1) return static_cast<double>(extent);
  return static_cast<double>(base::round_up(extent, tile));
}

MemoryStream stream_of(const ir::Kernel& kernel, const Footprints& footprints, ir::OpId id,
                       double granule_bytes) {
  const int group = footprints.group_of(id);
  const StoredArray array = stored_array(kernel.op(id).shape, granule_bytes);
  return {.array = array,
          .group = group,
          .loops = footprints.groups()[group].loops,
          .op = id,
          .once_bytes = whole_bytes(array)};
}

// Stream of the target tiles that an update falls into. For a scatter they lie anywhere, with the
// layout of its updates.
MemoryStream update_stream(const ir::Kernel& kernel, const Footprints& footprints,
                           const ir::InPlaceUpdate& update, double granule_bytes) {
  MemoryStream stream = stream_of(kernel, footprints, update.update, granule_bytes);
  stream.op = update.target;
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

bool is_target(const ir::Op& op, ir::OpId id) {
  if (op.opcode == ir::Opcode::kBitcast || op.opcode == ir::Opcode::kReshape) return true;
  const bool scatters = op.opcode == ir::Opcode::kScatter;
  if (!scatters && op.opcode != ir::Opcode::kDynamicUpdateSlice) return false;
  const auto targets = static_cast<std::ptrdiff_t>(scatters ? op.operands.size() / 2 : 1);
  const auto first = op.operands.begin();
  return std::find(first, first + targets, id) != first + targets &&
         std::find(first + targets, op.operands.end(), id) == op.operands.end();
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

}  // namespace tilecast::analytical
