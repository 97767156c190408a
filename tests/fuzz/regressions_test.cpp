// Inputs on which a reader once failed (found by scripts/fuzz) must give a result or an error:
// tests/regressions/<target>/* are passed to the target's function, with an empty input and damaged
// copies of each.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "tests/fuzz/targets.h"
#include "tests/support/damage.h"
#include "tests/support/folders.h"

namespace tilecast::fuzz {
namespace {

namespace fs = std::filesystem;

const std::map<std::string, void (*)(Bytes)>& targets() {
  static const std::map<std::string, void (*)(Bytes)> table = {
      {"hlo_text", hlo_text},
      {"hlo_print", hlo_print},
      {"hlo_proto", hlo_proto},
      {"stablehlo", stablehlo},
      {"onnx", onnx},
      {"device_yaml", device_yaml},
      {"manifest_yaml", manifest_yaml},
      {"csv", csv},
      {"archive", archive},
      {"trace_json", trace_json},
      {"xplane", xplane},
      {"schedule_text", schedule_text},
      {"tokens", tokens},
#ifndef TILECAST_FUZZ_ROOMS  // some rooms are not in every build (tests/CMakeLists.txt)
      {"model_folder", model_folder},
      {"experiment_yaml", experiment_yaml},
      {"study_yaml", study_yaml},
      {"advise", advise},
      {"http_body", http_body},
#endif
  };
  return table;
}

// The folders of tests/regressions whose targets are in this build.
std::vector<fs::path> folders() {
  std::vector<fs::path> found;
  for (const auto& folder : fs::directory_iterator(TILECAST_REGRESSIONS)) {
    const bool has_target = targets().contains(folder.path().filename().string());
#ifndef TILECAST_FUZZ_ROOMS
    EXPECT_TRUE(has_target) << "no fuzz target of this name: " << folder.path();
#endif
    if (has_target) found.push_back(folder.path());
  }
  return found;
}

TEST(FuzzRegressions, WhatOnceBrokeAReaderIsAnsweredOrRefused) {
  std::size_t inputs = 0;
  for (const fs::path& folder : folders()) {
    const std::string target = folder.filename().string();
    for (const auto& file : fs::directory_iterator(folder)) {
      SCOPED_TRACE(file.path().string());
      EXPECT_NO_THROW(targets().at(target)(support::bytes_of(file.path())));
      ++inputs;
    }
  }
  EXPECT_GT(inputs, 0U);
}

TEST(FuzzRegressions, EveryTargetAnswersNothingAndOneByte) {
  for (const auto& [name, feed] : targets()) {
    SCOPED_TRACE(name);
    EXPECT_NO_THROW(feed(""));
    for (int byte = 0; byte < 256; byte += 5) {
      EXPECT_NO_THROW(feed(std::string(1, static_cast<char>(byte))));
    }
  }
}

// libFuzzer needs clang; these run in every build.
TEST(FuzzRegressions, DamagedRegressionInputsAreAnsweredOrRefused) {
  std::mt19937_64 random(20261125);
  for (const fs::path& folder : folders()) {
    const auto feed = targets().at(folder.filename().string());
    for (const auto& file : fs::directory_iterator(folder)) {
      const std::string bytes = support::bytes_of(file.path());
      if (bytes.size() > 8192) continue;
      SCOPED_TRACE(file.path().string());
      for (int i = 0; i < 50; ++i) {
        EXPECT_NO_THROW(feed(support::damaged(bytes, random)));
      }
    }
  }
}

}  // namespace
}  // namespace tilecast::fuzz
