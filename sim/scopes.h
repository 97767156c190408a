// Time of a program by the names that its framework gave: scopes (jax.named_scope, modules) and
// operations, as a tree.
//
//   for (const ScopeTime& scope : time_by_scope(run.kernels, 12)) ...   // indented by scope.depth
//
// Names come from `op_name` of the kernels' metadata. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hwdesc/units.h"
#include "sim/simulator.h"

namespace tilecast::sim {

// The scopes of "jit(step)/transpose(jvp(block))/mlp/dot_general", then its operation: {"block",
// "mlp", "dot_general"}. What only transforms a function (jit, jvp, transpose, vmap) is left out.
[[nodiscard]] std::vector<std::string_view> scope_path(std::string_view op_name);

// The scopes alone, "block/mlp"; "" where a name has none.
[[nodiscard]] std::string scope_of(std::string_view op_name);

struct ScopeTime {
  std::string name;  // of this level; levels that are all there is of the one above join it: "a/b"
  std::size_t depth = 0;
  Seconds time;         // of all kernels below it, x launches
  Seconds before = {};  // the same in the run that it is compared with
};

// The `most` nodes of the tree that take longest, parents before their children, longest first.
// Empty if no kernel has a name.
[[nodiscard]] std::vector<ScopeTime> time_by_scope(std::span<const SimulatedKernel> kernels,
                                                   std::size_t most);

// The same of two runs, the nodes with the largest changes. Kernels without a name are "(no
// scope)", so that the uppermost nodes add up to both runs.
[[nodiscard]] std::vector<ScopeTime> scope_changes(std::span<const SimulatedKernel> before,
                                                   std::span<const SimulatedKernel> after,
                                                   std::size_t most);

}  // namespace tilecast::sim
