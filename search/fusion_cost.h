// Predicts a program's time under a fusion configuration, fast enough for a million calls.
//
//   ir::FusionSpace space(module);
//   FusionCost cost(space, device, model);
//   double seconds = cost.of(chosen).seconds;     // equals sim::simulate() of space.fused(chosen)
//
// A search step changes only a few kernels: each distinct kernel is built and estimated once, and
// computations with unchanged choices are not planned again. The time is the sum over kernels of
// time x launches. Savings by on-chip residency (ir/memory_assignment.h) are not included, since
// they depend on the whole schedule. Works with any cost model that returns times. Deterministic.
// Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "analytical/cost_model.h"
#include "ir/fusion/fusion_space.h"
#include "ir/fusion/kernel_maker.h"

namespace tilecast::search {

// Identifies a fused program: equal for configurations whose kernels compute the same.
using PlanHash = std::array<std::uint64_t, 2>;

struct PlanCost {
  double seconds = 0;
  PlanHash plan{};
  std::size_t kernels = 0;  // kernels that take time; launches in loops count once
};

// The function that a search minimises: a model or hardware.
class FusionObjective {
 public:
  virtual ~FusionObjective() = default;
  // Infinite seconds if this program cannot run.
  [[nodiscard]] virtual PlanCost of(const ir::FusionConfiguration& chosen) = 0;
};

class FusionCost final : public FusionObjective {
 public:
  // All arguments must outlive this. Throws Error if the model has no answer for an unfusible
  // kernel.
  FusionCost(const ir::FusionSpace& space, const hwdesc::Device& device,
             const analytical::CostModel& model, double trip_count = 5);

  // Throws Error if the model has no answer for a kernel.
  [[nodiscard]] PlanCost of(const ir::FusionConfiguration& chosen) override;

  // Distinct kernels estimated so far.
  [[nodiscard]] std::size_t asked() const { return by_work_.size(); }
  [[nodiscard]] const ir::FusionSpace& space() const { return space_; }

 private:
  struct HashOf {
    std::size_t operator()(const PlanHash& hash) const { return hash[0]; }
  };
  struct Known {
    double seconds = 0;  // per launch
    PlanHash work{};     // fingerprint of its work; zero: takes no time
  };
  struct Part {  // a sequential computation that is executed
    ir::ComputationId id;
    double launches = 0;
    std::vector<std::uint32_t> decisions = {};  // its decisions
    ir::FusionConfiguration chosen = {};        // the choices for which `cost` was computed
    std::optional<PlanCost> cost = {};
  };
  void find_parts(double trip_count);
  [[nodiscard]] PlanCost of(Part& part, const ir::FusionConfiguration& chosen);
  [[nodiscard]] std::vector<Known> known(ir::ComputationId computation,
                                         std::span<ir::FusedKernel> kernels);
  void ask(ir::ComputationId computation, std::span<const ir::FusedKernel* const> kernels,
           std::span<const PlanHash> names);

  const ir::FusionSpace& space_;
  const hwdesc::Device& device_;
  const analytical::CostModel& model_;
  ir::Module laid_out_;
  ir::KernelMaker maker_;
  std::vector<Part> parts_;
  double fixed_ = 0;  // seconds of kernels that are never fused
  std::size_t fixed_kernels_ = 0;
  std::unordered_map<PlanHash, Known, HashOf> by_members_;  // and computation and roots
  std::unordered_map<PlanHash, double, HashOf> by_work_;    // ir/kernels/kernel_fingerprint.h
};

}  // namespace tilecast::search
