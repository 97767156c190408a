// The kernels that a correction was learned from, and the distance of other kernels to them.
//
//   Known known = Known::of(kernels);
//   for (const Place& place : known.places()) place.distance(coordinates_of(estimate));
//
// A *place* is a device, the writer of the code, the way of timing (KernelQuery) and the
// measurement set. The correction applied near its kernels is determined by trials of its own
// groups and of other sources near them. A kernel's coordinates come from its analytical estimate:
// logarithms of time, bytes and operations (a factor of kFactor is distance 1) and the share of
// time that each resource is busy (0.5 is distance 1). Differences in bytes and operations are
// scaled by the share of time they take, so they do not matter for a kernel dominated by its
// launch. The *reach* of a place is the distance within which kReached of its kernels have a kernel
// of another group, i.e. the range that trials with left-out groups covered. Kernels closer than a
// quarter of the reach to a kept one are dropped. Thread-safe.
#pragma once

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analytical/estimate.h"
#include "base/lazy.h"
#include "hwdesc/device.h"
#include "hybrid/shrinkage.h"

namespace tilecast::hybrid {

inline constexpr double kFactor = 4, kReached = 0.9;
struct Coordinates {
  float time = 0, bytes = 0, flops = 0;  // logarithms
  std::array<float, analytical::kBoundCount> shares = {};
  float moving = 0, computing = 0;  // largest share: memories, units
};
[[nodiscard]] Coordinates coordinates_of(const analytical::Estimate& estimate);
[[nodiscard]] float distance(const Coordinates& a, const Coordinates& b);

struct KnownKernel {
  std::string name;
  Coordinates at{};
};

inline constexpr double kLeastReach = 0.05;
struct Place {
  std::string device, writer, timed, source;
  double reach = 0;
  // Rules for kernels near it: `same` for times taken in the same way, `any` for all, used for
  // programs.
  Shrinkage same = {}, any = {};
  // Sorted by time; from a folder read on first use, since most programs need those of one device.
  base::Lazy<std::vector<KnownKernel>> kernels = {};

  // Distance to the nearest kernel divided by the reach; near if at most 1.
  [[nodiscard]] double distance(const Coordinates& at) const;
  struct Neighbour {
    std::string name;
    double distance = 0;  // divided by the reach
  };
  [[nodiscard]] std::vector<Neighbour> nearest(const Coordinates& at, std::size_t count) const;
};

// As CSV, sorted by time. load_kernels() throws Error with file and line.
[[nodiscard]] std::string save_kernels(std::span<const KnownKernel> kernels);
[[nodiscard]] std::vector<KnownKernel> load_kernels(const std::string& text,
                                                    const std::string& file);

// A measured kernel, before near duplicates are dropped.
struct MeasuredKernel {
  std::string name;
  std::uint32_t place = 0, group = 0;
  Coordinates at{};
};

class Known {
 public:
  // `places`: indexed by MeasuredKernel::place, without kernels and reach.
  [[nodiscard]] static Known of(std::vector<Place> places, std::span<const MeasuredKernel> kernels);

  [[nodiscard]] const std::vector<Place>& places() const { return places_; }
  [[nodiscard]] std::vector<Place>& places() { return places_; }

 private:
  std::vector<Place> places_;
};

// The descriptions of the devices that a hybrid was fitted on, in order. A device from a folder is
// read on first use, since most programs need only one and each takes 2 ms to read.
//
//   devices.name(0);   // "tpu_v3"
//   devices[0].clock;  // throws Error if its description cannot be read
//
// Concurrent reads are safe.

class KnownDevices {
 public:
  void add(hwdesc::Device device);
  void add(std::string name, base::Lazy<hwdesc::Device> device);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] const std::string& name(std::size_t i) const { return entries_[i].first; }
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] const hwdesc::Device& operator[](std::size_t i) const {
    return *entries_[i].second;
  }
  // Reads all of them.
  [[nodiscard]] std::vector<const hwdesc::Device*> all() const;

 private:
  std::vector<std::pair<std::string, base::Lazy<hwdesc::Device>>> entries_;
};

}  // namespace tilecast::hybrid
