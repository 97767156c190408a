// XLA's own cost analysis expectations, if the case files are beside the checkout.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/counts/op_counts.h"
#include "ir/schedule_order.h"
#include "ir/text/hlo_lexer.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"
#include "ir/text/module_parser.h"
#include "ir/verify/verifier.h"
#include "tests/support/csv_rows.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"
#include "tests/support/hlo_parts.h"

namespace tilecast::ir {
namespace {

// Sum over everything reachable from the root, as in XLA's tests.
WorkCounts total_from_root(const Module& module, WorkCounter& counter) {
  const Computation& entry = module.entry_computation();
  std::vector<GraphEdge> edges;
  for (const auto& [from, to] : dependence_edges(entry)) edges.emplace_back(to, from);
  const std::vector<std::uint32_t> root = {entry.root.value};
  std::vector<std::uint32_t> reached =
      depth_first(entry.instructions.size(), edges, root).post_order;
  std::sort(reached.begin(), reached.end());
  WorkCounts sum;
  for (const std::uint32_t id : reached) add_counts(sum, counter.of(module.entry, InstrId(id)));
  return sum;
}

float option(const std::string& options, const std::string& key) {
  const std::size_t at = options.find('"' + key + '"');
  return at == std::string::npos ? 0 : std::stof(options.substr(options.find(':', at) + 1));
}

WorkCountOptions options_of(const std::string& text) {
  WorkCountOptions o;
  o.count_multiple_input_accesses =
      text.find("\"count_multiple_input_accesses\": true") != std::string::npos;
  o.flops_per_s = option(text, "flops_per_second");
  o.bytes_per_s = option(text, "bytes_per_second");
  o.transcendentals_per_s = option(text, "transcendentals_per_second");
  o.flops_min_latency_s = option(text, "flops_min_latency_second");
  o.bytes_min_latency_s = option(text, "bytes_min_latency_second");
  o.transcendentals_min_latency_s = option(text, "transcendentals_min_latency_second");
  return o;
}

void expect_value(const support::CsvRow& row, const std::string& key, float got) {
  const auto it = row.find(key);
  if (it == row.end() || it->second.empty()) return;
  EXPECT_FLOAT_EQ(got, std::stof(it->second)) << row.at("test") << ": " << key;
}

void expect_operands(const support::CsvRow& row, std::span<const float> got) {
  std::string list = row.at("root_operand_bytes");
  if (list.empty()) return;
  std::vector<float> expected;
  for (std::size_t at = 1; at < list.size(); at = list.find_first_of(",]", at) + 1) {
    if (list[at] == ']') break;
    expected.push_back(std::stof(list.substr(at)));
  }
  ASSERT_LE(expected.size(), got.size()) << row.at("test");
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_FLOAT_EQ(got[i], expected[i]) << row.at("test") << ": operand " << i;
  }
}

TEST(XlaCostCases, AllComeOutAsXlaCountsThem) {
  const std::filesystem::path folder = support::shared_dir() / "hlo/xla_cases/cost_analysis";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const std::vector<support::CsvRow> rows = support::csv_rows(std::ifstream(folder / "index.csv"));
  EXPECT_FALSE(rows.empty());
  for (const support::CsvRow& row : rows) {
    const Module module = read_hlo_file((folder / row.at("file")).string());
    WorkCounter counter(module, options_of(row.at("options")));
    const WorkCounts total = total_from_root(module, counter);
    const WorkCounts& at_root = counter.of(module.entry, module.entry_computation().root);
    expect_value(row, "flops", total.flops);
    expect_value(row, "transcendentals", total.transcendentals);
    expect_value(row, "bytes_accessed", total.bytes_accessed);
    expect_value(row, "optimal_seconds", total.optimal_s);
    expect_value(row, "root_flops", at_root.flops);
    expect_value(row, "root_transcendentals", at_root.transcendentals);
    expect_value(row, "root_bytes_accessed", at_root.bytes_accessed);
    expect_value(row, "root_output_bytes", at_root.output_bytes);
    expect_operands(row, {at_root.operand_bytes.data(), at_root.operand_bytes.size()});
  }
}

TEST(PublishedDumps, HaveFiniteCountsThatHoldTheirOperands) {
  const std::filesystem::path folder = support::shared_dir() / "hlo" / "public";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const Module module = read_hlo_file(file.path().string());
    WorkCounter counter(module);
    const WorkCounts total = counter.total(module.entry);
    EXPECT_TRUE(std::isfinite(total.flops)) << file.path();
    EXPECT_TRUE(std::isfinite(total.bytes_accessed)) << file.path();
    EXPECT_GE(total.transcendentals, 0) << file.path();
  }
}

