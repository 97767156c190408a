// The models shipped with Tilecast, and the devices they were trained on; sim/model_choice.h
// chooses among them. Throws Error for an unreadable folder. Thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hwdesc/device.h"

namespace tilecast::sim {

// The path of a shipped model's folder for reports, independent of this machine; other folders are
// returned unchanged.
[[nodiscard]] std::string display_path(const std::string& directory);
[[nodiscard]] std::vector<std::string> trained_on(const std::string& directory);  // devices

// The training devices of a shipped model.
struct Trained {
  std::vector<std::string> devices;
  hwdesc::Execution execution;  // of the first device

  explicit Trained(const std::string& directory);
  // 0: trained on the device; i: on the i-th of its lineage; 1000: on several devices of its kind,
  // so that the model knows how much they differ.
  [[nodiscard]] std::optional<std::size_t> distance(const hwdesc::Device& device) const;
};

// The index of the first candidate with the smallest distance to the device.
[[nodiscard]] std::optional<std::size_t> nearest_match(std::span<const Trained* const> candidates,
                                                       const hwdesc::Device& device);

}  // namespace tilecast::sim
