// Workloads of `measure host`: kernels as HLO modules, exactly as a measurement set stores them.
//
//   std::vector<Workload> tiles = tile_workloads(device);
//   ProgramKernels cut = fusion_workloads(program, device, {.configurations = 32});
//
// Tile workloads have many valid tiles each; fusion workloads come from programs fused by random
// legal configurations (Kaufman et al., MLSys 2021, section 4), without duplicates by canonical
// hash (ir/canonical_hash.h). Deterministic for a seed. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
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
  std::string family;  // shape family, or source program; splits keep a family together
  ir::Module module;   // its entry launches only this kernel; laid out for the device
  ir::Kernel kernel;
  std::string hash;  // ir::canonical_hash(kernel)
};

// A folder beside that of the presets: "programs", "kernels". Empty if there are no presets.
[[nodiscard]] std::filesystem::path shipped_folder(const std::string& name);

// Convolutions, matrix products, products with fused epilogues, reductions, transposes, row
// normalisations: the kernels of configs/kernels. Throws Error if they are missing.
[[nodiscard]] std::vector<Workload> tile_workloads(const hwdesc::Device& device);

// The twelve convolutions of ResNet-18 with the network's own sizes; families C1 to C12.
[[nodiscard]] std::vector<Workload> schedule_workloads(const hwdesc::Device& device);

// Fusion configurations to draw for a program, and the time limit of kernels.
struct FusionCut {
  std::size_t configurations = 16;
  std::uint64_t seed = 1;
  Seconds longest{0.05};  // by analytical::speed_of_light() on the device
};

struct ProgramKernels {
  std::vector<Workload> workloads;  // each distinct kernel once, in order of first occurrence
  std::size_t kernels = 0;          // total over all configurations
  std::size_t duplicates = 0;       // of these, repeated hashes
  std::map<std::string, std::size_t> left_out;  // distinct kernels: reason -> how many
};

// The kernels of `program` under `cut.configurations` fusion configurations; an already fused
// program (ir::is_optimised) gives its own kernels. Kernels that do not run on one core
// (collectives, custom calls, random numbers ...) and those that take too long are left out and
// counted.
[[nodiscard]] ProgramKernels fusion_workloads(const ir::Module& program,
                                              const hwdesc::Device& device,
                                              const FusionCut& cut = {});

// Why parsing the module's text, as a reader of a set does, would not give the same kernel; "" if
// it does.
[[nodiscard]] std::string not_readable(const Workload& workload, const hwdesc::Device& device);

// Assigns layouts as ir::program_for() does.
[[nodiscard]] ir::Module laid_out(ir::Module module, const hwdesc::Device& device);

// Configuration `number` of a seed: 0 is that of the rules, 1 fuses nothing, others are random.
struct FusionDraw {
  ir::FusionOptions options;
  double share = 1;  // share of decisions made by the rules (ir/fusion/fusion_space.h)
  std::uint64_t seed = 0;
};
[[nodiscard]] FusionDraw fusion_configuration(std::uint64_t seed, std::size_t number);
[[nodiscard]] ir::Module fused(const ir::Module& program, const FusionDraw& draw);

}  // namespace tilecast::host
