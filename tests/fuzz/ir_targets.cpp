// Modules in all their forms. Printed text parses and prints to the same text.
#include <optional>

#include "ir/onnx/onnx.h"
#include "ir/proto/hlo_proto.h"
#include "ir/stablehlo/stablehlo.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"
#include "tests/fuzz/targets.h"

namespace tilecast::fuzz {
namespace {

void expect_stable_hlo(const ir::Module& module, const ir::PrintOptions& options) {
  expect_stable("HLO", ir::print_hlo(module, options), [&](const std::string& text) {
    return ir::print_hlo(ir::parse_hlo(base::SourceText("printed.hlo", text)), options);
  });
}

}  // namespace

void hlo_text(Bytes bytes) {
  answer_or_error([&] { (void)ir::parse_hlo(base::SourceText("fuzz.hlo", std::string(bytes))); });
}

void hlo_print(Bytes bytes) {
  std::optional<ir::Module> module;
  answer_or_error(
      [&] { module = ir::parse_hlo(base::SourceText("fuzz.hlo", std::string(bytes))); });
  if (!module) return;
  expect_stable_hlo(*module, {});
  expect_stable_hlo(*module, {.short_form = true});
  // Printing StableHLO may fail, and the text may contain constructs without an exact form.
  answer_or_error([&] {
    const std::string first = ir::print_stablehlo(*module);
    const ir::Module again = ir::parse_stablehlo(base::SourceText("printed.mlir", first));
    const std::string second = ir::print_stablehlo(again);
    (void)ir::parse_stablehlo(base::SourceText("printed.mlir", second));
  });
}

void hlo_proto(Bytes bytes) {
  (void)ir::is_hlo_proto(bytes);
  std::optional<ir::Module> module;
  answer_or_error([&] { module = ir::read_hlo_proto(bytes, "fuzz.pb"); });
  if (module) expect_stable_hlo(*module, {});
}

// A bound for `?`, so that the code after the shapes is reached as well.
void stablehlo(Bytes bytes) {
  answer_or_error([&] {
    const base::SourceText text("fuzz.mlir", std::string(bytes));
    (void)ir::parse_stablehlo(text, {.bound = 8});
  });
}

void onnx(Bytes bytes) {
  (void)ir::is_onnx(bytes);
  answer_or_error([&] { (void)ir::read_onnx(bytes, "fuzz.onnx", {.bound = 8}); });
}

}  // namespace tilecast::fuzz
