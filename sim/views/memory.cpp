#include "sim/views/memory.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/views/text_table.h"

namespace tilecast::sim::views {
namespace {

// Capacity is binary: 1 GiB is 2^30 bytes.
std::string binary_size(double bytes) {
  static constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", compact(bytes), kUnits[unit]);
}

}  // namespace

std::string memory_line(const ProgramMemory& memory) {
  const ir::MemorySplit& peak = memory.peak;
  std::string out = fmt::format("memory    peak {} of {}: arguments {}, temporaries {}, outputs {}",
                                binary_size(peak.total()), binary_size(memory.capacity.value),
                                binary_size(peak.arguments), binary_size(peak.temporaries),
                                binary_size(peak.outputs));
  if (peak.constants > 0) out += fmt::format(", constants {}", binary_size(peak.constants));
  if (!memory.at.empty()) out += fmt::format("  (at {})", memory.at);
  if (!memory.fits())
    out += fmt::format("  DOES NOT FIT: {} too much", binary_size(-memory.spare()));
  if (memory.unsized > 0) {
    out += fmt::format("  ({} arrays of unbounded size not counted)", memory.unsized);
  }
  return out + "\n";
}

nlohmann::ordered_json memory_json(const ProgramMemory& memory) {
  const ir::MemorySplit& peak = memory.peak;
  return {{"peak_bytes", peak.total()},
          {"capacity_bytes", memory.capacity.value},
          {"fits", memory.fits()},
          {"spare_bytes", memory.spare()},
          {"peak_arguments_bytes", peak.arguments},
          {"peak_temporaries_bytes", peak.temporaries},
          {"peak_outputs_bytes", peak.outputs},
          {"peak_constants_bytes", peak.constants},
          {"outputs_bytes", memory.outputs},
          {"aliased_bytes", memory.aliased},
          {"unsized_arrays", memory.unsized},
          {"at", memory.at}};
}

}  // namespace tilecast::sim::views
