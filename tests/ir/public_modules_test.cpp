// Third-party modules, read in place; skipped without them.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "ir/text/hlo_parser.h"
#include "tests/support/folders.h"

namespace tilecast::ir {
namespace {

void expect_all_load(const std::filesystem::path& folder) {
  const std::vector<std::filesystem::path> files = support::files_below(folder, ".hlo");
  if (files.empty()) GTEST_SKIP() << "no modules in " << folder;
  for (const std::filesystem::path& file : files) {
    try {
      const Module module = read_hlo_file(file.string());
      EXPECT_TRUE(module.entry.valid()) << file;
      EXPECT_FALSE(module.entry_computation().instructions.empty()) << file;
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(PublicModules, AllLoadAndVerify) {
  expect_all_load(support::shared_dir() / "hlo/public");
}

TEST(PublicModules, TpuKernelsLoadAndVerify) {
  expect_all_load(support::shared_dir() / "data/tpu_v3_tiles");
}

TEST(PublicModules, Unet3dLoadsAndVerifies) {
  expect_all_load(support::shared_dir() / "data/tpu_v3_unet3d");
}

}  // namespace
}  // namespace tilecast::ir
