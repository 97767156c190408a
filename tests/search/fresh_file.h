// A unique file name for a journal; the file does not exist.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace tilecast::search {

inline std::string fresh_file() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string file = ::testing::TempDir() + test->test_suite_name() + test->name() + ".csv";
  std::filesystem::remove(file);
  return file;
}

}  // namespace tilecast::search
