// A hybrid on disk: a model folder (learned/model_dir.h) whose card says `hybrid`, of kind physics,
// with these files:
//
//   correction.yaml  feature groups of the trees, places and their rules (hybrid/shrinkage.h)
//   member_N.trees   the trees of the bag (hybrid/bag.h), compact
//   known_N.csv      the measured kernels of a place (hybrid/known_kernels.h)
//   bands.csv        intervals (hybrid/bands.h)
//   device_N.yaml    complete descriptions of the devices it was fitted on
//
// Throws Error as model_dir.h does, and if its files are missing, malformed, or have other columns
// than this build computes: trees, kernels of a place and devices when they are first used.
// Thread-safe.
#pragma once

#include "hybrid/hybrid_model.h"
#include "learned/model_dir.h"

namespace tilecast::hybrid {

inline constexpr std::size_t kMostDevices = 16;

struct LoadedHybrid {
  learned::ModelCard card;
  HybridParts parts;
};

// As save_model(); sets the card's `hybrid`.
void save_hybrid(const learned::ModelCard& card, const HybridParts& parts,
                 const std::string& directory, bool force = false);
[[nodiscard]] LoadedHybrid load_hybrid(const std::string& directory);
[[nodiscard]] std::string device_path(const std::string& directory, std::size_t device);
[[nodiscard]] bool is_hybrid_directory(const std::string& path);  // has a card and a correction

}  // namespace tilecast::hybrid
