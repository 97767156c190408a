// The models that come with Tilecast, and which devices they know; sim/model_choice.h chooses.
// Throws Error for a folder that cannot be read. Thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hwdesc/device.h"

namespace tilecast::sim {

// What reports call the folder of a shipped model: no path of one machine. Others: as they are.
[[nodiscard]] std::string display_path(const std::string& directory);
[[nodiscard]] std::vector<std::string> trained_on(const std::string& directory);  // devices

// What a shipped model was trained on.
struct Trained {
  std::vector<std::string> devices;
  hwdesc::Execution execution;  // of the first of them

  explicit Trained(const std::string& directory);
  // 0: on the device; i: on the i-th of its lineage; 1000: on several of its kind, so that it knows
  // how far they differ.
  [[nodiscard]] std::optional<std::size_t> distance(const hwdesc::Device& device) const;
};

// The index of the first that was trained nearest to the device.
[[nodiscard]] std::optional<std::size_t> nearest_match(std::span<const Trained* const> candidates,
                                                       const hwdesc::Device& device);

}  // namespace tilecast::sim
