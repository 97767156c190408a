// Profiles (*.xplane.pb) as inputs of verbs that accept other inputs as well: the machine they were
// taken on, and their conversion to measurement sets.
#pragma once

#include <string>
#include <vector>

#include "host/child_process.h"
#include "measured/importers/torch_trace.h"
#include "measured/importers/xplane.h"
#include "measured/measurement_set.h"
#include "sim/cli/options.h"

namespace tilecast::sim::cli {

// Whether `path` is a profile, or a log folder that contains one.
[[nodiscard]] bool is_profile(const std::string& path);
// Shows progress on a terminal.
[[nodiscard]] measured::XplaneProfile read_profile(const std::string& path);

[[nodiscard]] measured::TorchTrace read_torch(const std::string& path);

// Call it if the user named no device: puts the preset that matches the profile's own facts into
// `options` and returns the reason. Throws Error if no preset is close enough.
std::string choose_device(const measured::XplaneDevice& of, const std::string& path,
                          DeviceOptions& options);
// Facts of the profile that differ from the description of its device; "" if none.
[[nodiscard]] std::string device_note(const measured::XplaneDevice& of,
                                      const hwdesc::Device& device);

// The set that `tilecast import xplane` creates from the profile and `modules`, the modules that
// the profile does not contain. Its programs are files in `folder`, which must exist until they are
// read (measured/samples.h).
[[nodiscard]] measured::MeasurementSet profile_set(const std::string& path,
                                                   const std::string& device,
                                                   const std::vector<std::string>& modules,
                                                   const host::TemporaryFolder& folder);

// The text as a shell word, quoted where necessary.
[[nodiscard]] std::string shell_word(const std::string& text);

}  // namespace tilecast::sim::cli
