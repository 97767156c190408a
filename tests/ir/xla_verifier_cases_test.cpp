// XLA's own expectations of its verifier and its shape inference, read from ../shared/hlo.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "ir/text/module_parser.h"
#include "ir/verify/verifier.h"
#include "tests/support/csv_rows.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::ir {
namespace {

// "" if the module is accepted, else the message.
std::string verdict(const std::filesystem::path& file, Module* module = nullptr) {
  return support::error_of(
      [&] {
        const base::SourceText text = base::SourceText::read_file(file.string());
        const Module parsed = parse_unverified(text);
        verify(parsed, &text);
        if (module != nullptr) *module = parsed;
      },
      "");
}

bool holds_any(const std::string& message, const std::string& alternatives) {
  std::istringstream parts(alternatives);
  std::string part;
  if (alternatives.empty()) return true;
  while (std::getline(parts, part, '|')) {
    if (message.find(part) != std::string::npos) return true;
  }
  return false;
}

// Modules accepted by XLA are accepted. Modules rejected by XLA are rejected for the same reason,
// or accepted: if no time depends on the fault (layouts, threads, shardings, buffers, deadlocks
// ...), or if XLA's test introduces it after parsing, so that the text does not contain it.
TEST(XlaVerifierCases, AcceptsWhatXlaAcceptsAndRefusesForItsReasons) {
  const std::filesystem::path dir = support::shared_dir() / "hlo/xla_cases/verifier";
  if (!std::filesystem::exists(dir)) GTEST_SKIP() << dir << " is absent";
  int refused = 0;
  for (const support::CsvRow& row : support::csv_rows(std::ifstream(dir / "index.csv"))) {
    const std::string& test = row.at("test");
    if (row.at("expect") == "UNKNOWN" || test == "HloVerifierTest.EnableUnboundedDynamism")
      continue;
    const std::string message = verdict(dir / row.at("file"));
    if (row.at("expect") == "accept") {
      EXPECT_EQ(message, "") << test;
    } else if (holds_any(message, row.at("message_contains"))) {
      refused += message.empty() ? 0 : 1;
    } else if (!message.empty()) {
      std::printf("differs: %s: expected \"%s\", got \"%s\"\n", test.c_str(),
                  row.at("message_contains").c_str(), message.c_str());
    }
  }
  std::printf("verifier cases refused for XLA's reason: %d\n", refused);
  EXPECT_GE(refused, 24);
}

TEST(XlaShapeInferenceCases, AgreesWithXlaOnNinetyEightPercent) {
  const std::filesystem::path dir = support::shared_dir() / "hlo/xla_cases/shape_inference";
  if (!std::filesystem::exists(dir)) GTEST_SKIP() << dir << " is absent";
  int total = 0;
  int passed = 0;
  for (const support::CsvRow& row : support::csv_rows(std::ifstream(dir / "index.csv"))) {
    Module module;
    const std::string message = verdict(dir / row.at("file"), &module);
    const std::string shape =
        message.empty()
            ? to_string(module.entry_computation().root_instruction().shape, /*with_layout=*/false)
            : "";
    const bool good = row.at("expect") == "ok"
                          ? message.empty() && shape == row.at("expected_root_shape")
                          : !message.empty() && holds_any(message, row.at("message_contains"));
    ++total;
    passed += good ? 1 : 0;
    if (!good) {
      std::printf("differs: %s: expected %s, got %s %s\n", row.at("test").c_str(),
                  row.at("expected_root_shape").c_str(), shape.c_str(), message.c_str());
    }
  }
  std::printf("shape inference cases: %d of %d\n", passed, total);
  ASSERT_GT(total, 0);
  EXPECT_GE(passed * 100, total * 98);
}

}  // namespace
}  // namespace tilecast::ir
