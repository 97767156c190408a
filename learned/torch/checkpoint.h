// State of a training after an epoch, as a file from which it resumes with bit-identical results.
//
//   save_checkpoint(path, checkpoint);
//   std::optional<Checkpoint> found = load_checkpoint(path, fingerprint);
//
// Not torch::serialize, which loads damaged archives (59 of 60 with one flipped bit), executes
// their contents, and is no faster (1.7 ms to save 0.8 MB of weights and moments). Random
// generators are not stored, since they follow from the seed and the epoch. The file
// (binary_file.h) is written under a temporary name and renamed, so a stopped process leaves either
// the old or the new one.
#pragma once

#include <array>
#include <optional>

#include "learned/torch/adam.h"
#include "learned/torch/network.h"

namespace tilecast::learned::torch_module {

using Fingerprint = std::array<std::uint64_t, 2>;

// Covers everything that determines a training's results, except the number of epochs and the
// patience, so that a training can be continued for longer.
[[nodiscard]] Fingerprint fingerprint(const NetworkSpec& spec, const NetworkWidths& widths,
                                      const TrainingSpec& training,
                                      std::span<const GraphExample> train,
                                      std::span<const GraphExample> validation);

struct Checkpoint {
  Fingerprint fingerprint = {};
  std::vector<EpochReport> history;   // one per completed epoch
  int best_epoch = 0;                 // 0: none yet
  std::string weights, best_weights;  // save_weights()
  AdamState adam;
};

// Throws Error "FILE: cannot write it: why".
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);
// nullopt if the file does not exist. Throws Error if it is corrupted, truncated, or has another
// fingerprint.
[[nodiscard]] std::optional<Checkpoint> load_checkpoint(const std::string& path,
                                                        const Fingerprint& expected);

}  // namespace tilecast::learned::torch_module
