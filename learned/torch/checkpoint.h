// Where a training stands after an epoch, as a file that it resumes from to the same bits.
//
//   save_checkpoint(path, checkpoint);
//   std::optional<Checkpoint> found = load_checkpoint(path, fingerprint);
//
// Own code because torch::serialize, as fast as this (1.7 ms to save 0.8 MB of weights and
// moments), loads damaged archives (59 of 60 with one flipped bit) and runs what is in them.
// Generators need no place in it: they follow from the seed and the epoch. The file (binary_file.h)
// is written beside its place and renamed, so that a stopped process leaves the old one or the new.
#pragma once

#include <array>
#include <optional>

#include "learned/torch/adam.h"
#include "learned/torch/network.h"

namespace tilecast::learned::torch_module {

using Fingerprint = std::array<std::uint64_t, 2>;

// Of all that a training's bits follow from, but the number of epochs and the patience: a training
// may be continued for longer.
[[nodiscard]] Fingerprint fingerprint(const NetworkSpec& spec, const NetworkWidths& widths,
                                      const TrainingSpec& training,
                                      std::span<const GraphExample> train,
                                      std::span<const GraphExample> validation,
                                      std::string_view start = {});

struct Checkpoint {
  Fingerprint fingerprint = {};
  std::vector<EpochReport> history;   // one per epoch done
  int best_epoch = 0;                 // 0: none yet
  std::string weights, best_weights;  // save_weights()
  AdamState adam;
};

// Throws Error "FILE: cannot write it: why".
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);
// nullopt when there is no such file. Throws Error when it is corrupted, truncated, or of another
// fingerprint.
[[nodiscard]] std::optional<Checkpoint> load_checkpoint(const std::string& path,
                                                        const Fingerprint& expected);

}  // namespace tilecast::learned::torch_module
