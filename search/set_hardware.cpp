#include <fmt/format.h>

#include <algorithm>

#include "analytical/layout_rules.h"
#include "host/c_program.h"
#include "ir/canonical_hash.h"
#include "ir/load_program.h"
#include "search/hardware.h"

namespace tilecast::search {

SetHardware::SetHardware(const measured::SampleSet& set, const hwdesc::Device& device)
    : device_(device) {
  for (const measured::Sample& sample : set.samples) {
    const measured::Workload& work = set.works[sample.work];
    if (work.parts.size() != 1) continue;
    const ir::Kernel& kernel = work.parts.front().kernel;
    const double seconds = sample.measured.value;
    const auto [at, is_new] =
        seconds_.try_emplace({ir::canonical_hash(kernel), to_string(sample.tile)}, seconds);
    if (!is_new) at->second = std::min(at->second, seconds);
  }
}

std::optional<double> SetHardware::find(const ir::Kernel& kernel,
                                        const analytical::TileConfig& tile) const {
  const auto found = seconds_.find({ir::canonical_hash(kernel), to_string(tile)});
  return found == seconds_.end() ? std::nullopt : std::optional(found->second);
}

bool SetHardware::can_cut(const ir::Kernel& kernel, const analytical::TileConfig& tile) const {
  return find(kernel, tile).has_value();
}

HardwareTime SetHardware::time(const HardwareJob& job) const {
  const ir::DeviceProgram built =
      ir::program_for({job.module.file, job.module, {}}, analytical::layout_rules(device_), {});
  HardwareTime total{0.0};
  for (const ir::ScheduledKernel& scheduled : built.program.kernels()) {
    const ir::Kernel& kernel = scheduled.kernel;
    const auto given = job.tiles.find(ir::canonical_hash(kernel));
    const analytical::TileConfig tile =
        given != job.tiles.end() ? given->second : host::default_tile(kernel, device_);
    std::optional<double> seconds = find(kernel, tile);
    if (!seconds && given == job.tiles.end()) seconds = find(kernel, {});
    if (!seconds) {
      return {std::nullopt, fmt::format("kernel {} with the tile '{}' is not in the set",
                                        kernel.name(), to_string(tile))};
    }
    *total.seconds += *seconds * scheduled.multiplicity;
  }
  return total;
}

std::vector<HardwareTime> SetHardware::time(std::span<const HardwareJob> jobs) {
  std::vector<HardwareTime> times;
  for (const HardwareJob& job : jobs) times.push_back(time(job));
  return times;
}

}  // namespace tilecast::search
