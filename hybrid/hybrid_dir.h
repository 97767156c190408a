// A hybrid on disk: a model's folder (learned/model_dir.h) whose card says `hybrid: yes`, with
//
//   domain.csv     kernels, classes, devices it knows (hybrid/domain.h)
//   trust.yaml     weights and intervals (hybrid/trust.h)
//   device_N.yaml  devices it was fitted on, as calibrated, whole
//
// beside the residual's files; a hybrid that is physics alone has no residual. Refuses (Error) what
// model_dir refuses, and files of its own that are missing, malformed or of another device than the
// domain names. Thread-safe.
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
                 const std::string& training_csv, const std::string& directory, bool force = false);
[[nodiscard]] LoadedHybrid load_hybrid(const std::string& directory);
[[nodiscard]] std::string device_path(const std::string& directory, std::size_t device);
[[nodiscard]] bool is_hybrid_directory(const std::string& path);  // has a card and a trust.yaml

}  // namespace tilecast::hybrid
