// Unroll by how much, fuse or not? What models of labels say before anything is compiled.
//
//   const Advisor advisor("configs/models/advice");
//   std::vector<Prospect> unrolled = advisor.unrolled(kernel, device, std::vector{1, 2, 4, 8});
//   unrolled[advised(unrolled)].unroll
//
// Each model of the folder predicts one quantity of a kernel as generated C (host/c_kernel.h) under
// the tile that physics chooses: registers, spills, use of vector units, cycles (Das and
// Mannarswamy's use of them, arXiv:2302.11405), and one its time. Nothing is compiled or run.
// Immutable, thread-safe.
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

// A kernel written in one way.
struct Prospect {
  std::string kernel;
  int unroll = 1;              // asked of the compiler; 1: nothing
  std::vector<double> values;  // by Advisor::quantities(), in their units
  std::optional<Seconds> time;
};

// The first whose time is within 1 % of the shortest: what costs nothing is not changed. Of those
// without times the first.
[[nodiscard]] std::size_t advised(std::span<const Prospect> choices);

// Kernels of a program that a fusion makes others of.
struct FusionProspect {
  std::vector<Prospect> apart, fused;
};

class Advisor {
 public:
  // Every folder of `folder` that holds a model. Throws Error where there is none of times, or two
  // of the same quantity.
  explicit Advisor(const std::string& folder);

  // Those besides the time.
  [[nodiscard]] const std::vector<learned::Target>& quantities() const { return quantities_; }
  // What a report should say of times on `device`; "" where they were learned on it. Throws Error
  // where that is no processor: nothing that the models know runs there.
  [[nodiscard]] std::string note(const hwdesc::Device& device) const;
  // By factor, each at least 1.
  [[nodiscard]] std::vector<Prospect> unrolled(const ir::Kernel& kernel,
                                               const hwdesc::Device& device,
                                               std::span<const int> factors) const;
  // The kernels that differ between the program with the array named `producer` kept apart from
  // its reader `consumer`, and with both in one kernel; all else by the rules of fusion. Throws
  // Error where no decision stands between the two.
  [[nodiscard]] FusionProspect fused(const ir::Module& unfused, const std::string& producer,
                                     const std::string& consumer,
                                     const hwdesc::Device& device) const;

 private:
  std::vector<learned::LoadedModel> models_;   // by quantities_
  std::optional<learned::LoadedModel> times_;  // always there
  std::vector<learned::Target> quantities_;
};

}  // namespace tilecast::sim
