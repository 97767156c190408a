#include "ir/stablehlo/stablehlo.h"

#include "tests/fuzz/targets.h"

// A bound for `?`, so that the code after the shapes is reached as well.
void tilecast::fuzz::stablehlo(Bytes bytes) {
  answer_or_error([&] {
    const base::SourceText text("fuzz.mlir", std::string(bytes));
    (void)ir::parse_stablehlo(text, {.bound = 8});
  });
}
