#include "analytical/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analytical/product_type.h"
#include "analytical/simt_launch.h"
#include "analytical/transfer.h"
#include "base/math.h"

namespace tilecast::analytical {
namespace {

using ir::Attention;

// Operations of the lanes per score besides the exponential: scale and difference as one
// multiply-add, maximum, sum, and narrowing with its moves. Backward: also the difference and the
// product of two gradients, and a second narrowing.
constexpr double kForwardOps = 4, kBackwardOps = 7;
// A special function as operations of the lanes: range reduction and a cubic polynomial, as
// FlashAttention-4 emulates exponentials by polynomials (together.ai/blog/flashattention-4).
constexpr double kPolynomialOps = 8;
constexpr double kFastUnit = 4096;  // multiply-adds of 16 bits a cycle and worker: as Blackwell's
// TPUs: scaling of the exponent, and the move from the matrix unit. With them 6.5e11 scores/s of
// v6e and 8e11 of v5p for long rows follow from the counts of units.
constexpr double kOpsOfExponential = 2;
// Comparing segments and choosing the score or a constant; the same for what a mask hides in part.
constexpr double kMaskOps = 2;
constexpr double kCoreBlock = 1024;  // queries and keys of a step on a core with a scratchpad
// Cycles between the end of a product and of the softmax that waits for it, and back: H200 and
// H100, kernels of fewer blocks than workers, 1.25 to 1.66 us a tile.
constexpr double kHandOverCycles = 900;
// Until the first block runs with cold caches: instructions, descriptors of the arrays. H200 and
// H100: kernels of one tile take 5 to 8 us.
constexpr double kSetupSeconds = 4e-6;
constexpr double kHalf = 64;  // rows of a warpgroup; as many elements of 16 bits are 128 bytes
constexpr double kLanes = 128;
constexpr double kColumns = 16;     // of a product's step
constexpr double kMostPacked = 16;  // queries whose heads fill a block together

double up(double value, double unit) {
  return base::ceil(value / unit) * unit;
}

struct Tile {
  double queries = 1, keys = 1;
};

// A block's walk: what it waits for per tile, alone and beside others.
struct Walk {
  double blocks = 1, tiles = 1;  // tiles of all blocks together
  double longest = 1;            // tiles of one block
  double hidden = 0;             // share of the tiles of which the mask hides a part
  bool even = true;              // every block has as many
};

struct Times {  // seconds of one worker
  double matrix = 0, special = 0, lanes = 0, on_chip = 0, hand_over = 0;
  bool issue_together = false;  // special functions and lanes, by one instruction

  [[nodiscard]] double softmax() const {
    return issue_together ? std::max(special, lanes) : special + lanes;
  }
  [[nodiscard]] double in_turn() const { return matrix + softmax() + hand_over; }
  [[nodiscard]] double overlapped() const { return std::hypot(matrix, softmax(), on_chip); }
};

// Tiles that the blocks of one head visit, and the most that one of them does.
Walk walk_of(const Attention& of, const Tile& tile) {
  const auto queries = static_cast<double>(of.queries), keys = static_cast<double>(of.keys);
  const auto window = static_cast<double>(of.window);
  constexpr double kMostRows = 65536;  // beyond, tiles on the edge of the mask do not count
  Walk walk{.blocks = base::ceil(queries / tile.queries), .tiles = 0, .longest = 1};
  if (walk.blocks > kMostRows) {
    walk.longest = base::ceil(ir::visible_keys(of) / tile.keys);
    walk.tiles = std::max(walk.blocks, ir::visible_scores(of) / (tile.queries * tile.keys));
    return walk;
  }
  double least = keys;
  for (double row = 0; row < queries; row += tile.queries) {
    const double last = std::min(row + tile.queries, queries) + keys - queries;
    const double end = of.causal ? std::clamp(last, 0.0, keys) : keys;
    const double oldest = row + keys - queries - window + 1;
    const double begin = of.window > 0 ? std::clamp(oldest, 0.0, end) : 0;
    const double tiles = base::ceil(end / tile.keys) - base::floor(begin / tile.keys);
    const double seen_by_all = of.causal ? std::clamp(row + keys - queries + 1, 0.0, keys) : keys;
    const double oldest_of_all = of.window > 0 ? std::clamp(last - window, 0.0, keys) : 0;
    const double whole =
        base::floor(seen_by_all / tile.keys) - base::ceil(oldest_of_all / tile.keys);
    walk.tiles += std::max(tiles, 1.0);
    walk.hidden += std::clamp(tiles - whole, 0.0, tiles);
    walk.longest = std::max(walk.longest, tiles);
    least = std::min(least, tiles);
  }
  walk.even = walk.longest - least < 1;
  walk.hidden /= walk.tiles;
  return walk;
}

class FusedAttention {
 public:
  FusedAttention(const Attention& of, const ProductType& type, const hwdesc::Device& device,
                 BoundMask removed)
      : of_(of), type_(type), device_(device), removed_(removed) {
    on_core_ = device.execution == hwdesc::Execution::kScratchpad;
    // Copies of whole tiles, which other warps start, came with clusters of blocks (Hopper).
    bulk_copies_ = on_core_ || device.multiplexing.cluster_blocks > 1;
    workers_ = std::max(device.multiplexing.workers, 1);
    fast_unit_ =
        !on_core_ && device.matrix.count * device.matrix.rows_per_cycle *
                             static_cast<double>(device.matrix.rows * device.matrix.columns) >=
                         kFastUnit;
    const double unit = on_core_ ? static_cast<double>(device.matrix.rows) : kHalf;
    width_ = up(static_cast<double>(of.width), unit);
    values_ = up(static_cast<double>(of.value_width), unit);
    const MemoryPath memory =
        memory_path(device.main_memory()).without(removed, Bound::kHbmRead, Bound::kHbmWrite);
    memory_ = memory;
    latency_s_ = kept_s(removed, Bound::kLatency, memory.latency_s);
    const hwdesc::MemoryLevel* cache = shared_cache(device);
    cache_rate_ = (cache ? *cache : device.main_memory()).sustained_read().value / workers_;
  }

