// Differential: printing a parsed module gives text that parses and prints to the same text, in
// both forms of HLO; the StableHLO printed from it is stable after parsing.
#include <optional>

#include "ir/stablehlo/stablehlo.h"
#include "ir/text/hlo_parser.h"
#include "tests/fuzz/stable_hlo.h"

namespace tilecast::fuzz {
namespace {

std::optional<ir::Module> module_or_error(Bytes bytes) {
  try {
    return ir::parse_hlo(base::SourceText("fuzz.hlo", std::string(bytes)));
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Printing may fail, and printed text may contain constructs without an exact form. Text that
// parses must be stable.
void expect_stable_stablehlo(const ir::Module& module) {
  answer_or_error([&] {
    const std::string first = ir::print_stablehlo(module);
    const ir::Module again = ir::parse_stablehlo(base::SourceText("printed.mlir", first));
    const std::string second = ir::print_stablehlo(again);
    (void)ir::parse_stablehlo(base::SourceText("printed.mlir", second));
  });
}

}  // namespace

void hlo_print(Bytes bytes) {
  const std::optional<ir::Module> module = module_or_error(bytes);
  if (!module) return;
  expect_stable_hlo(*module, {});
  expect_stable_hlo(*module, {.short_form = true});
  expect_stable_stablehlo(*module);
}

}  // namespace tilecast::fuzz
