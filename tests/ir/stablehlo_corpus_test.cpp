// Third-party StableHLO, read in place (skipped without it), and damaged modules.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "ir/stablehlo/stablehlo.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"
#include "tests/ir/stablehlo_samples.h"
#include "tests/support/damage.h"
#include "tests/support/folders.h"

namespace tilecast::ir {
namespace {

const ReadOptions kBound{.bound = 8};

// Reads and verifies every file (printed shapes = inferred shapes), and its HLO text again.
void expect_modules(const std::string& folder, double least_share) {
  const std::vector<std::filesystem::path> files =
      support::shared_files("inputs/" + folder, ".mlir");
  if (files.empty()) GTEST_SKIP() << "no files in " << folder;
  std::size_t refused = 0;
  for (const std::filesystem::path& file : files) {
    try {
      const std::string hlo =
          print_hlo(parse_stablehlo(base::SourceText::read_file(file.string()), kBound));
      EXPECT_EQ(print_hlo(parse_hlo(base::SourceText("again.hlo", hlo))), hlo) << file;
    } catch (const Error& error) {
      ++refused;
      std::printf("%s\n", error.what());
    }
  }
  std::printf("%zu of %zu files are modules\n", files.size() - refused, files.size());
  EXPECT_LE(static_cast<double>(refused), (1 - least_share) * static_cast<double>(files.size()));
}

TEST(StableHloCorpus, TestsOfJax) {
  expect_modules("stablehlo_testdata", 0.99);
}

TEST(StableHloCorpus, JaxGoldens) {
  expect_modules("stablehlo_jax_goldens", 0.97);
}

TEST(StableHloCorpus, WholeModels) {
  expect_modules("stablehlo_models", 1);
}

TEST(StableHloCorpus, GenericTwinsAreTheSameModule) {
  const std::vector<std::filesystem::path> files =
      support::shared_files("inputs/stablehlo_generic", ".mlir");
  if (files.empty()) GTEST_SKIP() << "no files in stablehlo_generic";
  const std::filesystem::path twins = support::shared_dir() / "inputs" / "stablehlo_testdata";
  for (const std::filesystem::path& file : files) {
    const auto hlo = [](const std::filesystem::path& path) {
      return print_hlo(parse_stablehlo(base::SourceText::read_file(path.string()), kBound));
    };
    EXPECT_EQ(hlo(file), hlo(twins / file.filename())) << file;
  }
}

TEST(StableHloDamage, IsAnsweredOrRefused) {
  const std::vector<std::string> sources = {kFunctions, kLoop,        kDynamic, kDevices,
                                            kWindows,   kCustomCalls, kManual};
  support::expect_answer_or_error(sources, 20000, 12, [](const std::string& text) {
    (void)parse_stablehlo(base::SourceText("damaged.mlir", text), kBound);
  });
}

}  // namespace
}  // namespace tilecast::ir
