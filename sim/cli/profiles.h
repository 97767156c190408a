// Profiles (*.xplane.pb) as inputs of verbs that take other things too: which machine they are of,
// and as measurement sets.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "measured/importers/xplane.h"
#include "measured/measurement_set.h"
#include "sim/cli/options.h"

namespace tilecast::sim::cli {

// A profile, or a log folder that holds one.
[[nodiscard]] bool is_profile(const std::string& path);
// With progress on a terminal.
[[nodiscard]] measured::XplaneProfile read_profile(const std::string& path);

// Where the user named no device: the preset that the profile's own facts name becomes the one in
// `options`, and the answer says why. Throws Error where no preset is near.
std::string choose_device(const measured::XplaneDevice& of, const std::string& path,
                          DeviceOptions& options);
// What the profile states otherwise than the description of its device; "" for nothing.
[[nodiscard]] std::string device_note(const measured::XplaneDevice& of,
                                      const hwdesc::Device& device);

// A folder of its own that is gone in the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// What `tilecast import xplane` makes of the profile and the modules that it does not hold. Its
// programs are files in the folder, which has to be there until they are read (measured/samples.h).
[[nodiscard]] measured::MeasurementSet profile_set(const std::string& path,
                                                   const std::string& device,
                                                   const std::vector<std::string>& modules,
                                                   const TemporaryFolder& folder);

// As a shell reads it back: in quotes where it has to be.
[[nodiscard]] std::string shell_word(const std::string& text);

}  // namespace tilecast::sim::cli
