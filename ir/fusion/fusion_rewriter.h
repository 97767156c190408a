// Tidies computations and replaces groups of instructions by fusion instructions; parts of fuse().
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/fusion/fusion_space.h"

namespace tilecast::ir {

// The computation in the order of its content (order_by_content()), without instructions that
// nothing needs, annotation custom-calls and reshapes to the same dimensions; reshapes that keep
// the order of the tiles (only ones added or removed, or only major dimensions regrouped) become
// bitcasts.
[[nodiscard]] Computation tidied(Computation computation);
// Every sequential computation tidied; ids of computations stay.
[[nodiscard]] Module tidied(Module module);

// Hands out computation and instruction names that nothing in the module has.
class FreshNames {
 public:
  explicit FreshNames(const Module& module);
  explicit FreshNames(std::int64_t highest) : highest_(highest) {}
  [[nodiscard]] std::int64_t highest() const { return highest_; }
  [[nodiscard]] std::string next(const std::string& stem);

 private:
  std::int64_t highest_ = 0;  // largest number that ends any name
};

struct RewrittenComputation {
  Computation caller;
  std::vector<Computation> fused;
};

// `computation` with one fusion instruction per kernel of more than one op (scalar constants are
// cloned into it), in the topological order nearest to the source text. The k-th new computation is
// called by the id `first_id` + k.
[[nodiscard]] RewrittenComputation with_fusions(Computation computation,
                                                const std::vector<FusedKernel>& kernels,
                                                std::size_t first_id, FreshNames& names);

// `module`, which is tidied, with the kernels that `plan` gives for each sequential computation (by
// its number).
using FusionPlan = std::function<std::vector<FusedKernel>(const Computation&, std::size_t)>;
[[nodiscard]] Module with_plans(Module module, FreshNames names, const FusionPlan& plan);

}  // namespace tilecast::ir
