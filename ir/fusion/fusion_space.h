// The decisions behind a program's fusions, as data: the search space for fusions (Kaufman et al.,
// MLSys 2021, section 4; Phothilimthana et al., PACT 2021).
//
//   FusionSpace space(module);                     // the module must not be fused yet
//   FusionConfiguration chosen = space.by_rules();
//   chosen[17] = FusionChoice::kKeep;              // decisions()[17]: add.7 stays out of dot.5's
//   Module fused = space.fused(chosen);
//
// A decision belongs to an edge of the graph, from an array to an instruction that reads it:
//   into    the reader's kernel computes the array
//   output  the kernels of both become one, and the array is one of its results
//   beside  the reader's kernel becomes one with others that read the array
// Every vector of choices is legal: a step that is impossible is not taken, whatever was chosen.
// Decisions are numbered in the order of the program, independent of names. Immutable; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/source_text.h"
#include "ir/compiler_notes.h"
#include "ir/fusion/fusion.h"

namespace tilecast::ir {

enum class FusionStep : std::uint8_t { kInto, kOutput, kBeside };
inline constexpr std::string_view kFusionSteps[] = {"into", "output", "beside"};

enum class FusionChoice : std::uint8_t {
  kRule,  // as fuse() decides
  kKeep,  // the step is not taken
  kFuse   // taken even if recomputing the array moves more bytes than storing it
};
inline constexpr std::string_view kFusionChoices[] = {"rule", "keep", "fuse"};

struct FusionDecision {
  FusionStep step = FusionStep::kInto;
  ComputationId computation;   // in FusionSpace::module()
  InstrId array, reader;       // in that computation
  bool may_recompute = false;  // whether kFuse can differ from kRule
};
using FusionConfiguration = std::vector<FusionChoice>;  // by decision

// One kernel in a plan.
struct FusedKernel {
  std::vector<InstrId> members;  // any order; a member may also belong to other kernels
  std::vector<InstrId> roots;    // members used outside the kernel
  std::optional<GpuCode> code;   // how XLA:GPU writes it, of kernels with reductions
};

// The users of every instruction, in the order of the text; a user that reads an array twice is
// listed twice. Edges are numbered by array, then user.
class FusionGraph {
 public:
  explicit FusionGraph(const Computation& computation);
  [[nodiscard]] std::span<const std::uint32_t> users(std::uint32_t id) const {
    return std::span(users_).subspan(first_user_[id], first_user_[id + 1] - first_user_[id]);
  }
  [[nodiscard]] std::size_t first_edge(std::uint32_t id) const { return first_user_[id]; }
  [[nodiscard]] std::size_t edges() const { return users_.size(); }
  // True if it has control successors, so that it must stay an instruction.
  [[nodiscard]] bool is_pinned(std::uint32_t id) const { return pinned_[id]; }

 private:
  std::vector<std::uint32_t> users_, first_user_;
  std::vector<bool> pinned_;
};

// The choices at the edges of one computation; empty: the rules everywhere.
struct FusionChoices {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::span<const std::uint32_t> decisions;  // indexed by step, then edge; kNone: no decision
  std::span<const FusionChoice> chosen;      // by decision

  [[nodiscard]] bool empty() const { return chosen.empty(); }
  [[nodiscard]] FusionChoice at(FusionStep step, std::size_t edge) const {
    const std::size_t edges = decisions.size() / std::size(kFusionSteps);
    const std::uint32_t decision = decisions[static_cast<std::size_t>(step) * edges + edge];
    return decision == kNone ? FusionChoice::kRule : chosen[decision];
  }
};

class FusionSpace {
 public:
  explicit FusionSpace(Module module, const FusionOptions& options = {});

  // The program without dead code, annotations and reshapes to equal sizes.
  [[nodiscard]] const Module& module() const { return module_; }
  [[nodiscard]] std::span<const FusionDecision> decisions() const { return decisions_; }
  [[nodiscard]] bool is_sequential(ComputationId id) const { return sequential_[id.index()]; }

  [[nodiscard]] FusionConfiguration by_rules() const {
    return FusionConfiguration(decisions_.size(), FusionChoice::kRule);
  }
  // A random configuration: each decision is kRule with probability `share`, otherwise kKeep.
  // Deterministic for a seed.
  [[nodiscard]] FusionConfiguration random(double share, std::uint64_t seed) const;

  // The kernels of a sequential computation. Instructions outside all kernels are launched by
  // themselves.
  [[nodiscard]] std::vector<FusedKernel> plan(ComputationId computation,
                                              const FusionConfiguration& chosen) const;
  // The fused module. With by_rules() it is the result of fuse().
  [[nodiscard]] Module fused(const FusionConfiguration& chosen) const;

  // 32 hex digits that identify the computation: unaffected by renaming, different after any other
  // change.
  [[nodiscard]] std::string program_hash() const;
  // A first line that identifies the program, then a line for each choice other than kRule:
  //   tilecast.fusion/1 9b74c9897bac770ffc029102a200c5de 412 decisions
  //   keep into 0:17>23  # dot.5 > add.7
  [[nodiscard]] std::string text_of(const FusionConfiguration& chosen) const;
  // Throws Error, with the line, if the text is for another program or names an unknown decision.
  [[nodiscard]] FusionConfiguration read(const base::SourceText& text) const;

 private:
  void list_decisions(ComputationId id);
  [[nodiscard]] FusionChoices choices(std::size_t computation,
                                      const FusionConfiguration& chosen) const {
    return {slots_[computation], chosen};
  }
  [[nodiscard]] std::string name_of(const FusionDecision& decision) const;

  Module module_;
  FusionOptions options_;
  std::int64_t highest_number_;  // largest numeric suffix of a name before tidying
  std::vector<bool> sequential_;
  std::vector<FusionGraph> graphs_;                // by computation
  std::vector<std::vector<std::uint32_t>> slots_;  // by computation: FusionChoices::decisions
  std::vector<FusionDecision> decisions_;
};

// The module fused by a random configuration; see FusionSpace::random().
[[nodiscard]] Module fuse_at_random(Module module, double share, std::uint64_t seed,
                                    const FusionOptions& options = {});

}  // namespace tilecast::ir
