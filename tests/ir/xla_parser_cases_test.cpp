// Compares reader and printer with XLA's own parser tests. The cases are third-party data beside
// the repository; without them the test is skipped.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/text/hlo_lexer.h"
#include "ir/text/hlo_printer.h"
#include "ir/text/module_parser.h"
#include "tests/support/folders.h"
#include "tests/support/hlo_parts.h"

namespace tilecast::ir {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string name, suite, api, file, expect, message, note;
};

fs::path cases_folder() {
  const fs::path root = support::shared_dir();
  return root / "hlo" / "xla_cases" / "parser";
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// One CSV record: quotes may contain commas and doubled quotes.
std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> result(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        result.back() += line[++i];
      } else {
        quoted = !quoted;
      }
    } else if (line[i] == ',' && !quoted) {
      result.emplace_back();
    } else if (line[i] != '\r') {
      result.back() += line[i];
    }
  }
  return result;
}

std::vector<Case> read_cases(const fs::path& folder) {
  std::ifstream in(folder / "index.csv");
  std::string line;
  std::getline(in, line);
  std::vector<Case> cases;
  while (std::getline(in, line)) {
    const std::vector<std::string> row = fields(line);
    if (row.size() < 9) continue;
    cases.push_back({row[0], row[1], row[2], row[3], row[4], row[5], row[7]});
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
  const std::string text = read(folder / test.file);
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
  const std::string wanted = trimmed(read(expected));
  return trimmed(printed) == wanted ? "" : "printed\n" + printed + "\nwanted\n" + wanted;
}

TEST(XlaParserCases, AtLeast98PercentComeOutAsInXla) {
  const fs::path folder = cases_folder();
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
