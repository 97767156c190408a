// A hybrid on disk: a folder as of any model (learned/model_dir.h), whose card says `hybrid` and
// whose kind is physics, with
//
//   correction.yaml  what the trees see, the rules of regimes (hybrid/shrinkage.h)
//   member_N.ubj     the trees of the bag (hybrid/bag.h)
//   known.csv        measured kernels (hybrid/known_kernels.h)
//   bands.csv        intervals (hybrid/bands.h)
//   device_N.yaml    devices it was fitted on, as described, whole
//
// Refuses (Error) what model_dir refuses, and files of its own that are missing, malformed or of
// other columns than this build computes. Thread-safe.
#pragma once

#include "hybrid/hybrid_model.h"
#include "learned/model_dir.h"

namespace tilecast::hybrid {

inline constexpr std::size_t kMostDevices = 16;

struct LoadedHybrid {
  learned::ModelCard card;
  HybridParts parts;
};

// As save_model(); the card's `hybrid` is set.
void save_hybrid(const learned::ModelCard& card, const HybridParts& parts,
                 const std::string& directory, bool force = false);
[[nodiscard]] LoadedHybrid load_hybrid(const std::string& directory);
[[nodiscard]] std::string device_path(const std::string& directory, std::size_t device);
[[nodiscard]] bool is_hybrid_directory(const std::string& path);  // has a card and a correction

}  // namespace tilecast::hybrid
