// Unmeasured tiles with analytical labels, for training before the few measured tiles (ALCOP, MLSys
// 2023, section IV-C).
//
// Every kernel of the examples contributes tiles that its device can run (analytical_model.h,
// tiles()) and that no example has, in equal shares, chosen by `seed`; kernels with more tiles fill
// in for kernels with fewer. A kernel without tiles, or measured without one, contributes itself.
// Labels are analytical times; weights are 1. Kernels without an analytical estimate contribute
// nothing. Parameters of a kernel's implementation are NaN, because the analytical model does not
// know them. Kernels of other programs (Corpus) are added, with tiles if a measured row has one;
// if there are more kernels than rows, a random sample. The result does not depend on `jobs`.
//
// Errors in learning the analytical model must not become corrections, so a learner with `target:
// residual` only keeps what says which kernels are similar, the splits: their leaves are refitted
// to the measured residuals (refit_leaves()), and new trees are added. A learner of times continues
// from the learned times.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hwdesc/device.h"
#include "ir/program.h"
#include "learned/training/examples.h"
#include "learned/training/learner.h"

namespace tilecast::learned {

// Unmeasured kernels, to be labelled by the analytical model: from programs, each cut by Tilecast's
// fusion rules and by random legal fusions (Kaufman et al., MLSys 2021, section 4), laid out for
// every device. Equal kernels of a device occur once. Internal to training.

struct CorpusKernel {
  const ir::Kernel* kernel = nullptr;
  const hwdesc::Device* device = nullptr;
  std::string program;  // file name
};

// Owns the kernels, and the devices named by `spec`.
class Corpus {
 public:
  // `devices`: used if `spec` names none; must outlive it. Throws Error for an unreadable program
  // or device. The result does not depend on `jobs`.
  Corpus(const PretrainSpec& spec, std::vector<const hwdesc::Device*> devices, std::uint64_t seed,
         int jobs);
  Corpus(const Corpus&) = delete;
  Corpus& operator=(const Corpus&) = delete;

  // By device, then program, in the order of the program's text.
  [[nodiscard]] const std::vector<CorpusKernel>& kernels() const { return kernels_; }

 private:
  std::deque<hwdesc::Device> described_;
  std::vector<std::vector<ir::Program>> programs_;  // by device and file: one per cut
  std::vector<CorpusKernel> kernels_;
};

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

}  // namespace tilecast::learned
