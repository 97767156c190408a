#include "hybrid/known_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/parallel.h"
#include "measured/csv.h"

namespace tilecast::hybrid {
namespace {

using measured::CsvRow;
using measured::CsvTable;

constexpr double kPerShare = 2, kKept = 0.25;
constexpr double kMostCoordinate = 1e3;  // larger than the logarithm of any number

float squared(float value) {
  return value * value;
}

float squared_distance(const Coordinates& a, const Coordinates& b) {
  float sum = squared(a.time - b.time) +
              squared(std::max(a.moving, b.moving) * (a.bytes - b.bytes)) +
              squared(std::max(a.computing, b.computing) * (a.flops - b.flops));
  for (std::size_t i = 0; i < a.shares.size(); ++i) sum += squared(a.shares[i] - b.shares[i]);
  return sum;
}

float time_of(const KnownKernel& kernel) {
  return kernel.at.time;
}

float nearest_squared(std::span<const KnownKernel> kernels, const Coordinates& at) {
  float least = std::numeric_limits<float>::infinity();
  for (const KnownKernel& kernel : kernels) {
    least = std::min(least, squared_distance(kernel.at, at));
  }
  return least;
}

double reach_of(std::span<const MeasuredKernel* const> kernels) {
  std::vector<double> distances;
  for (const MeasuredKernel* kernel : kernels) {
    float least = std::numeric_limits<float>::infinity();
    for (const MeasuredKernel* other : kernels) {
      if (other->group == kernel->group) continue;
      least = std::min(least, squared_distance(kernel->at, other->at));
    }
    if (std::isfinite(least)) distances.push_back(std::sqrt(double{least}));
  }
  if (distances.empty()) return kLeastReach;
  const auto at = static_cast<std::ptrdiff_t>(kReached * double(distances.size() - 1));
  std::ranges::nth_element(distances, distances.begin() + at);
  return std::max(kLeastReach, distances[static_cast<std::size_t>(at)]);
}

// The saved values, in column order.
std::vector<float*> saved(Coordinates& at) {
  std::vector<float*> values = {&at.time, &at.bytes, &at.flops};
  for (float& share : at.shares) values.push_back(&share);
  return values;
}

void set_largest(Coordinates& at) {
  for (std::size_t i = 0; i < at.shares.size(); ++i) {
    const BoundKind kind = bound_kind(static_cast<analytical::Bound>(i));
    const auto share = at.shares[i] / static_cast<float>(kPerShare);
    if (kind == BoundKind::kMemory) at.moving = std::max(at.moving, share);
    if (kind == BoundKind::kMatrix || kind == BoundKind::kUnits)
      at.computing = std::max(at.computing, share);
  }
}

// Rounds to the saved precision, so that a saved model equals the fitted one.
Coordinates rounded(Coordinates at) {
  constexpr float kSteps = 1000;  // steps per distance of 1
  for (float* value : saved(at)) *value = std::round(*value * kSteps) / kSteps;
  at.moving = at.computing = 0;
  set_largest(at);
  return at;
}

std::vector<std::string> columns_of_kernels() {
  std::vector<std::string> columns = {"name", "time", "bytes", "flops"};
  for (std::size_t i = 0; i < analytical::kBoundCount; ++i) {
    columns.push_back(fmt::format("share_{}", analytical::name(static_cast<analytical::Bound>(i))));
  }
  return columns;
}

}  // namespace

Coordinates coordinates_of(const analytical::Estimate& estimate) {
  const double time = std::max(estimate.time.value, 1e-12);
  const auto scaled = [](double log) { return static_cast<float>(log / std::log(kFactor)); };
  Coordinates at{.time = scaled(std::log(time * 1e6)),
                 .bytes = scaled(std::log1p(estimate.hbm_read.value + estimate.hbm_write.value)),
                 .flops = scaled(std::log1p(estimate.flops.value))};
  for (std::size_t i = 0; i < at.shares.size(); ++i) {
    at.shares[i] = static_cast<float>(kPerShare * std::min(1.0, estimate.bounds[i].value / time));
  }
  set_largest(at);
  return at;
}

float distance(const Coordinates& a, const Coordinates& b) {
  return std::sqrt(squared_distance(a, b));
}

// Searches outwards from the nearest time, until the distance in time alone is too large.
double Place::distance(const Coordinates& at) const {
  const std::vector<KnownKernel>& known = *kernels;
  const auto middle = std::ranges::lower_bound(known, at.time, {}, time_of);
  float least = std::numeric_limits<float>::infinity();
  const auto is_near = [&](const KnownKernel& kernel) {
    if (squared(kernel.at.time - at.time) >= least) return false;
    least = std::min(least, squared_distance(kernel.at, at));
    return true;
  };
  auto longer = middle, shorter = middle;
  bool go_on = true;
  while (go_on) {
    go_on = longer != known.end() && is_near(*longer++);
    go_on = (shorter != known.begin() && is_near(*--shorter)) || go_on;
  }
  return std::sqrt(double{least}) / reach;
}

std::vector<Place::Neighbour> Place::nearest(const Coordinates& at, std::size_t count) const {
  std::vector<Neighbour> all;
  for (const KnownKernel& kernel : *kernels) {
    all.push_back({kernel.name, std::sqrt(double{squared_distance(kernel.at, at)}) / reach});
  }
  std::ranges::stable_sort(all, {}, &Neighbour::distance);
  if (all.size() > count) all.resize(count);
  return all;
}

Known Known::of(std::vector<Place> places, std::span<const MeasuredKernel> kernels) {
  std::vector<std::vector<const MeasuredKernel*>> by_place(places.size());
  for (const MeasuredKernel& kernel : kernels) by_place.at(kernel.place).push_back(&kernel);
  Known known;
  known.places_ = std::move(places);
  for (std::size_t i = 0; i < by_place.size(); ++i) {
    Place& place = known.places_[i];
    place.reach = reach_of(by_place[i]);
    const double keep = kKept * place.reach;
    std::vector<KnownKernel> kept;
    for (const MeasuredKernel* kernel : by_place[i]) {
      if (double{nearest_squared(kept, kernel->at)} <= keep * keep) continue;
      kept.push_back({kernel->name, rounded(kernel->at)});
    }
    std::ranges::stable_sort(kept, {}, time_of);
    place.kernels = std::move(kept);
  }
  return known;
}

std::string save_kernels(std::span<const KnownKernel> kernels) {
  std::string text = measured::csv_line(columns_of_kernels());
  for (const KnownKernel& kernel : kernels) {
    std::vector<std::string> cells = {kernel.name};
    Coordinates at = kernel.at;
    for (const float* value : saved(at)) cells.push_back(fmt::format("{}", *value));
    text += measured::csv_line(cells);
  }
  return text;
}

std::vector<KnownKernel> load_kernels(const std::string& text, const std::string& file) {
  const CsvTable table = measured::read_csv(base::SourceText(file, text));
  if (table.columns != columns_of_kernels()) {
    throw Error(
        fmt::format("{}:1: the columns are of another version: train the model again", file));
  }
  std::vector<KnownKernel> kernels;
  for (const CsvRow& row : table.rows) {
    KnownKernel kernel{.name = row.cells.front()};
    for (std::size_t i = 0; float* value : saved(kernel.at)) {
      *value = static_cast<float>(
          measured::number_cell(table, row, ++i, -kMostCoordinate, kMostCoordinate));
    }
    set_largest(kernel.at);
    kernels.push_back(std::move(kernel));
  }
  std::ranges::stable_sort(kernels, {}, time_of);
  return kernels;
}

void KnownDevices::add(hwdesc::Device device) {
  std::string name = device.name;
  add(std::move(name), base::Lazy<hwdesc::Device>(std::move(device)));
}

void KnownDevices::add(std::string name, base::Lazy<hwdesc::Device> device) {
  entries_.emplace_back(std::move(name), std::move(device));
}

bool KnownDevices::has(const std::string& name) const {
  return std::ranges::any_of(entries_, [&](const auto& entry) { return entry.first == name; });
}

std::vector<const hwdesc::Device*> KnownDevices::all() const {
  std::vector<const hwdesc::Device*> devices(size());
  base::parallel_for(size(), base::default_jobs(),
                     [&](std::size_t i) { devices[i] = &(*this)[i]; });
  return devices;
}

}  // namespace tilecast::hybrid