  [[nodiscard]] Accounting account() const { return of_.backward ? backward() : forward(); }

 private:
  [[nodiscard]] double lanes_s(double operations) const {
    const hwdesc::VectorUnit& vector = device_.vector;
    const double rate = static_cast<double>(vector.lanes * vector.sublanes) * vector.alus *
                        vector.efficiency * device_.clock.value;
    return kept_s(removed_, Bound::kVector, operations / rate);
  }
  [[nodiscard]] double special_s(double count) const {
    const double rate = device_.transcendental.per_cycle * device_.clock.value;
    return rate > 0 ? kept_s(removed_, Bound::kTranscendental, count / rate) : lanes_s(count);
  }
  [[nodiscard]] double matrix_s(double flops) const {
    const double share = type_.on_unit() ? device_.matrix.efficiency : device_.vector.efficiency;
    const Bound bound = type_.on_unit() ? Bound::kMatrix : Bound::kVector;
    return kept_s(removed_, bound, flops * workers_ / (product_peak(type_, device_).value * share));
  }
  // Per score of a core with a scratchpad; kernels of GPUs compare only where a mask hides a part.
  [[nodiscard]] double mask_ops(const Walk& walk) const {
    return on_core_ ? kMaskOps * ((of_.segmented ? 1 : 0) + walk.hidden) : 0;
  }
  // Products and softmax of a tile. Beside a fast matrix unit part of the exponentials are
  // polynomials, so that special functions and lanes end together.
  [[nodiscard]] Times times_of(const Tile& tile, double products_width, double ops) const {
    const double scores = tile.queries * tile.keys;
    Times times{.matrix = matrix_s(2 * scores * products_width),
                .special = special_s(scores),
                .lanes = lanes_s(scores * (on_core_ ? ops + kOpsOfExponential : ops)),
                .issue_together = on_core_};
    if (on_core_) return times;
    times.hand_over = kept_s(removed_, Bound::kLatency, kHandOverCycles / device_.clock.value);
    const double polynomial = lanes_s(scores * kPolynomialOps);
    if (fast_unit_ && times.special > times.lanes) {
      const double share = (times.special - times.lanes) / (times.special + polynomial);
      times.special *= 1 - share;
      times.lanes = 0;  // beside the special functions
    }
    return times;
  }
  [[nodiscard]] double copied_s(double elements, ir::DType dtype) const {
    return kept_s(removed_, Bound::kOnChip, elements * ir::storage_bytes(dtype) / cache_rate_);
  }

  struct Blocks {
    Tile tile;
    Walk walk;
    bool packed = false;  // the heads that share keys are rows of a block
  };
  [[nodiscard]] Blocks forward_blocks() const;
  [[nodiscard]] double forward_s(const Blocks& blocks, const Times& times, double load_s,
                                 double fill_s, double parts) const;
  [[nodiscard]] Accounting forward() const;
  [[nodiscard]] Accounting backward() const;
  void add_ends(Accounting& sum) const;
  // Without bulk copies a block waits for each tile that it loads; two share a worker.
  [[nodiscard]] double resident() const { return bulk_copies_ ? 1 : 2; }
  [[nodiscard]] double memory_s(Accounting& sum) const;
  void finish(Accounting& sum, const Times& tile, double tiles, double busy_s, double fill_s,
              double launches) const;

