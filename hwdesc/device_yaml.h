// Reads a Device from YAML, strictly (unknown, duplicate, missing, mistyped, wrong-unit and
// out-of-range keys are errors `file:line:col: key: got ..., expected ...; did you mean ...`), with
// `extends:` and overrides.
//
//   Device d = load_device("tpu_v3", {{"hbm.bandwidth", "1.2TB/s"}});
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hwdesc/device.h"

namespace tilecast::hwdesc {

using Overrides = std::vector<std::pair<std::string, std::string>>;  // key path -> value text

// Whether a description's name is a path: it has a `/` or ends in .yaml. Import mappings use the
// same rule.
[[nodiscard]] bool is_path(std::string_view name_or_path);

// `name_or_path`: a preset's name, a slice of one (v6e-256, v5p-128, h100x64: short names of TPUs
// and SXM boards; v2 to v5p and v7x count cores; GPUs fill hosts), or a path. A description may
// `extends:` a preset or a file relative to its own folder, at most 8 deep; its keys override the
// parent's key by key, null removes a key, and a block that overrides numbers must state its own
// `source:`. Overrides address memory levels and engines by name. Throws Error.
[[nodiscard]] Device load_device(const std::string& name_or_path, const Overrides& overrides = {});
// The same from text, for tests; `file` is used in messages and to resolve `extends:`.
[[nodiscard]] Device parse_device(const std::string& text, const std::string& file,
                                  const Overrides& overrides = {});
// A description that is read once, for many machines that differ in some keys.
//   DeviceSource("tpu_v3").with({{"clock", "1 GHz"}})
//       == load_device("tpu_v3", {{"clock", "1 GHz"}})
// Thread-safe.
class DeviceSource {
 public:
  explicit DeviceSource(const std::string& name_or_path, const Overrides& overrides = {});
  ~DeviceSource();
  DeviceSource(DeviceSource&& other) noexcept;
  DeviceSource& operator=(DeviceSource&& other) noexcept;
  [[nodiscard]] Device with(const Overrides& overrides) const;  // throws Error

  struct Parts;

 private:
  std::unique_ptr<const Parts> parts_;
};
// Names of the presets, sorted. They are in the first of these folders that exists:
// $TILECAST_DEVICES; ../share/tilecast/devices beside the executable; configs/devices of the source
// tree this was built from; share/tilecast/devices under the install prefix.
[[nodiscard]] std::vector<std::string> preset_names();
[[nodiscard]] std::string preset_path(const std::string& name);
// Canonical YAML of a device, every value in its unit: load(print(d)) == d.
[[nodiscard]] std::string print_device(const Device& device);
// Every leaf as (key path, value text), in schema order, as `hw diff` compares them.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> flatten(const Device& device);
// Every key of the schema with unit, range and explanation: `hw show --schema`.
[[nodiscard]] std::string schema_help();

// Lists every number of a description with its path, unit and range, for sweeps and sensitivity
// studies.
//
//   for (const DeviceNumber& n : device_numbers(device)) ...   // "memory.hbm.bandwidth", 9e11
//   find_number(numbers, "hbm.bandwidth")                      // the short form works too
struct DeviceNumber {
  std::string path;  // as overrides address it
  UnitKind kind = UnitKind::kCount;
  bool integer = false;
  double low = 0, high = 0;  // range in the schema, SI base units
  double value = 0;
};

// In schema order; optional numbers only if given, others including defaults.
[[nodiscard]] std::vector<DeviceNumber> device_numbers(const Device& device);
// Finds a number by its path, also without `memory.` or `transfer.`; null if there is none.
[[nodiscard]] const DeviceNumber* find_number(const std::vector<DeviceNumber>& numbers,
                                              std::string_view path);

}  // namespace tilecast::hwdesc
