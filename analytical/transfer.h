// Data that a kernel moves between memory levels: its arrays, and the bytes of their regions as the
// memory system sees them.
//
// A region of an array moves in its device layout: minor dimensions padded to the layout's first
// tiling (a window narrower than a tile still moves whole tiles), every contiguous run rounded up
// to the memory's granule, so short runs waste bandwidth. On some engines every run also costs the
// time of `run_cost_bytes`: a run reaches run / (run + run_cost_bytes) of the rate. An engine whose
// descriptors hold few strides needs several for a region with more strides, and processes them one
// by one: seconds = max(bytes / rate, descriptors * hwdesc::TransferEngine::descriptor). A transfer
// to or from a scratchpad has such a cost as well (TransferEngine::full_efficiency_transfer).
// Sources: XLA tiled layouts (openxla.org/xla/tiled_layout); strides of a descriptor: Jouppi et
// al., ISCA 2021.
#pragma once

#include <vector>

#include "analytical/accounting.h"
#include "analytical/footprint.h"
#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

// The path between a memory level and the one inside it: bytes per second, efficiency applied.
struct MemoryPath {
  double read = 1, write = 1;
  double latency_s = 0;
  bool full_duplex = false;

  // Busy time of the path, given those of its reads and writes.
  [[nodiscard]] double busy_s(double read_s, double write_s) const {
    return full_duplex ? std::max(read_s, write_s) : read_s + write_s;
  }
  // The path without the `removed` resources; `reads` and `writes` name this path's own.
  [[nodiscard]] MemoryPath without(BoundMask removed, Bound reads, Bound writes) const;
};
[[nodiscard]] MemoryPath memory_path(const hwdesc::MemoryLevel& level);
// For cores that write into caches: time saved by overlapping these reads and writes instead of
// doing them in turn. A line is fetched before it is written, so lines arrive at the read rate, and
// pure writes move twice as many bytes: max((R + W) / read, (R / 2 + W) / write).
[[nodiscard]] double saved_beside_s(const MemoryPath& path, double read_bytes, double write_bytes);

// Memory layout of one array, prepared once per kernel.
struct StoredArray {
  int rank = 0;
  std::array<std::int8_t, kMaxRank> minor_first{};  // dimension numbers
  std::array<std::int64_t, kMaxRank> size{};        // per position, minor first
  std::array<std::int64_t, kMaxRank> tile{};        // padding multiple per position, minor first
  double element_bytes = 0;
  double tile_bytes = 0;  // per native tile, or per element without tiles
  double granule_bytes = 1;
  double run_cost_bytes = 0;
  int descriptor_strides = 0;  // as hwdesc::TransferEngine's
};

[[nodiscard]] StoredArray stored_array(const ir::Shape& shape, double granule_bytes);

// Length in bytes of the contiguous runs of a region of `extents` elements per dimension, whole
// tiles.
[[nodiscard]] double contiguous_bytes(const StoredArray& array, const Extents& extents);
// Bytes of the array between the end of one such run and the start of the next; 0 when the region
// is one run.
[[nodiscard]] double gap_bytes(const StoredArray& array, const Extents& extents);
// Bytes moved for such a region.
[[nodiscard]] double region_bytes(const StoredArray& array, const Extents& extents);
// Share of the full rate at which the region's runs move, (0, 1].
[[nodiscard]] double run_efficiency(const StoredArray& array, const Extents& extents);
// Number of descriptors for the region's runs; each holds the runs along its strides.
[[nodiscard]] double descriptors(const StoredArray& array, const Extents& extents);
struct WindowCost {                // of moving one region through an engine
  double bytes = 0, engine_s = 0;  // cost of short runs included in engine_s
};
// `rate`: bytes per second.
[[nodiscard]] WindowCost window_cost(const StoredArray& array, const Extents& extents, double rate,
                                     const hwdesc::TransferEngine& engine);
// Bytes of the same region in the scratchpad (padded, no granule).
[[nodiscard]] double resident_bytes(const StoredArray& array, const Extents& extents);
// Time of main memory for runs of `run` bytes, one per row of `stride` bytes, relative to one long
// run: rows further apart than a memory page (2 KiB) open a page, which costs `run_cost` bytes,
// further than an address page (64 KiB) 1.5 times that in addition, closer rows a share.
[[nodiscard]] double strided_slowdown(double run, double stride, double run_cost);
// Attained share of `rate`, bytes per second: at most the bytes that `workers` have outstanding,
// per latency (Little's law).
[[nodiscard]] double attained(double rate, const hwdesc::TransferEngine& engine, double latency_s,
                              double workers = 1);
// Bytes of the whole array, padded.
[[nodiscard]] double whole_bytes(const StoredArray& array);

// An array that a kernel reads from or writes to memory, with the loops that move its tile.
struct MemoryStream {
  StoredArray array;
  int group = 0;
  std::uint32_t loops = 0;  // bit per loop whose step moves the tile
  ir::OpId op;
  double once_bytes = 0;       // the whole array, or the part updated in place; padded
  bool part_of_tiles = false;  // an in-place update that fills its native tiles only partly
  std::size_t level = 0;       // of the device's memory, where it is found (ir::Layout::cache)
  [[nodiscard]] bool moved_by(std::size_t loop) const { return (loops >> loop & 1U) != 0; }
  [[nodiscard]] bool moved_by_any(const std::vector<int>& of) const {
    return std::ranges::any_of(of, [&](int loop) { return moved_by(loop); });
  }
};

// Parameters that are read, except those that are only updated in place, passed through or unused;
// plus the targets of in-place updates that fill native tiles only partly.
[[nodiscard]] std::vector<MemoryStream> input_streams(const ir::Kernel& kernel,
                                                      const Footprints& footprints,
                                                      double granule_bytes);
// Results that are written, not passed through. An in-place update (ir/kernels/in_place_update.h)
// writes the target tiles it falls into; tiles that it fills only partly, or combines with old
// values, are read first (input_streams).
[[nodiscard]] std::vector<MemoryStream> output_streams(const ir::Kernel& kernel,
                                                       const Footprints& footprints,
                                                       double granule_bytes);

// The least main-memory traffic: every distinct byte that the outputs need once, every byte written
// once, without padding or repeated loads. Slices and gathers need what they return (XLA's rule for
// reads of fusions), in-place updates the update, windows what they touch. Uses of the same data
// share it; slices of one array add up. Values resident in on-chip memory cost nothing.
struct Traffic {
  Bytes read, write;
};

[[nodiscard]] Traffic distinct_traffic(const ir::Kernel& kernel, const hwdesc::Device& device);

// The same over the link to the host: arrays in S(5), and all arrays of computations on the host.
// Zero on a processor, which is the host.
[[nodiscard]] Traffic host_traffic(const ir::Kernel& kernel, const hwdesc::Device& device);

// Per op, the share of its elements that the outputs need, [0, 1].
[[nodiscard]] std::vector<double> needed_shares(const ir::Kernel& kernel);

inline constexpr int kSyncFlags = 2;  // HLO space S(2) of cores with a scratchpad

// Whether the array costs no main-memory traffic: a level below main memory holds its space S(n)
// (MemoryLevel::memory_space), or it is in host memory. Other spaces are in main memory, except
// sync flags S(2) and scalars S(6) of cores with a scratchpad. So does what is found in a cache.
[[nodiscard]] bool is_resident(const ir::Shape& shape, const hwdesc::Device& device);

}  // namespace tilecast::analytical
