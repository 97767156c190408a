// Unmeasured tiles labelled by physics, to learn from before the few measured ones (ALCOP, MLSys
// 2023, section IV-C).
//
// Every kernel of the examples gives tiles that its device could run (analytical_model.h, tiles())
// and that no example has, in equal shares, chosen by `seed`; what one does not have, others give.
// A kernel that has no tiles, or is measured without one, gives itself. Labels are analytical
// times; weights are 1. A kernel that physics cannot answer gives none. Parameters of how a kernel
// was written are missing (NaN): physics knows none. Kernels of other programs (corpus.h) join
// them, with tiles where a measured row has one; of more kernels than rows, as many are drawn.
// Deterministic, whatever `jobs`.
//
// What was learned of physics imperfectly is no correction, so a learner with `target: residual`
// keeps of it what says which kernels are alike, and starts from a correction of 0:
//   trees     the splits: their leaves are refitted to the measured residuals (refit_leaves()),
//   then
//             new trees follow
//   networks  all but the last layer, which starts from 0; so does a learner of times whose tasks
//             are not the time alone
// A learner of times goes on from the times it learned.
#pragma once

#include <deque>
#include <memory>

#include "learned/training/corpus.h"
#include "learned/training/examples.h"

namespace tilecast::learned {

// Owns the tiles and the corpus that its examples point to.
class Unmeasured {
 public:
  Unmeasured(const Examples& measured, const PretrainSpec& spec, std::uint64_t seed, int jobs);
  Unmeasured(const Unmeasured&) = delete;
  Unmeasured& operator=(const Unmeasured&) = delete;

  // By kernel, in the order of their numbers; with priors.
  [[nodiscard]] const Examples& examples() const { return examples_; }
  // The rows of `measured` (those it was made of, or more of their sets), then these.
  [[nodiscard]] Examples joined_to(const Examples& measured) const;

 private:
  std::unique_ptr<const Corpus> corpus_;  // null: none
  std::deque<analytical::TileConfig> tiles_;
  std::vector<float> no_parameters_;  // as many NaN as the longest list of names
  Examples examples_;
};

// What physics says of these rows, which have priors, as numbers of about 1: rows x width().
//   time     1 column: standardised log of seconds
//   bounds   kBoundCount: of each resource, on the same scale; NaN where it is idle
//   rank     1: share of the kernel's other rows that are faster; NaN of a single row
//   binding  kBoundCount: 1 for the bound that holds the kernel up, else 0
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
