// What a program takes under a fusion configuration, fast enough to be asked a million times.
//
//   ir::FusionSpace space(module);
//   FusionCost cost(space, device, model);
//   double seconds = cost.of(chosen).seconds;     // as sim::simulate() of space.fused(chosen)
//
// A step of a search changes a few kernels of a program: each distinct kernel is made and asked of
// the model once, computations whose choices did not change are not planned again. The time is the
// sum over kernels of time x launches. What residency on chip (ir/memory_assignment.h) saves is not
// in it: it depends on the whole schedule.
// Any cost model that gives times may answer. Deterministic. Not thread-safe.
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

// What tells fused programs apart: equal for configurations whose kernels compute the same.
using PlanHash = std::array<std::uint64_t, 2>;

struct PlanCost {
  double seconds = 0;
  PlanHash plan{};
  std::size_t kernels = 0;  // of different instructions; launches of loops count once
};

// What a search asks: a model, or hardware.
class FusionObjective {
 public:
  virtual ~FusionObjective() = default;
  // Infinite seconds: this program cannot run.
  [[nodiscard]] virtual PlanCost of(const ir::FusionConfiguration& chosen) = 0;
};

class FusionCost final : public FusionObjective {
 public:
  // All three outlive it. Throws Error where the model has no answer for what cannot be fused.
  FusionCost(const ir::FusionSpace& space, const hwdesc::Device& device,
             const analytical::CostModel& model, double trip_count = 5);

  // Throws Error where the model has no answer for a kernel.
  [[nodiscard]] PlanCost of(const ir::FusionConfiguration& chosen) override;

  // Kernels asked of the model so far.
  [[nodiscard]] std::size_t asked() const { return by_work_.size(); }
  [[nodiscard]] const ir::FusionSpace& space() const { return space_; }
  // Seconds of a launch, by kernel of the computation's plan; for choosing what to change.
  struct KernelTime {
    ir::ComputationId computation;
    ir::FusedKernel kernel;
    double seconds = 0;  // x launches
  };
  [[nodiscard]] std::vector<KernelTime> kernels(const ir::FusionConfiguration& chosen);

 private:
  struct HashOf {
    std::size_t operator()(const PlanHash& hash) const { return hash[0]; }
  };
  struct Known {
    double seconds = 0;  // of a launch
    PlanHash work{};     // what it computes; zero: nothing that takes time
  };
  struct Part {  // a sequential computation that runs
    ir::ComputationId id;
    double launches = 0;
    std::vector<std::uint32_t> decisions = {};  // of it
    ir::FusionConfiguration chosen = {};        // their choices when `cost` was found
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
  double fixed_ = 0;  // seconds of what is never fused
  std::size_t fixed_kernels_ = 0;
  std::unordered_map<PlanHash, Known, HashOf> by_members_;  // and computation and roots
  std::unordered_map<PlanHash, double, HashOf> by_work_;    // ir/kernels/kernel_fingerprint.h
};

}  // namespace tilecast::search
