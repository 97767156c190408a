// Checks that printing a parsed module gives text that parses and prints to the same text.
#pragma once

#include <string>

#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"
#include "tests/fuzz/targets.h"

namespace tilecast::fuzz {

inline void expect_stable_hlo(const ir::Module& module, const ir::PrintOptions& options) {
  const std::string once = ir::print_hlo(module, options);
  try {
    const ir::Module again = ir::parse_hlo(base::SourceText("printed.hlo", once));
    if (ir::print_hlo(again, options) != once) broken("HLO printed twice differs:\n" + once);
  } catch (const Error& error) {
    broken(std::string("printed HLO is refused: ") + error.what() + "\n" + once);
  }
}

}  // namespace tilecast::fuzz
