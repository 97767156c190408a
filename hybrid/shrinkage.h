// How much of a bag's opinion is believed among the kernels of one measured set, by trials in which
// members were asked about groups that they had not seen:
//
//   k = m^2 / (m^2 + c s^2)       m, s: mean and deviation of the bag's members
//
// c is the one of kFactors with the most gain over physics less a standard error, every group
// counting alike, in mean absolute log error of the rows' whole times. No gain: infinite, physics
// alone. So is a kind of kernel (class of ops and what bounds it) whose own trials gained nothing,
// or which has fewer than kLeastUnits groups and whose class did not gain, either. Elsewhere, on
// other kernels, machines and writers of code, k = 0: trials without sources and devices gained too
// little for the harm (docs/hybrid.md). Shrinkage: James and Stein, 1961; the rule of one standard
// error: Breiman et al., CART, 1984. Pure, plain values.
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

// 0: any.
enum class BoundKind : std::uint8_t { kAny, kMemory, kMatrix, kUnits, kLatency };
inline constexpr std::string_view kBoundKinds[] = {"any", "memory", "matrix", "units", "latency"};
[[nodiscard]] BoundKind bound_kind(analytical::Bound bound);

struct Trial {
  std::size_t row = 0;
  double residual = 0;  // log(measured / physics)
  double share = 1;     // of the row's time that is the kernel's, not the host's dispatch
  Opinion said;
  std::uint32_t unit = 0;
  std::string kind;  // kind_of()
};
[[nodiscard]] std::string kind_of(const ir::Kernel& kernel, const analytical::Estimate& estimate);

struct Shrinkage {
  double c = kPhysicsAlone;
  std::set<std::string, std::less<>> kinds = {};  // that gained; others are physics alone

  [[nodiscard]] double weight(const Opinion& said, std::string_view kind) const;
};

// What both believe.
[[nodiscard]] Shrinkage safer(const Shrinkage& a, const Shrinkage& b);
[[nodiscard]] std::size_t count_units(std::span<const Trial> trials);
// Of fewer than kLeastUnits groups: physics alone.
[[nodiscard]] Shrinkage choose_shrinkage(std::span<const Trial> trials);

// log(predicted / measured) of a row's whole time when `correction` is added to physics' log time.
[[nodiscard]] double whole_error(const Trial& trial, double correction);

}  // namespace tilecast::hybrid
