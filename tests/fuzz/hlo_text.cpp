#include "ir/text/hlo_parser.h"
#include "tests/fuzz/targets.h"

void tilecast::fuzz::hlo_text(Bytes bytes) {
  answer_or_error([&] { (void)ir::parse_hlo(base::SourceText("fuzz.hlo", std::string(bytes))); });
}
