#include "hybrid/domain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"

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
    for (const KnownKernel& kernel : kernels) mean += static_cast<double>(kernel.work.at[c]) / n;
    for (const KnownKernel& kernel : kernels) {
      const double difference = static_cast<double>(kernel.work.at[c]) - mean;
      squares += difference * difference / n;
    }
    result[c] = std::max(static_cast<float>(std::sqrt(squares)), coordinate_floor(c));
  }
  return result;
}

}  // namespace

Domain Domain::of(const learned::Examples& examples, std::span<const std::string> names) {
  TC_CHECK(examples.priors.size() == examples.rows.size(), "a domain needs priors");
  std::vector<Work> works(examples.rows.size());
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (examples.priors[i]) works[i] = work_of(examples.queries[i].kernel, *examples.priors[i]);
  }
  return of(examples, works, names);
}

Domain Domain::of(const learned::Examples& examples, std::span<const Work> works,
                  std::span<const std::string> names) {
  TC_CHECK(works.size() == examples.rows.size(), "a kernel's work by row");
  Domain domain;
  std::map<std::uint32_t, std::size_t> seen;  // kernel -> into kernels_
  std::set<std::string> kinds, devices;
  for (std::size_t i = 0; i < examples.rows.size(); ++i) {
    const learned::Example& row = examples.rows[i];
    if (!examples.priors[i]) continue;
    TC_CHECK(row.kernel < names.size(), "a kernel without a name");
    const auto [known, is_new] = seen.emplace(row.kernel, domain.kernels_.size());
    if (is_new) {
      domain.kernels_.push_back(
          {.name = names[row.kernel], .device = row.device->name, .work = works[i]});
      devices.insert(row.device->name);
    }
    PerResource& shares = domain.kernels_[known->second].work.shares;
    kinds.emplace(works[i].kind);
    std::ranges::transform(shares, works[i].shares, shares.begin(), std::ranges::max);
  }
  domain.kinds_.assign(kinds.begin(), kinds.end());
  domain.devices_.assign(devices.begin(), devices.end());
  domain.deviation_ = deviations(domain.kernels_);
  if (domain.kernels_.size() > kMostKernels) domain.keep_covering();
  domain.index_kernels();
  return domain;
}

// Starts from the kernel nearest to the middle; each next is the farthest from those kept.
void Domain::keep_covering() {
  std::vector<Coordinates> at;
  for (const KnownKernel& kernel : kernels_) at.push_back(scaled(kernel.work.at, deviation_));
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

void Domain::index_kernels() {
  for (std::size_t r = 0; r < kResources; ++r) {
    Bound& bound = bound_[r];
    bound = {};
    for (std::uint32_t i = 0; i < kernels_.size(); ++i) {
      if (kernels_[i].work.shares[r] >= kLeastShare) bound.kernels.push_back(i);
    }
    for (const std::uint8_t c : coordinates_about(static_cast<Resource>(r))) {
      for (const std::uint32_t i : bound.kernels) {
        bound.scaled.push_back(kernels_[i].work.at[c] / deviation_[c]);
      }
    }
    for (const std::string& device : devices_) {
      for (const std::uint32_t i : bound.kernels) {
        bound.other_devices.push_back(kernels_[i].device == device ? 0 : 1);
      }
    }
  }
}

// The inner loop is over kernels, so that it needs no reordering of sums to be vectorised.
void Domain::squares(Resource resource, const Coordinates& at, std::span<float> out) const {
  const Bound& bound = bound_[static_cast<std::size_t>(resource)];
  const std::size_t n = bound.kernels.size();
  const std::span<const std::uint8_t> about = coordinates_about(resource);
  std::fill_n(out.begin(), n, 0.0F);
  const float* column = bound.scaled.data();
  for (const std::uint8_t c : about) {
    const float from = at[c] / deviation_[c];
    for (std::size_t i = 0; i < n; ++i) {
      const float difference = column[i] - from;
      out[i] += difference * difference;
    }
    column += n;
  }
  const float count = static_cast<float>(about.size());
  for (std::size_t i = 0; i < n; ++i) out[i] /= count;
}

Position Domain::locate(const Work& work, const std::string& device) const {
  Position position{.shares = work.shares};
  position.distance.fill(std::numeric_limits<float>::infinity());
  const auto of_device = std::ranges::find(devices_, device);
  std::array<float, kMostKernels> square;
  for (std::size_t r = 0; r < kResources; ++r) {
    const Bound& bound = bound_[r];
    const std::size_t n = bound.kernels.size();
    if (n == 0) continue;
    squares(static_cast<Resource>(r), work.at, square);
    constexpr float kPenalty = kOtherDevice * kOtherDevice;
    if (of_device == devices_.end()) {
      for (std::size_t i = 0; i < n; ++i) square[i] += kPenalty;
    } else {
      const auto d = static_cast<std::size_t>(of_device - devices_.begin());
      const std::uint8_t* other = bound.other_devices.data() + d * n;
      for (std::size_t i = 0; i < n; ++i) square[i] += kPenalty * static_cast<float>(other[i]);
    }
    position.distance[r] =
        std::sqrt(*std::min_element(square.begin(), square.begin() + static_cast<long>(n)));
  }
  return position;
}

std::vector<Domain::Neighbour> Domain::nearest(const Work& work, std::size_t count) const {
  // A kernel that a resource of the asked one does not bind says nothing of that resource.
  constexpr double kSaysNothing = 100;
  const float binding = std::min(kLeastShare, std::ranges::max(work.shares));
  std::vector<double> sums(kernels_.size());
  std::array<float, kMostKernels> square;
  for (std::size_t r = 0; r < kResources; ++r) {
    const double share = static_cast<double>(work.shares[r]);
    if (work.shares[r] < binding) continue;
    squares(static_cast<Resource>(r), work.at, square);
    std::vector<double> of_resource(kernels_.size(), kSaysNothing);
    for (std::size_t i = 0; i < bound_[r].kernels.size(); ++i) {
      of_resource[bound_[r].kernels[i]] = static_cast<double>(square[i]);
    }
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += share * of_resource[i];
  }
  std::vector<std::size_t> order(kernels_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return sums[i]; });
  order.resize(std::min(count, order.size()));
  std::vector<Neighbour> result;
  for (const std::size_t i : order) result.push_back({i, std::sqrt(sums[i])});
  return result;
}

}  // namespace tilecast::hybrid
