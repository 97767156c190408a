#include "measured/importers/xplane.h"

#include "tests/fuzz/targets.h"

void tilecast::fuzz::xplane(Bytes bytes) {
  const std::string path = file_of(bytes, "fuzz.xplane.pb");
  (void)measured::is_xplane(path);
  answer_or_error([&] { (void)measured::read_xplane({path}, {}); });
}
