// Compares reader and printer with XLA's own parser tests. The cases are third-party data beside
// the repository; without them the test is skipped.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/text/hlo_lexer.h"
#include "ir/text/hlo_printer.h"
#include "ir/text/module_parser.h"
#include "tests/support/csv_rows.h"
#include "tests/support/folders.h"
#include "tests/support/hlo_parts.h"

namespace tilecast::ir {
namespace {

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
  PrintOptions print;
  print.short_form = test.suite == "roundtrip_short" || test.suite == "nonroundtrip";
  if (test.suite != "HloParserSingleOpTest") return print_hlo(module, print);
  print.names = false;
  const Computation& entry = module.entry_computation();
  return print_instruction(module, entry, entry.root_instruction(), print);
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

}  // namespace
}  // namespace tilecast::ir
