#include "ir/memory/heap_placement.h"

#include <algorithm>
#include <limits>
#include <map>

namespace tilecast::ir {
namespace {

constexpr std::size_t kMostBlocks = 8192;

struct Placed {
  double begin = 0, end = 0;  // bytes
  const HeapBlock* block = nullptr;
};

bool meet(const HeapBlock& a, const HeapBlock& b) {
  auto i = a.held.begin(), j = b.held.begin();
  while (i != a.held.end() && j != b.held.end()) {
    if (i->first <= j->last && j->first <= i->last) return true;
    ++(i->last < j->last ? i : j);
  }
  return false;
}

// Where the block goes; `placed` by ascending begin.
double best_fit(const std::vector<Placed>& placed, const HeapBlock& block) {
  double top = 0, best = -1, least = std::numeric_limits<double>::infinity();
  for (const Placed& other : placed) {
    if (!meet(*other.block, block)) continue;
    const double gap = other.begin - top;
    if (gap >= block.bytes && gap < least) {
      best = top;
      least = gap;
    }
    top = std::max(top, other.end);
  }
  return best < 0 ? top : best;
}

double most_at_once(const std::vector<HeapBlock>& blocks) {
  std::map<std::uint32_t, double> change;
  for (const HeapBlock& block : blocks) {
    for (const auto& [first, last] : block.held) {
      change[first] += block.bytes;
      change[last + 1] -= block.bytes;
    }
  }
  double held = 0, most = 0;
  for (const auto& [position, bytes] : change) most = std::max(most, held += bytes);
  return most;
}

}  // namespace

double heap_gaps(std::vector<HeapBlock> blocks) {
  for (HeapBlock& block : blocks) std::ranges::sort(block.held, {}, &HeapBlock::Span::first);
  std::ranges::stable_sort(blocks, [](const HeapBlock& a, const HeapBlock& b) {
    const auto length = [](const HeapBlock& of) { return of.held.back().last - of.held[0].first; };
    return a.bytes != b.bytes ? a.bytes > b.bytes : length(a) > length(b);
  });
  if (blocks.size() > kMostBlocks) blocks.resize(kMostBlocks);
  std::vector<Placed> placed;
  double height = 0;
  for (const HeapBlock& block : blocks) {
    const double begin = best_fit(placed, block);
    const auto at = std::ranges::upper_bound(placed, begin, {}, &Placed::begin);
    placed.insert(at, {begin, begin + block.bytes, &block});
    height = std::max(height, begin + block.bytes);
  }
  return std::max(0.0, height - most_at_once(blocks));
}

}  // namespace tilecast::ir
