#include "measured/importers/npz_reader.h"
#include "tests/fuzz/targets.h"

void tilecast::fuzz::npy_header(Bytes bytes) {
  answer_or_error(
      [&] { static_cast<void>(measured::parse_npy_header(bytes, "fuzz.npz").elements()); });
}
