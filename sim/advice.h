// Unroll by how much, fuse or not? Answers from models of labels, before anything is compiled.
//
//   const Advisor advisor("configs/models/advice");
//   std::vector<Prospect> unrolled = advisor.unrolled(kernel, device, std::vector{1, 2, 4, 8});
//   unrolled[advised(unrolled)].unroll
//
// Each model in the folder predicts one quantity of a kernel as generated C (host/c_kernel.h) under
// the tile that the analytical model chooses: registers, spills, use of vector units, cycles (used
// as by Das and Mannarswamy, arXiv:2302.11405); one model predicts its time. Nothing is compiled or
// run. Immutable, thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analytical/cost_model.h"
#include "hwdesc/units.h"
#include "ir/hlo.h"
#include "learned/model_dir.h"

namespace tilecast::sim {

// One variant of a kernel.
struct Prospect {
  std::string kernel;
  int unroll = 1;              // requested of the compiler; 1: no request
  std::vector<double> values;  // in the order of Advisor::quantities(), in their units
  std::optional<Seconds> time;
};

// The first variant whose time is within 1 % of the shortest, so that a change without benefit is
// not advised. Without times, the first variant.
[[nodiscard]] std::size_t advised(std::span<const Prospect> choices);

// Kernels that a fusion changes: before (`apart`) and after (`fused`).
struct FusionProspect {
  std::vector<Prospect> apart, fused;
};

class Advisor {
 public:
  // Loads the model in every subfolder of `folder`. Throws Error unless exactly one predicts times,
  // or if two predict the same quantity.
  explicit Advisor(const std::string& folder);

  // The quantities other than time.
  [[nodiscard]] const std::vector<learned::Target>& quantities() const { return quantities_; }
  // A note for reports about times on `device`; "" if the model of times was trained on it. Throws
  // Error unless the device is a processor: the models know nothing else.
  [[nodiscard]] std::string note(const hwdesc::Device& device) const;
  // One variant per unroll factor, each >= 1.
  [[nodiscard]] std::vector<Prospect> unrolled(const ir::Kernel& kernel,
                                               const hwdesc::Device& device,
                                               std::span<const int> factors) const;
  // The kernels that differ between two versions of the program: with the array `producer` kept
  // apart from its reader `consumer`, and with both in one kernel. Everything else follows the
  // fusion rules. Throws Error if there is no fusion decision between the two.
  [[nodiscard]] FusionProspect fused(const ir::Module& unfused, const std::string& producer,
                                     const std::string& consumer,
                                     const hwdesc::Device& device) const;

 private:
  std::vector<learned::LoadedModel> models_;   // in the order of quantities_
  std::optional<learned::LoadedModel> times_;  // always set
  std::vector<learned::Target> quantities_;
};

}  // namespace tilecast::sim
