// The slow path of the scratchpad model: the same run with a tally of where the time went.
#include <algorithm>

#include "analytical/scratchpad_model.h"

namespace tilecast::analytical {

void ScratchpadModel::tally_period(const Moves& moved, const Uses& use, bool finishes,
                                   double weight, double period, BoundMask removed,
                                   Tally& tally) const {
  const auto cycles = [&](double per_iteration, double at_finish) {
    return (per_iteration + (finishes ? at_finish : 0)) * cycle_s_;
  };
  std::array<double, kBoundCount> busy{};
  busy[index_of(Bound::kHbmRead)] = moved.read.engine_s;
  busy[index_of(Bound::kHbmWrite)] = moved.write.engine_s;
  const double setup = has(removed, Bound::kIssue) ? 0 : setup_s_;
  busy[index_of(Bound::kIssue)] = setup * moved.transfers();
  busy[index_of(Bound::kMatrix)] = cycles(use.iteration.matrix, use.finish.matrix);
  busy[index_of(Bound::kVector)] = cycles(use.iteration.vector, use.finish.vector);
  busy[index_of(Bound::kTranscendental)] =
      cycles(use.iteration.transcendental, use.finish.transcendental);
  busy[index_of(Bound::kCrossLane)] = cycles(use.iteration.cross_lane, use.finish.cross_lane);
  busy[index_of(Bound::kOnChip)] = cycles(use.iteration.on_chip, use.finish.on_chip);
  busy[index_of(Bound::kOverhead)] = overhead_s_;
  for (std::size_t b = 0; b < kBoundCount; ++b) {
    if ((removed >> b & 1U) != 0) busy[b] = 0;
  }
  const double load = busy[index_of(Bound::kHbmRead)];
  const double store = busy[index_of(Bound::kHbmWrite)];
  const double path = full_duplex_ ? std::max(load, store) : load + store;
  const double use_s = use.iteration_s + (finishes ? use.finish_s : 0);
  const double issue = busy[index_of(Bound::kIssue)];
  const double overhead = busy[index_of(Bound::kOverhead)];
  const double core = use_s + issue + overhead;
  const double occupied = std::max(path, core);
  busy[index_of(Bound::kLatency)] = std::max(0.0, period - occupied);
  for (std::size_t b = 0; b < kBoundCount; ++b) tally.busy[b] += Seconds{weight * busy[b]};
  tally.blame[index_of(Bound::kLatency)] += weight * busy[index_of(Bound::kLatency)];
  if (path >= core) {
    tally.blame[index_of(load >= store ? Bound::kHbmRead : Bound::kHbmWrite)] += weight * path;
  } else {  // computing, issuing and looping follow each other on the core
    Bound worst = Bound::kMatrix;
    for (const Bound b :
         {Bound::kVector, Bound::kTranscendental, Bound::kCrossLane, Bound::kOnChip}) {
      if (busy[index_of(b)] > busy[index_of(worst)]) worst = b;
    }
    tally.blame[index_of(worst)] += weight * use_s;
    tally.blame[index_of(Bound::kIssue)] += weight * issue;
    tally.blame[index_of(Bound::kOverhead)] += weight * overhead;
  }
  tally.read_bytes += weight * moved.read.bytes;
  tally.write_bytes += weight * moved.write.bytes;
}

Estimate ScratchpadModel::estimate(const TileConfig& tile) const {
  return explained(tile, false);
}

Estimate ScratchpadModel::estimate_spilled(const TileConfig& tile) const {
  return explained(tile, true);
}

Estimate ScratchpadModel::explained(const TileConfig& tile, bool may_spill) const {
  Tally tally;
  Estimate estimate;
  estimate.time = Seconds{run_s(tile, 0, &tally, may_spill)};
  estimate.bounds = tally.busy;
  const auto worst = [](const Tally& t) {
    return static_cast<Bound>(std::max_element(t.blame.begin(), t.blame.end()) - t.blame.begin());
  };
  estimate.bound = worst(tally);
  Tally without;
  const BoundMask removed = 1U << index_of(estimate.bound);
  estimate.next_time = Seconds{run_s(tile, removed, &without, may_spill)};
  without.blame[index_of(estimate.bound)] = 0;
  estimate.next_bound = worst(without);
  estimate.tile = tile;
  estimate.hbm_read = Bytes{tally.read_bytes};
  estimate.hbm_write = Bytes{tally.write_bytes};
  GroupExtents storage(footprints_.groups().size(), boost::container::default_init);
  const std::span<Extents> groups(storage.data(), storage.size());
  const Shape shape = prepare(tile, groups);
  estimate.scratchpad_used = Bytes{shape.scratchpad_bytes};
  estimate.iterations = iterations(tile);
  estimate.flags = space_.flags;
  return estimate;
}

}  // namespace tilecast::analytical
