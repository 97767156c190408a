#include "sim/cli/profiles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "measured/importers/importer.h"
#include "measured/importers/profile_device.h"
#include "sim/cli/terminal.h"

namespace tilecast::sim::cli {
namespace {

namespace fs = std::filesystem;

bool has_profile_name(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".xplane.pb") || name.ends_with(".xplane.pb.gz");
}

}  // namespace

bool is_profile(const std::string& path) {
  std::error_code failed;
  if (!fs::is_directory(path, failed)) return has_profile_name(path) || measured::is_xplane(path);
  if (fs::exists(fs::path(path) / "manifest.yaml", failed)) return false;
  const fs::recursive_directory_iterator entries(path, failed);
  return !failed && std::any_of(begin(entries), end(entries), [](const fs::directory_entry& entry) {
    return has_profile_name(entry.path());
  });
}

measured::XplaneProfile read_profile(const std::string& path) {
  Progress progress("read profile:", Progress::kPercent);
  return measured::read_xplane({path},
                               {.progress = [&](double done) { progress.show_share(done, ""); }});
}

measured::TorchTrace read_torch(const std::string& path) {
  Progress progress("read trace:", Progress::kPercent);
  return measured::read_torch_trace(path, [&](double done) { progress.show_share(done, ""); });
}

std::string choose_device(const measured::XplaneDevice& of, const std::string& path,
                          DeviceOptions& options) {
  if (!options.names.empty()) return "";
  const hwdesc::DeviceGuess guess = measured::preset_of(of, path);
  options.names.push_back(guess.preset);
  return fmt::format("{} ({})", guess.preset, guess.why);
}

std::string device_note(const measured::XplaneDevice& of, const hwdesc::Device& device) {
  const std::vector<std::string> facts = hwdesc::disagreements(measured::machine_facts(of), device);
  return facts.empty() ? ""
                       : fmt::format("the profile's device differs: {}", fmt::join(facts, "; "));
}

measured::MeasurementSet profile_set(const std::string& path, const std::string& device,
                                     const std::vector<std::string>& modules,
                                     const host::TemporaryFolder& folder) {
  const std::string set = folder.file("profile");
  measured::ImportOptions options;
  options.output = set;
  // Relative to the user's working directory, not to the folder.
  options.device = hwdesc::is_path(device) ? fs::absolute(device).string() : device;
  const measured::ImportReport report =
      measured::import_xplane({.profiles = {path}, .modules = modules, .manifest = {}}, options);
  for (const std::string& note : report.notes) tell("note: {}", note);
  return measured::read_measurement_set(set);
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace tilecast::sim::cli
