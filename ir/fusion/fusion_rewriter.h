// Tidies computations and replaces groups of instructions by fusion instructions; part of fuse().
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/fusion/fusion_space.h"

namespace tilecast::ir {

// Reorders the computation by content (order_by_content()) and removes unused instructions,
// annotation custom calls and reshapes to the same dimensions. Reshapes that keep the order of the
// tiles (only ones added or removed, or only major dimensions regrouped) become bitcasts.
[[nodiscard]] Computation tidied(Computation computation);
// Tidies every sequential computation; computation ids do not change.
[[nodiscard]] Module tidied(Module module);

// Generates computation and instruction names that are unused in the module.
class FreshNames {
 public:
  explicit FreshNames(const Module& module);
  explicit FreshNames(std::int64_t highest) : highest_(highest) {}
  [[nodiscard]] std::int64_t highest() const { return highest_; }
  [[nodiscard]] std::string next(const std::string& stem);

 private:
  std::int64_t highest_ = 0;  // largest numeric suffix of any name
};

struct RewrittenComputation {
  Computation caller;
  std::vector<Computation> fused;
};

// `computation` with one fusion instruction per kernel of more than one op (scalar constants are
// cloned into it), in the topological order nearest to the source text. The k-th new computation
// has the id `first_id` + k.
[[nodiscard]] RewrittenComputation with_fusions(Computation computation,
                                                const std::vector<FusedKernel>& kernels,
                                                std::size_t first_id, FreshNames& names);

// `module`, which must be tidied, with fusions for the kernels that `plan` returns for each
// sequential computation (called with the computation and its index).
using FusionPlan = std::function<std::vector<FusedKernel>(const Computation&, std::size_t)>;
[[nodiscard]] Module with_plans(Module module, FreshNames names, const FusionPlan& plan);

}  // namespace tilecast::ir
