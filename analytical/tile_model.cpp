#include "analytical/tile_model.h"

#include <algorithm>
#include <array>
#include <boost/pending/disjoint_sets.hpp>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "analytical/cache_model.h"
#include "analytical/iteration_space.h"
#include "analytical/product_type.h"
#include "analytical/scratchpad_model.h"
#include "analytical/simt_model.h"
#include "analytical/tile_space.h"
#include "ir/kernels/in_place_update.h"
#include "ir/kernels/kernel_split.h"

namespace tilecast::analytical {

TileModel::TileModel(const ir::Kernel& kernel, const hwdesc::Device& device)
    : device_(&device),
      space_(make_iteration_space(kernel, device.native_tile)),
      footprints_(kernel, space_),
      cycle_s_(1 / device.clock.value) {
  if (!space_.matrix) return;
  std::string note = product_type(kernel, kernel.op(space_.matrix->op), device).note;
  if (!note.empty()) space_.flags.push_back(std::move(note));
}

GroupExtents TileModel::group_extents() const {
  return GroupExtents(footprints_.groups().size(), boost::container::default_init);
}

std::vector<LoopSizes> TileModel::candidate_extents(std::size_t limit) const {
  return analytical::candidate_extents(space_, limit);
}

std::vector<TileConfig> TileModel::candidates(std::size_t limit) const {
  return tiles_of_extents(space_, candidate_extents(limit));
}

void TileModel::times_s(std::span<const TileConfig> tiles, std::span<double> times) const {
  std::ranges::transform(tiles, times.begin(),
                         [&](const TileConfig& tile) { return time_s(tile); });
}

Estimate TileModel::estimate(const TileConfig& tile) const {
  Estimate estimate = explained([&](BoundMask removed) { return account(tile, removed); });
  estimate.tile = tile;
  estimate.scratchpad_used = Bytes{scratchpad_bytes(tile)};
  estimate.flags = space_.flags;
  return estimate;
}

double TileModel::iterations(const TileConfig& tile) const {
  return tile_count(space_, tile_extents(space_, tile));
}

namespace {

constexpr std::size_t kCandidates = 16384;
constexpr std::size_t kTimedTogether = 16;  // tiles per batch

// Candidates are sorted by iterations, and no iteration is shorter than the model's minimum, so the
// search stops when that minimum alone exceeds the best time. Tiles with a higher lower bound are
// not timed.
std::optional<TileConfig> fastest(const TileModel& model, std::span<const LoopSizes> candidates) {
  constexpr double kRounding = 1 - 1e-9;
  const double least_s = model.least_iteration_s();
  double best = std::numeric_limits<double>::infinity();
  std::optional<TileConfig> chosen;
  const auto hopeless = [&](const LoopSizes& extents) {
    return least_s > 0 && model.least_s(extents) * kRounding >= best;
  };
  std::array<double, kTimedTogether> times;
  while (!candidates.empty() && tile_count(model.space(), candidates.front()) * least_s < best) {
    const auto ahead = candidates.first(std::min(candidates.size(), kTimedTogether));
    const auto first = std::ranges::find_if_not(ahead, hopeless);
    const auto last = std::find_if(first, ahead.end(), hopeless);
    candidates = candidates.subspan(static_cast<std::size_t>(last - ahead.begin()));
    const std::vector<TileConfig> tiles = tiles_of_extents(model.space(), {first, last});
    model.times_s(tiles, times);
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      if (times[i] >= best) continue;
      best = times[i];
      chosen = tiles[i];
    }
  }
  return chosen;
}

}  // namespace

std::unique_ptr<const TileModel> tile_model(const ir::Kernel& kernel,
                                            const hwdesc::Device& device) {
  switch (device.execution) {
    case hwdesc::Execution::kScratchpad:
      return std::make_unique<ScratchpadModel>(kernel, device);
    case hwdesc::Execution::kSimt:
      return std::make_unique<SimtModel>(kernel, device);
    case hwdesc::Execution::kCache:
      return std::make_unique<CacheModel>(kernel, device);
  }
  return nullptr;
}

