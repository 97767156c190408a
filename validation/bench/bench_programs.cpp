#include "validation/bench/bench_programs.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "ir/fusion/fusion.h"
#include "ir/layout_assignment.h"
#include "ir/text/hlo_parser.h"

namespace tilecast::bench {
namespace {

namespace fs = std::filesystem;

fs::path shared_folder() {
  if (const char* folder = std::getenv("TILECAST_SHARED")) {
    return folder;
  }
  return fs::path(TILECAST_SOURCE_DIR) / "../shared";
}

}  // namespace

std::string shared_file(const std::string& relative) {
  const fs::path path = shared_folder() / relative;
  return fs::exists(path) ? path.string() : std::string();
}

std::vector<BenchProgram> bench_programs() {
  std::vector<BenchProgram> programs;
  for (const auto& entry :
       fs::directory_iterator(fs::path(TILECAST_SOURCE_DIR) / "configs/programs")) {
    if (entry.path().extension() == ".hlo") {
      programs.push_back({entry.path().stem().string(), entry.path().string()});
    }
  }
  std::sort(programs.begin(), programs.end(),
            [](const BenchProgram& a, const BenchProgram& b) { return a.name < b.name; });
  for (const char* file :
       {"hlo/public/openxla_llama31_8b_bf16_1x8_train.hlo", "data/tpu_v3_unet3d/unet3d.hlo"}) {
    if (const std::string path = shared_file(file); !path.empty()) {
      programs.push_back({fs::path(file).stem().string(), path});
    }
  }
  return programs;
}

std::vector<BenchProgram> large_texts() {
  constexpr std::uintmax_t kLeastBytes = 1'000'000;
  const std::vector<BenchProgram> others = bench_programs();
  std::vector<BenchProgram> texts;
  const std::string folder = shared_file("hlo/public");
  if (folder.empty()) return texts;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().stem().string();
    const bool large = entry.path().extension() == ".hlo" && entry.file_size() >= kLeastBytes;
    if (!large || std::ranges::find(others, name, &BenchProgram::name) != others.end()) continue;
    texts.push_back({name, entry.path().string()});
  }
  std::ranges::sort(texts, {}, &BenchProgram::name);
  return texts;
}

ir::Module prepare(const std::string& path, const hwdesc::Device& device) {
  return prepare(ir::read_hlo_file(path), device);
}

ir::Module prepare(ir::Module module, const hwdesc::Device& device) {
  if (!ir::is_optimised(module)) {
    module = ir::fuse(std::move(module));
  }
  if (ir::has_device_layouts(module)) {
    return module;
  }
  const hwdesc::NativeTile& tile = device.native_tile;
  return ir::assign_layouts(std::move(module), {.sublanes = tile.sublanes,
                                                .lanes = tile.lanes,
                                                .word_bits = tile.word_bits,
                                                .tiled = tile.tiled});
}

}  // namespace tilecast::bench
