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
  domain.scale_kernels();
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

void Domain::scale_kernels() {
  scaled_.resize(kCoordinates * kernels_.size());
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const Coordinates at = scaled(kernels_[i].at, deviation_);
    for (std::size_t c = 0; c < kCoordinates; ++c) scaled_[c * kernels_.size() + i] = at[c];
  }
}

// The inner loop is over kernels, so that it needs no reordering of sums to be vectorised.
Domain::Squares Domain::square_distances(const Coordinates& at) const {
  const Coordinates from = scaled(at, deviation_);
  const float* column = scaled_.data();
  Squares squares{};
  for (std::size_t c = 0; c < kCoordinates; ++c, column += kernels_.size()) {
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const float difference = column[i] - from[c];
      squares[i] += difference * difference;
    }
  }
  return squares;
}

bool Domain::knows_device(const hwdesc::Device& device) const {
  return device.lineage_distance(devices_).has_value();
}

Position Domain::locate(const Coordinates& at, const std::string& op_class,
                        const hwdesc::Device& device) const {
  Position position{.distance = std::numeric_limits<double>::infinity(),
                    .known_class = std::ranges::binary_search(op_classes_, op_class),
                    .known_device = knows_device(device)};
  if (kernels_.empty()) return position;
  const Squares squares = square_distances(at);
  const auto nearest = std::min_element(squares.begin(), squares.begin() + kernels_.size());
  position.nearest = static_cast<std::size_t>(nearest - squares.begin());
  position.distance = distance_of(*nearest);
  return position;
}

std::vector<Domain::Neighbour> Domain::nearest(const Coordinates& at, std::size_t count) const {
  const Squares squares = square_distances(at);
  std::vector<std::size_t> order(kernels_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return squares[i]; });
  order.resize(std::min(count, order.size()));
  std::vector<Neighbour> result;
  for (const std::size_t i : order) result.push_back({i, distance_of(squares[i])});
  return result;
}

}  // namespace tilecast::hybrid
