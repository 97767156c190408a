// A measurement set as hardware of a search: a program takes what its kernels took, each alone.
//
//   SetHardware known(set, device);
//
// Kernels are found by what they compute (ir/canonical_hash.h) and their tile. A kernel that the
// set does not hold fails the program. Deterministic: for comparing searches.
#pragma once

#include <map>
#include <string>

#include "measured/samples.h"
#include "search/hardware.h"

namespace tilecast::search {

class SetHardware final : public Hardware {
 public:
  // The device, which outlives this, lays programs out. Of a kernel and tile that was measured more
  // than once the fastest counts.
  SetHardware(const measured::SampleSet& set, const hwdesc::Device& device);
  [[nodiscard]] std::vector<HardwareTime> time(std::span<const HardwareJob> jobs) override;
  [[nodiscard]] bool can_cut(const ir::Kernel& kernel,
                             const analytical::TileConfig& tile) const override;

 private:
  // Seconds; nothing: not in the set.
  [[nodiscard]] std::optional<double> find(const ir::Kernel& kernel,
                                           const analytical::TileConfig& tile) const;
  [[nodiscard]] HardwareTime time(const HardwareJob& job) const;

  const hwdesc::Device& device_;
  std::map<std::pair<std::string, std::string>, double> seconds_;  // by hash and tile
};

}  // namespace tilecast::search
