#include "tests/measured/set_on_disk.h"

#include <zip.h>

#include "tests/support/errors.h"
#include "tests/support/texts.h"

namespace tilecast::measured {

namespace fs = std::filesystem;

void SetOnDisk::write_manifest(const std::string& more) const {
  write("manifest.yaml",
        "format: tilecast.measurements/1\nname: small\nsource: made up\nlicence: none\n"
        "timing: device\ndevice: tpu_v3\n" +
            more);
}

std::string SetOnDisk::pack() const {
  const std::string target = at("set.zip");
  int code = 0;
  zip_t* archive = zip_open(target.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path())) {
    if (!entry.is_regular_file() || entry.path() == target) continue;
    zip_file_add(archive, fs::relative(entry.path(), path()).c_str(),
                 zip_source_file(archive, entry.path().c_str(), 0, -1), ZIP_FL_ENC_UTF_8);
  }
  if (zip_close(archive) != 0) throw Error("cannot write " + target);
  return target;
}

MeasurementSet SetOnDisk::read(const std::string& table) const {
  write("measurements.csv", table);
  return read();
}

std::string SetOnDisk::message() const {
  return inside(support::error_of([&] { return read(); }, "read"));
}

std::string SetOnDisk::message(const std::string& table) const {
  write("measurements.csv", table);
  return message();
}

std::string SetOnDisk::inside(const std::string& text) const {
  return support::replaced_all(text, path() + "/", "");
}

}  // namespace tilecast::measured
