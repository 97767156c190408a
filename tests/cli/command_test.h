// Fixture for tests of the command: a private folder per test in which `tilecast` runs.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/folders.h"

namespace tilecast::sim {

struct Answer {
  int exit_code = -1;  // -1: ended by a signal
  std::string out, err;
};

class CommandTest : public ::testing::Test, protected support::Folder {
 protected:
  // `verb` is used by run(); if empty, the arguments of run() must start with a verb.
  explicit CommandTest(std::string verb = {});

  [[nodiscard]] bool exists(const std::string& name) const {
    return std::filesystem::exists(at(name));
  }

  // The manifest of the folder `set`: "made_up", times of tpu_v3.
  void write_manifest() const;
  // A module of one product, d, of bf16[m,k] and bf16[k,n].
  void write_product(const std::string& name, int m, int k, int n,
                     const std::string& layout = {}) const;

  // Runs `tilecast <verb> <arguments>` in the folder, with empty standard input.
  virtual Answer run(const std::string& arguments) const;
  // Runs `tilecast <arguments>`, ignoring the test's verb.
  Answer tilecast(const std::string& arguments) const;
  // As run() and tilecast(), and expects success.
  Answer ok(const std::string& arguments) const;
  Answer tilecast_ok(const std::string& arguments) const;
  // Runs `validate <arguments>`, the program beside it.
  [[nodiscard]] Answer validate(const std::string& arguments) const;
  // Expects an error that contains `message`, and no output.
  void expect_failure(const std::string& arguments, int exit_code,
                      const std::string& message) const;

 private:
  [[nodiscard]] Answer start(const std::string& program, const std::string& arguments) const;
  std::string verb_;
};

}  // namespace tilecast::sim
