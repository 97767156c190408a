#include "learned/training/corpus.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <unordered_set>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "base/parallel.h"
#include "hwdesc/device_yaml.h"
#include "ir/canonical_hash.h"
#include "ir/fusion/fusion_space.h"
#include "ir/load_program.h"

namespace tilecast::learned {
namespace {

namespace fs = std::filesystem;

// In the order of their names; a dump is one program, any other folder is one program per file.
std::vector<std::string> program_files(const PretrainSpec& spec) {
  std::vector<std::string> files;
  for (const std::string& program : spec.programs) {
    const fs::path path = (fs::path(spec.folder) / program).lexically_normal();
    if (!fs::is_directory(path)) {
      files.push_back(path.string());
      continue;
    }
    std::vector<std::string> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() == ".hlo") found.push_back(entry.path().string());
    }
    if (found.empty()) throw Error(path.string() + ": pretrain: programs: no *.hlo in this folder");
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

// Cut 0 follows the fusion rules; a program that is already fused is unchanged.
std::vector<ir::Program> cuts_of(const ir::Module& module, const hwdesc::Device& device,
                                 int fusions, std::uint64_t seed) {
  constexpr double kLeastFused = 0.25;  // below, few kernels have several ops
  const bool fused = ir::is_optimised(module);
  std::mt19937_64 random(seed);
  std::vector<ir::Program> cuts;
  for (int cut = 0; cut <= (fused ? 0 : fusions); ++cut) {
    const std::uint64_t drawn = random();
    const double share =
        cut == 0 ? 1
                 : kLeastFused + (1 - kLeastFused) * static_cast<double>(random() >> 11) * 0x1p-53;
    ir::LoadedModule loaded{
        module.file, fused ? module : ir::fuse_at_random(module, share, drawn), {}};
    cuts.push_back(
        ir::program_for(std::move(loaded), analytical::layout_rules(device), {}).program);
  }
  return cuts;
}

}  // namespace

Corpus::Corpus(const PretrainSpec& spec, std::vector<const hwdesc::Device*> devices,
               std::uint64_t seed, int jobs) {
  for (const std::string& name : spec.devices) described_.push_back(hwdesc::load_device(name));
  if (!described_.empty()) devices.clear();
  for (const hwdesc::Device& device : described_) devices.push_back(&device);
  const std::vector<std::string> files = program_files(spec);
  programs_.resize(files.size() * devices.size());
  base::parallel_for(files.size(), jobs, [&](std::size_t file) {
    const ir::Module module = ir::read_module(files[file]);
    for (std::size_t d = 0; d < devices.size(); ++d) {
      programs_[d * files.size() + file] = cuts_of(module, *devices[d], spec.fusions, seed);
    }
  });
  for (std::size_t d = 0; d < devices.size(); ++d) {
    std::unordered_set<std::string> known;
    for (std::size_t file = 0; file < files.size(); ++file) {
      for (const ir::Program& program : programs_[d * files.size() + file]) {
        for (const ir::ScheduledKernel& scheduled : program.kernels()) {
          if (!known.insert(ir::canonical_hash(scheduled.kernel)).second) continue;
          kernels_.push_back(
              {&scheduled.kernel, devices[d], fs::path(files[file]).filename().string()});
        }
      }
    }
  }
}

}  // namespace tilecast::learned
