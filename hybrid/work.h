// What a kernel does to a machine, which is what corrections are near or far by: a fused product is
// near the product alone, whatever the name of its root.
//
//   Work work = work_of(kernel, estimate);
//   work.shares            how much each resource binds it: busy time over time to the fourth
//                          power, scaled to a sum of 1. What is busy half as long as the binding
//                          resource weighs a sixteenth.
//   work.kind              what it computes with and what binds it: "16-bit product, matrix"
//   work.at                coordinates: dimensionless or logarithms. They depend on no tile.
//
// Pure functions, thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "analytical/estimate.h"
#include "ir/kernel.h"

namespace tilecast::hybrid {

// Of analytical::Bound: read is main and on-chip memory; vector holds transcendental functions and
// the issue of instructions; latency holds network, filling, draining and overhead.
enum class Resource : std::uint8_t { kMatrix, kRead, kWrite, kVector, kCrossLane, kLatency };
inline constexpr std::size_t kResources = 6;
inline constexpr std::array<std::string_view, kResources> kResourceNames = {
    "matrix", "read", "write", "vector", "cross_lane", "latency"};
using PerResource = std::array<float, kResources>;

inline constexpr std::size_t kCoordinates = 29;
using Coordinates = std::array<float, kCoordinates>;
[[nodiscard]] std::span<const std::string_view> coordinate_names();
[[nodiscard]] float coordinate_floor(std::size_t coordinate);  // of its deviation
// Those that say what a kernel asks of `resource`.
[[nodiscard]] std::span<const std::uint8_t> coordinates_about(Resource resource);

struct Work {
  PerResource shares{};
  Coordinates at{};
  std::uint8_t what = 0;  // first part of the kind
  std::string_view kind;  // of all_kinds()
};
[[nodiscard]] std::span<const std::string> all_kinds();    // static storage
[[nodiscard]] Resource binding_of(std::string_view kind);  // of all_kinds()
// `estimate`: the analytical answer on the machine. Finite numbers.
[[nodiscard]] Work work_of(const ir::Kernel& kernel, const analytical::Estimate& estimate);
// Of another tile of the same kernel: shares and kind anew.
void rebind(Work& work, const analytical::Estimate& estimate);

// How different two machines are for one kernel, by what physics says of it on both: the mean of
// |log(busy time / busy time)| over its resources, weighted by how much each binds. Numbers of a
// description that physics does not read for this kernel make no difference.
[[nodiscard]] double machine_distance(const analytical::Estimate& asked,
                                      const analytical::Estimate& other);
// Machines nearer than this are one for the kernel.
inline constexpr double kSameMachine = 0.01;

}  // namespace tilecast::hybrid
