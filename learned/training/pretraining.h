// Unmeasured tiles with analytical labels, for training before the few measured tiles (ALCOP, MLSys
// 2023, section IV-C).
//
// Every kernel of the examples contributes tiles that its device can run (analytical_model.h,
// tiles()) and that no example has, in equal shares, chosen by `seed`; kernels with more tiles fill
// in for kernels with fewer. A kernel without tiles, or measured without one, contributes itself.
// Labels are analytical times; weights are 1. Kernels without an analytical estimate contribute
// nothing. Parameters of a kernel's implementation are NaN, because the analytical model does not
// know them. Kernels of other programs (corpus.h) are added, with tiles if a measured row has one;
// if there are more kernels than rows, a random sample. The result does not depend on `jobs`.
//
// Errors in learning the analytical model must not become corrections, so a learner with `target:
// residual` only keeps what says which kernels are similar, and starts from a correction of 0:
//   trees     keep the splits; leaves are refitted to the measured residuals (refit_leaves()), and
//             new trees are added
//   networks  keep all but the last layer, which starts from 0; the same for a learner of times
//             whose tasks are not the time alone
// A learner of times continues from the learned times.
#pragma once

#include <deque>
#include <memory>

#include "learned/training/corpus.h"
#include "learned/training/examples.h"

namespace tilecast::learned {

// Owns the tiles and the corpus to which its examples point.
class Unmeasured {
 public:
  Unmeasured(const Examples& measured, const PretrainSpec& spec, std::uint64_t seed, int jobs);
  Unmeasured(const Unmeasured&) = delete;
  Unmeasured& operator=(const Unmeasured&) = delete;

  // By kernel, in the order of their numbers; with priors.
  [[nodiscard]] const Examples& examples() const { return examples_; }
  // The rows of `measured` (those of the constructor, or more from their sets), then these.
  [[nodiscard]] Examples joined_to(const Examples& measured) const;

 private:
  std::unique_ptr<const Corpus> corpus_;  // null: no other programs
  std::deque<analytical::TileConfig> tiles_;
  std::vector<float> no_parameters_;  // NaN, as many as the longest list of names
  Examples examples_;
};

// Analytical labels of these rows, which must have priors, scaled to about 1: rows x width().
//   time     1 column: standardised log of seconds
//   bounds   kBoundCount: per resource, on the same scale; NaN if idle
//   rank     1: share of the kernel's other rows that are faster; NaN for a single row
//   binding  kBoundCount: 1 for the limiting bound, else 0
struct TaskTable {
  std::size_t width = 0;
  std::vector<float> values;

  [[nodiscard]] std::span<const float> row(std::size_t i) const {
    return std::span(values).subspan(i * width, width);
  }
};
[[nodiscard]] TaskTable task_table(const PretrainSpec& spec, const Examples& examples,
                                   std::span<const std::size_t> rows);

}  // namespace tilecast::learned
