// A file that may be a zip archive: reads the entries that our folders contain.
#include "base/archive.h"

#include "tests/fuzz/targets.h"

void tilecast::fuzz::archive(Bytes bytes) {
  const std::string path = file_of(bytes, "fuzz.zip");
  constexpr std::size_t kMost = 1 << 20;
  answer_or_error([&] { (void)base::is_archive(path); });
  for (const char* entry : {"manifest.yaml", "measurements.csv", "model.yaml", "../escape"}) {
    const std::string inside = path + "/" + entry;
    answer_or_error([&] { (void)base::is_file(inside); });
    answer_or_error([&] {
      const auto text = base::read_archived(inside, kMost);
      if (text && text->size() > kMost) broken("an entry is larger than the limit");
    });
  }
}
