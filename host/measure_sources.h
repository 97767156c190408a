// Sources of kernels for a measuring session.
//
//   std::vector<WorkSource> sources{tile_source(device),
//                                  fusion_source(own_programs(), device, {})};
//
// Deterministic. Throws Error naming a file that cannot be read. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "host/measure_plan.h"
#include "hwdesc/device.h"

namespace tilecast::host {

// Set "tiles": tile_workloads(), each with many tiles.
[[nodiscard]] WorkSource tile_source(const hwdesc::Device& device);

// Set "schedules": the twelve convolutions of ResNet-18 (schedule_workloads()), each with every
// tile of its template (schedule/convolution.h): 6,852 in all, as many as Tomczak et al. (arXiv:
// 1904.11876) measured.
[[nodiscard]] WorkSource schedule_source(const hwdesc::Device& device);

// Set "fusion": the programs fused by random configurations; every distinct kernel once, with the
// tile that the model chooses. The kernels of already fused programs are used unchanged.
[[nodiscard]] WorkSource fusion_source(const std::vector<std::string>& files,
                                       const hwdesc::Device& device, const FusionCut& cut);
[[nodiscard]] std::vector<std::string> own_programs();  // paths of the shipped programs

// Set "files": the kernels that `simulate` finds in the files, each with many tiles.
[[nodiscard]] WorkSource file_source(const std::vector<std::string>& files,
                                     const hwdesc::Device& device, Seconds longest);

// Set "again": the kernels of a measurement set in random order, each with up to `tiles` (0: all)
// of its measured tiles, spread from its fastest to its slowest.
[[nodiscard]] WorkSource set_source(const std::string& directory, const hwdesc::Device& device,
                                    std::size_t tiles, std::uint64_t seed);

}  // namespace tilecast::host
