// What `measure host` runs: kernels as HLO modules, so that what is measured is what a set holds.
//
//   std::vector<Workload> tiles = tile_workloads(device);
//   ProgramKernels cut = fusion_workloads(program, device, {.configurations = 32});
//
// Tile workloads have many valid tiles each; fusion workloads come from programs cut by random
// legal fusion configurations (Kaufman et al., MLSys 2021, section 4), duplicates removed by what
// they compute (ir/canonical_hash.h). Deterministic for a seed. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hwdesc/device.h"
#include "hwdesc/units.h"
#include "ir/fusion/fusion.h"
#include "ir/hlo.h"
#include "ir/kernel.h"

namespace tilecast::host {

struct Workload {
  std::string name;    // "resnet18_c2", "mlp_train.c17.dot_fusion.4"
  std::string family;  // shape family, or the program it was cut from: what splits keep together
  ir::Module module;   // its entry launches this one kernel; laid out for the device
  ir::Kernel kernel;
  std::string hash;  // ir::canonical_hash(kernel)
};

// The twelve convolutions of ResNet-18 (He et al., CVPR 2016), matrix products, products with fused
// epilogues, reductions, transposes, row normalisations. Sizes are chosen for one core of about
// 50 GFLOP/s and 15 GB/s: a run takes from 20 us to 30 ms, the last convolution about 75 ms.
[[nodiscard]] std::vector<Workload> tile_workloads(const hwdesc::Device& device);

// The twelve convolutions of ResNet-18 with the network's own sizes; families C1 to C12.
[[nodiscard]] std::vector<Workload> schedule_workloads(const hwdesc::Device& device);

// Which configurations cut a program, and what is too long to measure.
struct FusionCut {
  std::size_t configurations = 16;
  std::uint64_t seed = 1;
  Seconds longest{0.05};  // by analytical::speed_of_light() on the device
};

struct ProgramKernels {
  std::vector<Workload> workloads;              // each distinct kernel once, where it came up first
  std::size_t kernels = 0;                      // cut by all configurations together
  std::size_t duplicates = 0;                   // of them, same hash as one before
  std::map<std::string, std::size_t> left_out;  // distinct kernels: reason -> how many
};

// The kernels of `program` under `cut.configurations` fusion configurations; of a program that is
// fused already (ir::is_optimised), its kernels as they are. Kernels that are not computed on one
// core (collectives, custom calls, random numbers ...) and those that take too long are left out
// and counted.
[[nodiscard]] ProgramKernels fusion_workloads(const ir::Module& program,
                                              const hwdesc::Device& device,
                                              const FusionCut& cut = {});

// Why the module's text does not read back as the same kernel, as a reader of a set would read it;
// "" when it does.
[[nodiscard]] std::string not_readable(const Workload& workload, const hwdesc::Device& device);

// As ir::program_for() lays programs out.
[[nodiscard]] ir::Module laid_out(ir::Module module, const hwdesc::Device& device);

// Configuration `number` of a seed: 0 is what the rules give, 1 fuses nothing, others are random.
struct FusionDraw {
  ir::FusionOptions options;
  double share = 1;  // of the decisions by the rules (ir/fusion/fusion_space.h)
  std::uint64_t seed = 0;
};
[[nodiscard]] FusionDraw fusion_configuration(std::uint64_t seed, std::size_t number);
[[nodiscard]] ir::Module fused(const ir::Module& program, const FusionDraw& draw);

struct ProgramVariant {
  std::string name;    // "mlp_train.c17"
  ir::Module program;  // fused and laid out for the device
  std::size_t kernels = 0;
};

// The whole program under each configuration, equal results once: for testing that a program takes
// as long as its kernels together. Throws Error for programs with loops, branches or kernels that
// fusion_workloads() leaves out.
[[nodiscard]] std::vector<ProgramVariant> whole_programs(const ir::Module& program,
                                                         const hwdesc::Device& device,
                                                         const FusionCut& cut = {});

}  // namespace tilecast::host
