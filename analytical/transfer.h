// What a kernel moves between memory levels: its arrays, and the bytes of their regions as the
// memory system sees them.
//
// A region of an array moves in its device layout: minor dimensions padded to the layout's first
// tiling (a window narrower than a tile still moves whole tiles), every contiguous run rounded up
// to the memory's granule, so short runs waste bandwidth. Where the engine says so, every run also
// costs the time of `run_cost_bytes` more: a run reaches run / (run + run_cost_bytes) of the rate.
// An engine whose descriptors hold few strides takes several for a region of more, and takes them
// up one by one: seconds = max(bytes / rate, descriptors * hwdesc::TransferEngine::descriptor).
// A whole transfer to or from a scratchpad likewise (TransferEngine::full_efficiency_transfer).
// Sources: XLA tiled layouts (openxla.org/xla/tiled_layout); DMA granules as in
// hwdesc::MemoryLevel, run cost as in hwdesc::TransferEngine::full_efficiency_run; strides of a
// descriptor: Jouppi et al., ISCA 2021 (two-dimensional DMA up to TPU v3, four-dimensional since).
#pragma once

#include "analytical/accounting.h"
#include "analytical/footprint.h"

namespace tilecast::analytical {

// The way between a memory level and the one inside it: bytes per second, efficiency applied.
struct MemoryPath {
  double read = 1, write = 1;
  double latency_s = 0;
  bool full_duplex = false;

  // How long it is taken by reads and writes that take it so long.
  [[nodiscard]] double busy_s(double read_s, double write_s) const {
    return full_duplex ? std::max(read_s, write_s) : read_s + write_s;
  }
  // With what `removed` takes away; reads and writes of this path count as these resources.
  [[nodiscard]] MemoryPath without(BoundMask removed, Bound reads, Bound writes) const;
};
[[nodiscard]] MemoryPath memory_path(const hwdesc::MemoryLevel& level);
// Of cores that write into caches: how much sooner such reads and writes are done side by side than
// in turn. A line is fetched before it is written, so lines come in at the rate of reads, and of
// what is written alone the memory carries twice as much: max((R + W) / read, (R / 2 + W) / write).
[[nodiscard]] double saved_beside_s(const MemoryPath& path, double read_bytes, double write_bytes);

// How one array lies in memory, prepared once per kernel.
struct StoredArray {
  int rank = 0;
  std::array<std::int8_t, kMaxRank> minor_first{};  // dimension numbers
  std::array<std::int64_t, kMaxRank> size{};        // by position, minor first
  std::array<std::int64_t, kMaxRank> tile{};        // padding multiple by position, minor first
  double element_bytes = 0;
  double tile_bytes = 0;  // of one native tile; of an element where there are none
  double granule_bytes = 1;
  double run_cost_bytes = 0;
  int descriptor_strides = 0;  // as hwdesc::TransferEngine's
};

[[nodiscard]] StoredArray stored_array(const ir::Shape& shape, double granule_bytes);

// Bytes in a row in memory of a region of `extents` elements per dimension, whole tiles.
[[nodiscard]] double contiguous_bytes(const StoredArray& array, const Extents& extents);
// Bytes of the array between the end of one such run and the start of the next; 0 when the region
// is one run.
[[nodiscard]] double gap_bytes(const StoredArray& array, const Extents& extents);
// Bytes moved for such a region.
[[nodiscard]] double region_bytes(const StoredArray& array, const Extents& extents);
// The share of the full rate at which the region's runs move, (0, 1].
[[nodiscard]] double run_efficiency(const StoredArray& array, const Extents& extents);
// Descriptors that list the region's runs: each as many as lie at the strides that one holds.
[[nodiscard]] double descriptors(const StoredArray& array, const Extents& extents);
// Bytes the same region takes in the scratchpad (padded, no granule).
[[nodiscard]] double resident_bytes(const StoredArray& array, const Extents& extents);
// Time that main memory takes for runs of `run` bytes, one in each row of `stride` bytes, against
// one long run. Rows further apart than a page of the memory chips (2 KiB) open one for each run,
// which costs `run_cost` bytes; those further apart than a page of addresses (64 KiB) cost 1.5
// times that besides; in between by the share of rows that open one. Seen on 8,797 products x W^T
// of a P4 and a P100 whose operands both have their depth innermost: runs of 32 bytes reach a
// quarter of the rate at strides of 2 to 8 KiB, a tenth beyond 64 KiB; full rate below 0.5 KiB.
[[nodiscard]] double strided_slowdown(double run, double stride, double run_cost);
// Bytes per second of `rate` that arrive: at most what `workers` have outstanding in one latency
// (Little's law).
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
  double once_bytes = 0;  // all of it once, padded: the array, or what is written of it in place
  bool part_of_tiles = false;  // an update in place of less than the native tiles it falls into
  [[nodiscard]] bool moved_by(std::size_t loop) const { return (loops >> loop & 1U) != 0; }
  [[nodiscard]] bool moved_by_any(const std::vector<int>& of) const {
    return std::ranges::any_of(of, [&](int loop) { return moved_by(loop); });
  }
};

// Parameters that are read: not those that are only updated in place, passed through or not used.
[[nodiscard]] std::vector<MemoryStream> input_streams(const ir::Kernel& kernel,
                                                      const Footprints& footprints,
                                                      double granule_bytes);
// Results that are made, not passed through. An update in place (ir/kernels/in_place_update.h)
// writes the tiles of its target into which it falls; where it fills only part of them, or combines
// old and new, they are read before (input).
[[nodiscard]] std::vector<MemoryStream> output_streams(const ir::Kernel& kernel,
                                                       const Footprints& footprints,
                                                       double granule_bytes);

}  // namespace tilecast::analytical
