#include "ir/proto/hlo_proto.h"

#include "tests/fuzz/targets.h"

void tilecast::fuzz::hlo_proto(Bytes bytes) {
  static_cast<void>(ir::is_hlo_proto(bytes));
  answer_or_error([&] { static_cast<void>(ir::read_hlo_proto(bytes, "fuzz.pb")); });
}
