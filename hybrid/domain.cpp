#include "hybrid/domain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "base/error.h"
#include "measured/samples.h"

namespace tilecast::hybrid {
namespace {

// Kernels whose distances are computed side by side, and coordinates after which it is asked
// whether any of them can still be the nearest.
constexpr std::size_t kBlock = 16, kChunk = 7;
static_assert(kCoordinates % kChunk == 0);
using Sums = std::array<float, kBlock>;
// Where a block has no kernel.
constexpr float kNowhere = 1e15F;

std::size_t blocks_for(std::size_t kernels) {
  return (kernels + kBlock - 1) / kBlock;
}

Coordinates scaled(const Coordinates& at, const Coordinates& deviation) {
  Coordinates result;
  for (std::size_t c = 0; c < kCoordinates; ++c) result[c] = at[c] / deviation[c];
  return result;
}

float square_distance(const Coordinates& a, const Coordinates& b) {
  float sum = 0;
  for (std::size_t c = 0; c < kCoordinates; ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
  return sum;
}

// The next kChunk coordinates of a block. The inner loop is over kernels, so that it needs no
// reordering of sums to be done in vector registers.
void add_squares(const float* block, const float* from, Sums& sums) {
  Sums local = sums;
  for (std::size_t c = 0; c < kChunk; ++c, block += kBlock) {
    for (std::size_t k = 0; k < kBlock; ++k) {
      const float difference = block[k] - from[c];
      local[k] += difference * difference;
    }
  }
  sums = local;
}

float least_of(Sums sums) {
  for (std::size_t half = kBlock / 2; half > 0; half /= 2) {
    for (std::size_t k = 0; k < half; ++k) {
      sums[k] = sums[k + half] < sums[k] ? sums[k + half] : sums[k];
    }
  }
  return sums[0];
}

// Root mean square over coordinates.
double distance_of(float square) {
  return std::sqrt(static_cast<double>(square) / static_cast<double>(kCoordinates));
}

Coordinates deviations(const std::vector<KnownKernel>& kernels) {
  Coordinates result;
  const double n = std::max<double>(static_cast<double>(kernels.size()), 1);
  for (std::size_t c = 0; c < kCoordinates; ++c) {
    double mean = 0, squares = 0;
    for (const KnownKernel& kernel : kernels) mean += static_cast<double>(kernel.at[c]) / n;
    for (const KnownKernel& kernel : kernels) {
      const double difference = static_cast<double>(kernel.at[c]) - mean;
      squares += difference * difference / n;
    }
    result[c] = std::max(static_cast<float>(std::sqrt(squares)), coordinate_floor(c));
  }
  return result;
}

}  // namespace

Domain Domain::of(const learned::Examples& examples, std::span<const std::string> names) {
  TC_CHECK(examples.priors.size() == examples.rows.size(), "a domain needs priors");
  Domain domain;
  std::set<std::uint32_t> seen;
  std::set<std::string> op_classes, devices;
  for (std::size_t i = 0; i < examples.rows.size(); ++i) {
    const learned::Example& row = examples.rows[i];
    if (!examples.priors[i] || !seen.insert(row.kernel).second) continue;
    TC_CHECK(row.kernel < names.size(), "a kernel without a name");
    const ir::Kernel& kernel = examples.queries[i].kernel;
    domain.kernels_.push_back({.name = names[row.kernel],
                               .op_class = measured::op_class(kernel),
                               .at = coordinates_of(kernel, *examples.priors[i])});
    op_classes.insert(domain.kernels_.back().op_class);
    devices.insert(row.device->name);
  }
  domain.op_classes_.assign(op_classes.begin(), op_classes.end());
  domain.devices_.assign(devices.begin(), devices.end());
  domain.deviation_ = deviations(domain.kernels_);
  if (domain.kernels_.size() > kMostKernels) domain.keep_covering();
  domain.prepare();
  return domain;
}

// Starts from the kernel nearest to the middle; each next is the farthest from those kept.
void Domain::keep_covering() {
  std::vector<Coordinates> at;
  for (const KnownKernel& kernel : kernels_) at.push_back(scaled(kernel.at, deviation_));
  std::array<double, kCoordinates> sum{};
  for (const Coordinates& each : at) {
    for (std::size_t c = 0; c < kCoordinates; ++c) sum[c] += static_cast<double>(each[c]);
  }
  Coordinates middle;
  for (std::size_t c = 0; c < kCoordinates; ++c) {
    middle[c] = static_cast<float>(sum[c] / static_cast<double>(at.size()));
  }
  std::vector<float> square(at.size());
  std::ranges::transform(at, square.begin(),
                         [&](const Coordinates& each) { return square_distance(each, middle); });
  auto next = static_cast<std::size_t>(std::ranges::min_element(square) - square.begin());
  std::ranges::fill(square, std::numeric_limits<float>::infinity());
  std::vector<std::size_t> kept;
  while (kept.size() < kMostKernels) {
    kept.push_back(next);
    for (std::size_t i = 0; i < at.size(); ++i) {
      square[i] = std::min(square[i], square_distance(at[i], at[next]));
    }
    next = static_cast<std::size_t>(std::ranges::max_element(square) - square.begin());
    if (square[next] == 0) break;  // the rest stands where kept ones do
  }
  covering_ = distance_of(square[next]);
  std::ranges::sort(kept);
  std::vector<KnownKernel> chosen;
  for (const std::size_t i : kept) chosen.push_back(std::move(kernels_[i]));
  kernels_ = std::move(chosen);
}

void Domain::prepare() {
  blocks_.assign(blocks_for(kernels_.size()) * kCoordinates * kBlock, kNowhere);
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const Coordinates at = scaled(kernels_[i].at, deviation_);
    float* block = &blocks_[i / kBlock * kCoordinates * kBlock];
    for (std::size_t c = 0; c < kCoordinates; ++c) block[c * kBlock + i % kBlock] = at[c];
  }
}

bool Domain::knows_device(const hwdesc::Device& device) const {
  return device.lineage_distance(devices_).has_value();
}

Place Domain::place(const ir::Kernel& kernel, const std::string& op_class,
                    const analytical::Estimate& estimate, const hwdesc::Device& device) const {
  return place(coordinates_of(kernel, estimate), op_class, device);
}

Place Domain::place(const Coordinates& at, const std::string& op_class,
                    const hwdesc::Device& device) const {
  Place place{.distance = std::numeric_limits<double>::infinity(),
              .known_class = std::ranges::binary_search(op_classes_, op_class),
              .known_device = knows_device(device)};
  if (kernels_.empty()) return place;
  const Coordinates from = scaled(at, deviation_);
  float best = std::numeric_limits<float>::infinity();
  const std::size_t blocks = blocks_for(kernels_.size());
  for (std::size_t b = 0; b < blocks; ++b) {
    const float* block = &blocks_[b * kCoordinates * kBlock];
    Sums sums{};
    float least = 0;
    for (std::size_t c = 0; c < kCoordinates && least < best; c += kChunk) {
      add_squares(block + c * kBlock, &from[c], sums);
      least = least_of(sums);
    }
    if (!(least < best)) continue;
    best = least;
    const auto first = std::ranges::find(sums, least);
    place.nearest = b * kBlock + static_cast<std::size_t>(first - sums.begin());
  }
  place.distance = distance_of(best);
  return place;
}

std::vector<Domain::Neighbour> Domain::nearest(const Coordinates& at, std::size_t count) const {
  if (kernels_.empty()) return {};
  const Coordinates from = scaled(at, deviation_);
  std::vector<Sums> squares(blocks_for(kernels_.size()));
  for (std::size_t b = 0; b < squares.size(); ++b) {
    for (std::size_t c = 0; c < kCoordinates; c += kChunk) {
      add_squares(&blocks_[(b * kCoordinates + c) * kBlock], &from[c], squares[b]);
    }
  }
  const auto square = [&](std::size_t kernel) { return squares[kernel / kBlock][kernel % kBlock]; };
  std::vector<std::size_t> order(kernels_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, square);
  order.resize(std::min(count, order.size()));
  std::vector<Neighbour> result;
  for (const std::size_t i : order) result.push_back({i, distance_of(square(i))});
  return result;
}

}  // namespace tilecast::hybrid
