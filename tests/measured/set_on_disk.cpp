#include "tests/measured/set_on_disk.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "measured/measurement_set.h"

namespace tilecast::measured {

namespace fs = std::filesystem;

SetOnDisk::SetOnDisk() {
  std::string pattern = (fs::path(testing::TempDir()) / "tilecast_set_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw Error("no temporary folder");
  path_ = pattern;
}

SetOnDisk::~SetOnDisk() {
  std::error_code failed;
  fs::remove_all(path_, failed);
}

void SetOnDisk::write(const std::string& file, const std::string& text) const {
  const fs::path whole = fs::path(path_) / file;
  fs::create_directories(whole.parent_path());
  std::ofstream(whole, std::ios::binary) << text;
}

void SetOnDisk::write_manifest(const std::string& more) const {
  write("manifest.yaml",
        "format: tilecast.measurements/1\nname: small\nsource: made up\nlicence: none\n"
        "timing: device\ndevice: tpu_v3\n" +
            more);
}

std::string SetOnDisk::message() const {
  try {
    static_cast<void>(read_measurement_set(path_));
    return "read";
  } catch (const Error& error) {
    std::string message = error.what();
    for (std::size_t at; (at = message.find(path_ + "/")) != std::string::npos;) {
      message.erase(at, path_.size() + 1);
    }
    return message;
  }
}

}  // namespace tilecast::measured
