// Differential: the module of a proto prints as text that parses and prints to the same text.
#include "ir/proto/hlo_proto.h"

#include <optional>

#include "tests/fuzz/stable_hlo.h"

void tilecast::fuzz::hlo_proto(Bytes bytes) {
  (void)ir::is_hlo_proto(bytes);
  std::optional<ir::Module> module;
  answer_or_error([&] { module = ir::read_hlo_proto(bytes, "fuzz.pb"); });
  if (module) expect_stable_hlo(*module, {});
}
