// A measurement set as hardware for a search: a program's time is the sum of its kernels' times.
//
//   SetHardware known(set, device);
//
// Kernels are looked up by canonical hash (ir/canonical_hash.h) and tile. A program with a kernel
// that is not in the set fails. Deterministic, for comparing searches.
#pragma once

#include <map>
#include <string>

#include "measured/samples.h"
#include "search/hardware.h"

namespace tilecast::search {

class SetHardware final : public Hardware {
 public:
  // Programs are laid out for `device`, which must outlive this. If a kernel and tile were measured
  // more than once, the fastest time is used.
  SetHardware(const measured::SampleSet& set, const hwdesc::Device& device);
  [[nodiscard]] std::vector<HardwareTime> time(std::span<const HardwareJob> jobs) override;
  [[nodiscard]] bool can_cut(const ir::Kernel& kernel,
                             const analytical::TileConfig& tile) const override;

 private:
  // Seconds; nullopt: not in the set.
  [[nodiscard]] std::optional<double> find(const ir::Kernel& kernel,
                                           const analytical::TileConfig& tile) const;
  [[nodiscard]] HardwareTime time(const HardwareJob& job) const;

  const hwdesc::Device& device_;
  std::map<std::pair<std::string, std::string>, double> seconds_;  // by hash and tile
};

}  // namespace tilecast::search