// --- Compares reader and printer with XLA's own parser tests. The cases are third-party data
// beside the repository; without them the test is skipped.

namespace fs = std::filesystem;

struct Case {
  std::string name, suite, api, file, expect, message, note;
};

std::vector<Case> read_cases(const fs::path& folder) {
  std::vector<Case> cases;
  for (const support::CsvRow& row : support::csv_rows(std::ifstream(folder / "index.csv"))) {
    cases.push_back({row.at("test"), row.at("suite"), row.at("api"), row.at("file"),
                     row.at("expect"), row.at("message_contains"), row.at("note")});
  }
  return cases;
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

std::string reprint_module(const Case& test, const std::string& text) {
  ParseOptions options;
  options.strict = true;
  const base::SourceText source(test.file, text);
  const bool verified = test.expect == "reject" || test.note.starts_with("verifier");
  const Module module = verified ? parse_hlo(source, options) : parse_unverified(source, options);
  if (test.suite == "HloParserSingleOpTest") return support::nameless_root_text(module);
  return print_hlo(module,
                   {.short_form = test.suite == "roundtrip_short" || test.suite == "nonroundtrip"});
}

// Every token is an integer; commas separate them.
std::string relex(const Case& test, const std::string& text) {
  const base::SourceText source(test.file, text);
  Lexer lexer(source);
  for (Token token = lexer.next(); !token.is(Tok::kEof); token = lexer.next()) {
    if (!token.is(Tok::kInteger) && !token.is(Tok::kComma)) throw Error("not an integer");
  }
  return text;
}

// Brackets and strings must match; their contents are not parsed.
bool kept_as_text(const Case& test) {
  return test.api == "json_dict" || test.api == "sharding" || test.api == "frontendattributes";
}

// The output of the entry point named by `api` for the text.
std::string reprint(const Case& test, const std::string& text) {
  const std::string bare = trimmed(text);
  if (test.api == "module") return reprint_module(test, text);
  if (test.api == "lexer") return relex(test, text);
  if (test.api == "shape") return to_string(support::parse_shape(bare));
  if (test.api == "convolutiondimensionnumbers")
    return support::read_all(bare, read_conv_dims).text;
  if (test.api == "replicagroups") return to_string(support::parse_replica_groups(bare));
  if (test.api == "paddingconfig") return to_string(support::read_all(bare, read_padding));
  if (kept_as_text(test) && text.starts_with('{') && json_dict_end(text, 0) == text.size()) {
    return text;
  }
  throw Error("no such entry point, or it refused the text: " + test.api);
}

// Empty if the result equals XLA's, else the difference.
std::string failure(const Case& test, const fs::path& folder) {
  const std::string text = support::bytes_of(folder / test.file);
  std::string printed;
  try {
    printed = reprint(test, text);
  } catch (const Error& error) {
    if (test.expect != "reject") return std::string("refused: ") + error.what();
    const bool says_so = std::string(error.what()).find(test.message) != std::string::npos;
    return says_so ? "" : "wanted \"" + test.message + "\", got: " + error.what();
  }
  if (test.expect == "reject") return "accepted; wanted \"" + test.message + "\"";
  if (test.expect == "parse_ok") return "";
  fs::path expected = folder / test.file;
  if (test.expect == "parses_to_other_text") expected.replace_extension(".expected.hlo");
  const std::string wanted = trimmed(support::bytes_of(expected));
  return trimmed(printed) == wanted ? "" : "printed\n" + printed + "\nwanted\n" + wanted;
}

TEST(XlaParserCases, AtLeast98PercentComeOutAsInXla) {
  const fs::path folder = support::shared_dir() / "hlo/xla_cases/parser";
  if (!fs::exists(folder / "index.csv")) GTEST_SKIP() << "no data at " << folder;
  const std::vector<Case> cases = read_cases(folder);
  ASSERT_GT(cases.size(), 100U);
  std::size_t passed = 0, roundtrips_failed = 0;
  for (const Case& test : cases) {
    const std::string why = failure(test, folder);
    if (why.empty()) {
      ++passed;
      continue;
    }
    if (test.suite.starts_with("roundtrip")) ++roundtrips_failed;
    std::cout << "case " << test.name << " (" << test.expect << "): " << why << "\n";
  }
  std::cout << passed << " of " << cases.size() << " cases\n";
  EXPECT_EQ(roundtrips_failed, 0U);
  EXPECT_GE(static_cast<double>(passed), 0.98 * static_cast<double>(cases.size()));
}

// --- XLA's own expectations of its verifier and its shape inference, read from ../shared/hlo.

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

// --- Third-party modules, read in place; skipped without them.

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
