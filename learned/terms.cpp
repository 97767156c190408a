#include "learned/terms.h"

#include <algorithm>
#include <cmath>

#include "analytical/accounting.h"
#include "analytical/op_work.h"
#include "base/error.h"
#include "ir/ops/index_map.h"

namespace tilecast::learned {
namespace {

using analytical::Bound;
using analytical::index_of;
using analytical::kBoundCount;
using Shares = std::array<double, kBoundCount>;

// The exponent at which the overlapping terms take `seconds`; at least 1, at most kMostPower.
double power_of(std::span<const double> terms, double seconds) {
  const double longest = std::ranges::max(terms);
  double low = 1, high = kMostPower;
  for (int halving = 0; halving < 30 && longest > 0; ++halving) {
    const double power = (low + high) / 2;
    double sum = 0;
    for (const double term : terms) sum += std::pow(term / longest, power);
    (longest * std::pow(sum, 1 / power) > seconds ? low : high) = power;
  }
  return low;
}

// What each node does of each term; of terms not named, 0.
Shares work_of(const ir::Kernel& kernel, ir::OpId id, const hwdesc::Device& device,
               const analytical::Footprints& footprints,
               std::vector<analytical::ElementWork>& by_group) {
  std::ranges::fill(by_group, analytical::ElementWork{});
  add_op_work(kernel, id, device, footprints, by_group);
  const bool is_product = ir::op_class(kernel.op(id).opcode) == ir::OpClass::kMatrix;
  Shares done{};
  const auto add = [&](Bound bound, double work) { done[index_of(bound)] += work; };
  for (std::size_t g = 0; g < by_group.size(); ++g) {
    const analytical::ElementWork& work = by_group[g];
    const ir::Shape& shape =
        ir::first_array(kernel.op(footprints.groups()[g].representative).shape);
    const double elements = std::max(1.0, static_cast<double>(ir::element_count(shape)));
    add(Bound::kHbmRead, elements * work.load_bytes);
    add(Bound::kHbmWrite, elements * work.store_bytes);
    add(Bound::kMatrix, elements * (work.matrix + (is_product ? work.vector : 0)));
    add(Bound::kVector, elements * (is_product ? 0 : work.vector + work.conversion));
    add(Bound::kTranscendental, elements * work.transcendental);
    add(Bound::kCrossLane, elements * (work.cross_lane + work.cross_lane_reduce + work.irregular));
    for (const Bound bound : {Bound::kOnChip, Bound::kIssue}) {
      add(bound, elements * (work.load_bytes + work.store_bytes));
    }
  }
  return done;
}

}  // namespace

void terms_of(const analytical::Estimate& estimate, std::span<float> out) {
  TC_CHECK(out.size() == kTermColumns, "a place per term");
  Shares terms;
  const double time = estimate.time.value;
  for (std::size_t i = 0; i < kBoundCount; ++i) terms[i] = estimate.bounds[i].value / time;
  const std::span<const double> beside = std::span(terms).first(kOverlapping);
  double alone = 0, in_turn = 0;
  for (std::size_t i = 0; i < kBoundCount; ++i) (i < kOverlapping ? in_turn : alone) += terms[i];
  const double left = 1 - alone - in_turn;
  if (left > 0) terms[index_of(Bound::kLatency)] += left;
  std::ranges::copy(terms, out.begin());
  out.back() = static_cast<float>(1 / (left > 0 ? 1 : power_of(beside, 1 - alone)));
}

std::vector<float> term_shares(const ir::Kernel& kernel, const hwdesc::Device& device) {
  const analytical::Footprints footprints(
      kernel, analytical::make_iteration_space(kernel, device.native_tile));
  std::vector<analytical::ElementWork> by_group(footprints.groups().size());
  std::vector<Shares> done;
  Shares whole{};
  for (std::size_t i = 0; i < kernel.ops().size(); ++i) {
    done.push_back(work_of(kernel, ir::OpId(i), device, footprints, by_group));
    for (std::size_t b = 0; b < kBoundCount; ++b) whole[b] += done[i][b];
  }
  std::vector<float> shares;
  const double even = 1 / static_cast<double>(done.size());
  for (const Shares& node : done) {
    for (std::size_t b = 0; b < kBoundCount; ++b) {
      shares.push_back(static_cast<float>(whole[b] > 0 ? node[b] / whole[b] : even));
    }
  }
  return shares;
}

void append_columns(std::span<const float> extra, std::size_t columns, std::vector<float>& rows) {
  const std::size_t count = extra.size() / columns, width = rows.size() / count;
  std::vector<float> wide;
  wide.reserve(rows.size() + extra.size());
  for (std::size_t i = 0; i < count; ++i) {
    std::ranges::copy(std::span(rows).subspan(i * width, width), std::back_inserter(wide));
    std::ranges::copy(extra.subspan(i * columns, columns), std::back_inserter(wide));
  }
  rows = std::move(wide);
}

}  // namespace tilecast::learned
