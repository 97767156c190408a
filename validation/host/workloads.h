// What `measure host` runs: kernels as HLO modules, so that what is measured is what a set holds.
//
// Tile workloads have many valid tiles each; fusion workloads come from programs cut by random
// legal fusion configurations (Kaufman et al., MLSys 2021, section 4), duplicates removed by what
// they compute (ir/canonical_hash.h). Deterministic for a seed. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hwdesc/device.h"
#include "ir/hlo.h"
#include "ir/kernel.h"

namespace tilecast::host {

struct Workload {
  std::string name;    // "resnet18_c2", "mlp_train.c17.fusion.4"
  std::string family;  // shape family, or the program it was cut from: what splits keep together
  ir::Module module;   // its entry launches this one kernel; laid out for the device
  ir::Kernel kernel;
  std::string hash;  // ir::canonical_hash(kernel)
};

// The twelve convolutions of ResNet-18 (seed 002, Table 1), matrix products, products with fused
// epilogues, reductions, transposes, row normalisations.
[[nodiscard]] std::vector<Workload> tile_workloads(const hwdesc::Device& device);

// The kernels of `program` (before fusion) under `configurations` random fusion configurations,
// each distinct kernel once. Kernels that are not computed on a device (collectives, host) are left
// out.
[[nodiscard]] std::vector<Workload> fusion_workloads(const ir::Module& program,
                                                     const hwdesc::Device& device,
                                                     std::size_t configurations,
                                                     std::uint64_t seed);

}  // namespace tilecast::host
