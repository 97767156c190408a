#include "host/measure_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "hwdesc/device_yaml.h"
#include "ir/canonical_hash.h"
#include "ir/load_program.h"
#include "ir/program.h"
#include "ir/read_module.h"
#include "measured/measurement_set.h"
#include "schedule/convolution.h"

namespace tilecast::host {
namespace {

namespace fs = std::filesystem;

// The kernels of all files, fused according to `cut`; counts those left out.
WorkSource cut_files(const std::vector<std::string>& files, const hwdesc::Device& device,
                     const FusionCut& cut) {
  std::vector<ProgramKernels> parts(files.size());
  base::parallel_for(files.size(), base::default_jobs(), [&](std::size_t i) {
    parts[i] = fusion_workloads(ir::read_module(files[i]), device, cut);
  });
  WorkSource source;
  for (ProgramKernels& part : parts) {
    std::ranges::move(part.workloads, std::back_inserter(source.workloads));
    for (const auto& [reason, kernels] : part.left_out) source.left_out[reason] += kernels;
  }
  return source;
}

// The rows of one kernel file.
struct MeasuredKernel {
  std::string name, family;
  std::vector<const measured::MeasurementRow*> rows;
};

std::vector<analytical::TileConfig> sampled_tiles(MeasuredKernel& kernel, std::size_t most,
                                                  std::uint64_t seed) {
  std::ranges::stable_sort(kernel.rows, {}, &measured::MeasurementRow::runtime);
  std::vector<analytical::TileConfig> tiles;
  const std::size_t count = most == 0 ? kernel.rows.size() : most;
  for (const std::size_t i : spread_sample(kernel.rows.size(), count, seed)) {
    tiles.push_back(kernel.rows[i]->tile);
  }
  return tiles;
}

}  // namespace

WorkSource tile_source(const hwdesc::Device& device) {
  return {.set = "tiles", .workloads = tile_workloads(device), .many_tiles = true};
}

WorkSource schedule_source(const hwdesc::Device& device) {
  WorkSource source{.set = "schedules", .workloads = schedule_workloads(device)};
  std::mt19937_64 random(1);
  for (const Workload& workload : source.workloads) {
    source.tiles.push_back(schedule::convolution_tiles(workload.kernel));
    // Shuffled, so that a session that ends early has sampled everything.
    base::shuffle(source.tiles.back(), random);
  }
  return source;
}

std::vector<std::string> own_programs() {
  const std::vector<std::string> presets = hwdesc::preset_names();
  std::vector<std::string> programs;
  if (presets.empty()) return programs;
  const fs::path devices = fs::path(hwdesc::preset_path(presets.front())).parent_path();
  std::error_code failed;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(devices.parent_path() / "programs", failed)) {
    if (entry.path().extension() == ".hlo") programs.push_back(entry.path().string());
  }
  std::ranges::sort(programs);
  return programs;
}

WorkSource fusion_source(const std::vector<std::string>& files, const hwdesc::Device& device,
                         const FusionCut& cut) {
  WorkSource source = cut_files(files, device, cut);
  source.set = "fusion";
  return source;
}

WorkSource file_source(const std::vector<std::string>& files, const hwdesc::Device& device,
                       Seconds longest) {
  WorkSource source = cut_files(files, device, {.configurations = 1, .longest = longest});
  source.set = "files";
  source.many_tiles = true;
  return source;
}

WorkSource set_source(const std::string& directory, const hwdesc::Device& device, std::size_t tiles,
                      std::uint64_t seed) {
  const measured::MeasurementSet set = measured::read_measurement_set(directory);
  std::map<std::string, MeasuredKernel> by_file;
  for (const measured::MeasurementRow& row : set.rows) {
    if (row.file.empty() || row.is_program || !row.kernel.empty()) continue;
    MeasuredKernel& kernel = by_file[row.file];
    kernel.name = set.table.cell(set.table.rows[row.table_row], "x_name");
    kernel.family = row.family;
    kernel.rows.push_back(&row);
  }
  std::vector<std::string> files;
  for (const auto& [file, kernel] : by_file) files.push_back(file);
  std::ranges::shuffle(files, std::mt19937_64(seed));
  WorkSource source{.set = "again"};
  for (const std::string& file : files) {
    MeasuredKernel& measured = by_file.at(file);
    const std::string path = (fs::path(directory) / file).string();
    ir::Module module = laid_out(ir::read_module(path), device);
    const ir::Program program = ir::make_program(module);
    if (program.kernels().size() != 1) {
      throw Error(fmt::format("{}: {} kernels, expected one", path, program.kernels().size()));
    }
    ir::Kernel kernel = program.kernels().front().kernel;
    std::string hash = ir::canonical_hash(kernel);
    source.tiles.push_back(sampled_tiles(measured, tiles, seed));
    source.workloads.push_back(
        {measured.name, measured.family, std::move(module), std::move(kernel), std::move(hash)});
  }
  return source;
}

}  // namespace tilecast::host
