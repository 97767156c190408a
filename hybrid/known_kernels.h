// The kernels a correction was learned from, and how near another kernel is to them.
//
//   Known known = Known::of(kernels);
//   for (const Place& place : known.places()) place.distance(coordinates_of(estimate));
//
// A *place* is a device, what wrote the code and how it was timed (KernelQuery), and the
// measurement set: what is believed near its kernels is decided by trials of its own groups, and by
// those of other sources near them. A kernel stands where physics puts it: logarithms of its time,
// bytes and operations (a factor of kFactor apart: distance 1) and the shares of its time that each
// resource is busy (0.5 apart: distance 1). Bytes and operations count by the share of time that
// they take: those of a kernel that is all launch set it apart from nothing. The *reach* of a place
// is the distance within which kReached of its kernels have a kernel of another group: how far the
// trials of groups left out went. Kernels nearer than a quarter of the reach to a kept one are not
// kept. Thread-safe.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "analytical/estimate.h"
#include "hybrid/shrinkage.h"

namespace tilecast::hybrid {

inline constexpr double kFactor = 4, kReached = 0.9;
struct Coordinates {
  float time = 0, bytes = 0, flops = 0;  // logarithms
  std::array<float, analytical::kBoundCount> shares = {};
  float moving = 0, computing = 0;  // the largest share of memory, and of units
};
[[nodiscard]] Coordinates coordinates_of(const analytical::Estimate& estimate);
[[nodiscard]] float distance(const Coordinates& a, const Coordinates& b);

struct KnownKernel {
  std::string name;
  Coordinates at{};
};

struct Place {
  std::string device, writer, timed, source;
  double reach = 0;
  // What is believed among its kernels of times taken in its own way, and of any: of programs.
  Shrinkage same = {}, any = {};
  std::vector<KnownKernel> kernels = {};  // by time

  // To the nearest kernel, over the reach: up to 1 is near.
  [[nodiscard]] double distance(const Coordinates& at) const;
  struct Neighbour {
    std::string name;
    double distance = 0;  // over the reach
  };
  [[nodiscard]] std::vector<Neighbour> nearest(const Coordinates& at, std::size_t count) const;
};

// A measured kernel, before those that say nothing new are dropped.
struct MeasuredKernel {
  std::string name;
  std::uint32_t place = 0, group = 0;
  Coordinates at{};
};

class Known {
 public:
  // `places`: by MeasuredKernel::place, without kernels and reach.
  [[nodiscard]] static Known of(std::vector<Place> places, std::span<const MeasuredKernel> kernels);

  [[nodiscard]] const std::vector<Place>& places() const { return places_; }
  [[nodiscard]] std::vector<Place>& places() { return places_; }

  // CSV, without the rules. load() throws Error with file and line.
  [[nodiscard]] std::string save() const;
  [[nodiscard]] static Known load(const std::string& text, const std::string& file);

 private:
  std::vector<Place> places_;
};

}  // namespace tilecast::hybrid