  const Attention& of_;
  const ProductType& type_;
  const hwdesc::Device& device_;
  BoundMask removed_ = 0;
  bool on_core_ = false, bulk_copies_ = false, fast_unit_ = false;
  double workers_ = 1, width_ = 1, values_ = 1, latency_s_ = 0, cache_rate_ = 1;
  MemoryPath memory_;
};

// Time of the traffic of main memory.
double FusedAttention::memory_s(Accounting& sum) const {
  const ir::AttentionBytes bytes = ir::bytes_of(of_);
  sum.read_bytes = bytes.read;
  sum.write_bytes = bytes.written;
  const double read_s = sum.read_bytes / memory_.read, write_s = sum.write_bytes / memory_.write;
  sum.busy[index_of(Bound::kHbmRead)] = read_s;
  sum.busy[index_of(Bound::kHbmWrite)] = write_s;
  return memory_.busy_s(read_s, write_s);
}

// Adds up: `busy_s` of the busiest worker beside main memory, `fill_s` before and after.
void FusedAttention::finish(Accounting& sum, const Times& tile, double tiles, double busy_s,
                            double fill_s, double launches) const {
  const double per_worker = tiles / workers_;
  const double matrix = tile.matrix * per_worker, special = tile.special * per_worker,
               lanes = tile.lanes * per_worker, chip = tile.on_chip * per_worker;
  sum.busy[index_of(Bound::kMatrix)] = matrix;
  sum.busy[index_of(Bound::kTranscendental)] = special;
  sum.busy[index_of(Bound::kVector)] += lanes;
  sum.busy[index_of(Bound::kOnChip)] = chip;
  const double moved_s = memory_s(sum);
  if (moved_s >= busy_s) {
    const double read = sum.busy[index_of(Bound::kHbmRead)];
    const double write = sum.busy[index_of(Bound::kHbmWrite)];
    sum.bound_time[index_of(read >= write ? Bound::kHbmRead : Bound::kHbmWrite)] += moved_s;
  } else {  // waited for each by its square, as in the norm; the rest is latency
    const double used = std::min(busy_s, tile.overlapped() * per_worker);
    const double squares = matrix * matrix + special * special + lanes * lanes + chip * chip;
    const auto add = [&](Bound bound, double time) {
      if (squares > 0) sum.bound_time[index_of(bound)] += used * time * time / squares;
    };
    add(Bound::kMatrix, matrix);
    add(Bound::kTranscendental, special);
    add(Bound::kVector, lanes);
    add(Bound::kOnChip, chip);
    sum.add_alone(Bound::kLatency, busy_s - (squares > 0 ? used : 0));
  }
  sum.add_alone(Bound::kFillDrain, kept_s(removed_, Bound::kFillDrain, fill_s));
  const double setup_s =
      launches * device_.dispatch.kernel_launch.value + (on_core_ ? 0 : kSetupSeconds);
  sum.add_alone(Bound::kOverhead, kept_s(removed_, Bound::kOverhead, setup_s));
  for (const double part : sum.bound_time) sum.total_s += part;
}

// The blocks of the forward kernel, and their tiles.
FusedAttention::Blocks FusedAttention::forward_blocks() const {
  const auto queries = static_cast<double>(of_.queries);
  const bool packed = queries <= kMostPacked;
  const std::int64_t heads = packed ? of_.kv_heads : of_.heads;
  const double rows =
      packed ? queries * static_cast<double>(of_.heads) / static_cast<double>(heads) : queries;
  Blocks blocks{.packed = packed};
  if (on_core_) {
    const auto side = [](std::int64_t stated, double all) {
      return std::min(stated > 0 ? static_cast<double>(stated) : kCoreBlock, all);
    };
    blocks.tile = {.queries = side(of_.query_block, rows),
                   .keys = side(of_.key_block, up(static_cast<double>(of_.keys), kLanes))};
  } else {
    blocks.tile = {.queries = rows > kHalf ? 2 * kHalf : kHalf,
                   .keys = std::max(width_, values_) <= 2 * kHalf ? 2 * kHalf : kHalf};
    // Beside a fast unit keys are the rows of the products, and few queries their columns.
    if (fast_unit_ && packed && rows <= kHalf) blocks.tile.queries = up(rows, kColumns);
  }
  Attention seen = of_;
  if (packed) {
    seen.queries = 1;
    seen.causal = false;
  }
  blocks.walk = walk_of(seen, blocks.tile);
  if (packed) {
    blocks.walk.blocks = base::ceil(rows / blocks.tile.queries);
    blocks.walk.tiles *= blocks.walk.blocks;
  }
  const double all = static_cast<double>(of_.batch) * static_cast<double>(heads);
  blocks.walk.blocks *= all;
  blocks.walk.tiles *= all;
  return blocks;
}

// Time of the busiest worker with the keys of each block in `parts`.
double FusedAttention::forward_s(const Blocks& blocks, const Times& times, double load_s,
                                 double fill_s, double parts) const {
  const Walk& walk = blocks.walk;
  const bool one_half = !on_core_ && !fast_unit_ && blocks.tile.queries <= kHalf;
  const double step_s = std::max(one_half ? times.in_turn() : times.overlapped(), load_s);
  const double alone_s = times.in_turn() + (bulk_copies_ ? 0 : load_s + latency_s_);
  const double units = walk.blocks * parts, longest = base::ceil(walk.longest / parts);
  const double later_s = one_half || !bulk_copies_ ? alone_s : step_s;
  const double one_s = times.in_turn() + (longest - 1) * later_s;
  if (units <= workers_) return one_s;
  // Prefill kernels with bulk copies load a block behind the one before, unless its results fill
  // the memory of the matrix unit; a core waits for its first keys.
  const bool hidden = bulk_copies_ && !blocks.packed && !fast_unit_;
  const double between_s = on_core_ ? latency_s_ : (hidden ? 0 : fill_s);
  const double waves = units / (workers_ * resident());
  const auto all_s = [&](double tiles) {
    const double used_s = tiles * std::min(step_s, times.matrix + times.softmax());
    if (!bulk_copies_) {
      return std::max(used_s, (units * fill_s + tiles * alone_s) / resident()) / workers_;
    }
    return (units * (between_s + times.in_turn() - step_s) + tiles * step_s) / workers_;
  };
  // Blocks of different lengths end a block of mean length apart (Graham, 1969: at most the
  // longest), and before as many of the longest.
  const double even_s = all_s(units * walk.longest / parts) / waves * base::ceil(waves);
  const double uneven_s = all_s(walk.tiles) / waves * (waves + 1);
  return std::max(one_s, walk.even ? even_s : std::min(even_s, uneven_s));
}

Accounting FusedAttention::forward() const {
  const Blocks blocks = forward_blocks();
  const Tile& tile = blocks.tile;
  Times times = times_of(tile, width_ + values_, kForwardOps + mask_ops(blocks.walk));
  times.lanes += lanes_s(tile.queries * values_);
  const double load_s =
      copied_s(tile.keys * static_cast<double>(of_.width + of_.value_width), of_.kv_dtype);
  const double fill_s = 2 * latency_s_ + copied_s(tile.queries * width_, of_.dtype) +
                        copied_s(tile.keys * width_, of_.kv_dtype);
  double busy_s = forward_s(blocks, times, load_s, fill_s, 1);
  const double idle = base::floor(workers_ * resident() / blocks.walk.blocks);
  const double parts = blocks.packed ? std::min(idle, blocks.walk.longest) : 1;
  // A second kernel adds the parts of split keys.
  const double launch_s = kept_s(removed_, Bound::kOverhead, device_.dispatch.kernel_launch.value);
  const double split_s = parts > 1 ? forward_s(blocks, times, load_s, fill_s, parts) : busy_s;
  const bool splits = split_s + launch_s + 2 * latency_s_ < busy_s;
  if (splits) busy_s = split_s;
  Accounting sum;
  // Queries wider than their keys are narrowed, by a kernel.
  const bool narrows = ir::storage_bytes(of_.kv_dtype) < ir::storage_bytes(of_.dtype);
  const double others = (splits ? 1 : 0) + (narrows ? 1 : 0);
  sum.add_alone(Bound::kLatency, others * 2 * latency_s_);
  finish(sum, times, blocks.walk.tiles, busy_s, fill_s, 1 + others);
  return sum;
}

Accounting FusedAttention::backward() const {
  Attention turned = of_;  // blocks of keys walk over queries
  std::swap(turned.queries, turned.keys);
  const double size = on_core_ ? kCoreBlock / 2 : 2 * kHalf;
  Tile tile{.queries = size, .keys = size};
  if (of_.query_block > 0) {
    tile = {.queries = static_cast<double>(of_.key_block),
            .keys = static_cast<double>(of_.query_block)};
  }
  Walk walk = walk_of(turned, tile);
  const double heads = static_cast<double>(of_.batch) * static_cast<double>(of_.heads);
  walk.blocks *= heads;
  walk.tiles *= heads;
  Attention padded = of_;
  padded.width = static_cast<std::int64_t>(width_);
  padded.value_width = static_cast<std::int64_t>(values_);
  const auto products = static_cast<double>(ir::products_width(padded));
  Times times = times_of(tile, products, kBackwardOps + mask_ops(walk));
  // Through the worker's own memory: three operands of a product (two halves share one), scores
  // and their gradients twice, and sums in f32 of the queries' gradients.
  const double bytes = ir::storage_bytes(of_.dtype);
  const double passed = tile.keys * bytes * 3 * products + 4 * tile.queries * tile.keys * bytes +
                        tile.queries * width_ * ir::storage_bytes(ir::DType::kF32);
  const double rate = worker_memory(device_).sustained_read().value / workers_;
  if (!on_core_) times.on_chip = kept_s(removed_, Bound::kOnChip, passed / rate);
  const double step_s = times.overlapped();
  const double fill_s =
      2 * latency_s_ + copied_s(2 * (tile.queries + tile.keys) * width_, of_.dtype);
  const double one_s = fill_s + times.in_turn() + (walk.longest - 1) * step_s;
  const double all_s =
      (walk.tiles * step_s + walk.blocks * (fill_s + times.in_turn() - step_s)) / workers_;
  const double waves = walk.blocks / workers_;
  // Blocks start in the order of their keys, long and short ones: the last to end is a long one.
  const double last_s = (walk.longest - 1) * step_s;
  const double uneven_s = walk.blocks > workers_ ? all_s + last_s : one_s;
  const double even_s = all_s / waves * base::ceil(waves);
  Accounting sum;
  const bool alone = of_.gradients != ir::Gradients::kAll;
  const double busy_s = std::max(one_s, walk.even ? even_s : uneven_s);
  finish(sum, times, walk.tiles, busy_s, fill_s, alone ? 1 : 3);
  if (!alone) add_ends(sum);
  return sum;
}

// The kernel before reads results and their gradients and clears the sums of the queries'
// gradients in f32, which the one after narrows.
void FusedAttention::add_ends(Accounting& sum) const {
  const double rows = static_cast<double>(of_.batch) * static_cast<double>(of_.heads) *
                      static_cast<double>(of_.queries);
  const double results = rows * static_cast<double>(of_.value_width);
  const double queries = rows * static_cast<double>(of_.width);
  const double narrow = ir::storage_bytes(of_.dtype), wide = ir::storage_bytes(ir::DType::kF32);
  const double read = 2 * results * narrow + queries * wide;
  const double written = queries * (wide + narrow);
  const double read_s = read / memory_.read, write_s = written / memory_.write;
  const double moved_s = memory_.busy_s(read_s, write_s);
  sum.read_bytes += read;
  sum.write_bytes += written;
  sum.busy[index_of(Bound::kHbmRead)] += read_s;
  sum.busy[index_of(Bound::kHbmWrite)] += write_s;
  sum.bound_time[index_of(Bound::kHbmRead)] += moved_s;
  sum.add_alone(Bound::kLatency, 4 * latency_s_);
  const double setup_s = on_core_ ? 0 : kept_s(removed_, Bound::kOverhead, 2 * kSetupSeconds);
  sum.add_alone(Bound::kOverhead, setup_s);
  sum.total_s += moved_s + 4 * latency_s_ + setup_s;
}

}  // namespace

std::optional<Algorithm> attention(const ir::Kernel& kernel, const hwdesc::Device& device) {
  const auto& cost = kernel.custom_call_cost();
  if (!cost || !cost->attention || device.execution == hwdesc::Execution::kCache) {
    return std::nullopt;
  }
  const Attention of = *cost->attention;
  const ProductType type = call_product_type(kernel, device);
  return Algorithm{fmt::format("fused attention{}{}{}{}", of.backward ? ", backward" : "",
                               of.assumed_mask  ? ", its mask assumed from shapes"
                               : of.unread_mask ? ", all scores: its mask is not read"
                                                : "",
                               cost->note.empty() ? "" : "; ", cost->note),
                   [of, type, &device](BoundMask removed) {
                     return FusedAttention(of, type, device, removed).account();
                   }};
}

}  // namespace tilecast::analytical
