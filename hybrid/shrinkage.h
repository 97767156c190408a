// The weight k of a bag's correction near the kernels of one measurement set, from trials in which
// members predicted groups that they had not seen:
//
//   k = m^2 / (m^2 + c s^2)       m, s: mean and deviation of the bag's members
//
// c is the value of kFactors that maximises the gain over physics minus one standard error. The
// gain is in mean absolute log error of whole times, with equal weight per group. Without a gain c
// is infinite: physics alone. A kind of kernel (op class and kind of bound) is also left to physics
// if its own trials do not gain, unless it has fewer than kLeastUnits groups and its class gains.
// For other kernels, machines and writers of code k = 0: in trials that left out whole sources and
// devices, the gain did not outweigh the harm (docs/hybrid.md). Shrinkage: James and Stein, 1961;
// one-standard-error rule: Breiman et al., CART, 1984. Pure, plain values.
#pragma once

#include <limits>
#include <set>
#include <span>
#include <string>

#include "hybrid/bag.h"

namespace tilecast::hybrid {

inline constexpr double kPhysicsAlone = std::numeric_limits<double>::infinity();
inline constexpr double kFactors[] = {0, 0.25, 0.5, 1, 2, 4, 8, 16, 64, kPhysicsAlone};
inline constexpr std::size_t kLeastUnits = 5;

enum class BoundKind : std::uint8_t { kAny, kMemory, kMatrix, kUnits, kLatency };
inline constexpr std::string_view kBoundKinds[] = {"any", "memory", "matrix", "units", "latency"};
[[nodiscard]] BoundKind bound_kind(analytical::Bound bound);

struct Trial {
  std::size_t row = 0;
  double residual = 0;  // log(measured / physics)
  double share = 1;     // share of the row's time that is not the host's dispatch
  Opinion said;
  std::uint32_t unit = 0;
  std::string kind;  // kind_of()
};
[[nodiscard]] std::string kind_of(const ir::Kernel& kernel, const analytical::Estimate& estimate);

struct Shrinkage {
  double c = kPhysicsAlone;
  std::set<std::string, std::less<>> kinds = {};  // kinds that gained; others get physics alone

  [[nodiscard]] double weight(const Opinion& said, std::string_view kind) const;
};

// The more cautious combination of two rules: larger c, common kinds.
[[nodiscard]] Shrinkage safer(const Shrinkage& a, const Shrinkage& b);
[[nodiscard]] std::size_t count_units(std::span<const Trial> trials);
// With fewer than kLeastUnits groups: physics alone.
[[nodiscard]] Shrinkage choose_shrinkage(std::span<const Trial> trials);

// log(predicted / measured) of a row's whole time when `correction` is added to physics' log time.
[[nodiscard]] double whole_error(const Trial& trial, double correction);

}  // namespace tilecast::hybrid