ChosenTile best_tile(const TileModel& model) {
  if (const auto tile = model.stated()) return {*tile};
  const std::vector<LoopSizes> candidates = model.candidate_extents(kCandidates);
  if (const auto tile = fastest(model, candidates)) return {*tile};
  const std::vector<TileConfig> tiles = tiles_of_extents(model.space(), candidates);
  return {.tile = *std::ranges::min_element(
              tiles, {}, [&](const TileConfig& tile) { return model.scratchpad_bytes(tile); }),
          .fits = false};
}

namespace {

using ir::Kernel;
using ir::Op;
using ir::OpId;

// Whether `user` takes or replaces only a part of `operand`, wherever it lies.
bool takes_a_part(const Op& user, OpId operand) {
  using enum ir::OperandUse;
  const ir::OperandUse use = ir::operand_use(user.opcode, user.operands.size(), 0);
  return (use == kPart || use == kTarget) && user.operands[0] == operand &&
         std::ranges::count(user.operands, operand) == 1;
}

// Dimensions that an output's loops run over.
const ir::Dims& dims_of(const Kernel& kernel, OpId output) {
  return kernel.op(ir::made_of(kernel, output)).shape.dims;
}

}  // namespace

std::vector<Kernel> loop_nests(const Kernel& kernel) {
  const std::size_t ops = kernel.ops().size(), outputs = kernel.outputs().size();
  if (outputs < 2) return {};
  boost::disjoint_sets_with_storage<> nests(ops);
  for (std::size_t i = 0; i < ops; ++i) {
    const Op& op = kernel.ops()[i];
    for (const OpId operand : op.operands) {
      const Op& source = kernel.op(operand);
      const bool outside = ir::has(source.opcode, ir::Trait::kGiven);
      const bool apart = outside && (source.shape.is_scalar() || takes_a_part(op, operand));
      if (!apart) nests.union_set(i, operand.index());
    }
  }
  const std::vector<OpId> passed = passed_through(kernel);
  std::map<ir::Dims, OpId> with_dims;
  std::optional<OpId> made;
  for (const OpId output : kernel.outputs()) {
    const bool costs_nothing = std::ranges::find(passed, output) != passed.end();
    if (!costs_nothing) made = output;
    const auto& [dims, first] = *with_dims.emplace(dims_of(kernel, output), output).first;
    nests.union_set(first.index(), output.index());
  }
  for (const OpId output : passed) nests.union_set(made.value_or(output).index(), output.index());
  std::vector<std::vector<std::size_t>> parts;
  std::vector<std::size_t> part_of(ops, SIZE_MAX);
  for (std::size_t i = 0; i < outputs; ++i) {
    std::size_t& part = part_of[nests.find_set(kernel.outputs()[i].index())];
    if (part == SIZE_MAX) {
      part = parts.size();
      parts.emplace_back();
    }
    parts[part].push_back(i);
  }
  std::vector<Kernel> kernels;
  if (parts.size() < 2) return kernels;
  for (const auto& part : parts) kernels.push_back(ir::kernel_of_outputs(kernel, part));
  return kernels;
}

NestSequence::NestSequence(const std::vector<Kernel>& nests, const hwdesc::Device& device) {
  hwdesc::Device further = device;
  further.dispatch.kernel_launch = Seconds{0};
  launched_ = std::make_unique<const hwdesc::Device>(device);
  further_ = std::make_unique<const hwdesc::Device>(std::move(further));
  for (const Kernel& nest : nests) {
    auto model = tile_model(nest, nests_.empty() ? *launched_ : *further_);
    const TileConfig tile = best_tile(*model).tile;
    nests_.push_back({std::move(model), tile});
  }
}

Accounting NestSequence::account(BoundMask removed) const {
  Accounting sum = nests_.front().model->account(nests_.front().tile, removed);
  for (const Nest& nest : std::span(nests_).subspan(1))
    sum += nest.model->account(nest.tile, removed);
  return sum;
}

}  // namespace tilecast::analytical
