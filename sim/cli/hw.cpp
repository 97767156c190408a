#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>

#include "base/error.h"
#include "hwdesc/device_check.h"
#include "hwdesc/device_yaml.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"

namespace tilecast::sim::cli {
namespace {

struct HwArguments {
  DeviceOptions device;  // names: positional here
  OutputOptions output;
  bool schema = false;
};

void list(const HwArguments& arguments) {
  measured::CsvTable rows{"presets",
                          {"name", "generation", "clock", "memory", "memory_bandwidth_per_core",
                           "bf16_peak_per_core", "description"},
                          {}};
  for (const std::string& name : hwdesc::preset_names()) {
    const hwdesc::Device device = hwdesc::load_device(name);
    using hwdesc::UnitKind;
    const auto human = [](double value, UnitKind kind) {
      return hwdesc::format_quantity(value, kind);
    };
    const hwdesc::MemoryLevel& memory = device.main_memory();
    rows.rows.push_back(
        {0,
         {name, device.generation, human(device.clock.value, UnitKind::kFrequency),
          human(memory.capacity.value, UnitKind::kCapacity),
          human(memory.bandwidth.value, UnitKind::kBandwidth),
          human(device.matrix_peak("bf16").value, UnitKind::kFlopRate), device.description}});
  }
  write_rows(arguments.output, rows, "tilecast.hw.list/1");
}

void show(const HwArguments& arguments) {
  if (arguments.schema) {
    write(arguments.output, hwdesc::schema_help());
    return;
  }
  if (arguments.device.names.empty()) {
    throw UsageError("hw show: no device given; tilecast hw list names the presets");
  }
  write(arguments.output, hwdesc::print_device(load_devices(arguments.device).front()));
}

constexpr std::string_view kVerdicts[] = {"yes", "not published", "NO"};  // by hwdesc::Verdict

void check(const HwArguments& arguments) {
  DeviceOptions devices = arguments.device;
  if (devices.names.empty()) devices.names = hwdesc::preset_names();
  measured::CsvTable rows{
      "check",
      {"device", "what", "computed_si", "published_si", "deviation_percent", "ok", "message"},
      {}};
  std::size_t failures = 0;
  const auto number = [](bool known, double value) {
    return known ? fmt::format("{:.6g}", value) : std::string();
  };
  for (const hwdesc::Device& device : load_devices(devices)) {
    for (const hwdesc::CheckResult& result : hwdesc::check(device)) {
      failures += result.verdict == hwdesc::Verdict::kDiffers ? 1 : 0;
      const bool published = result.published_si > 0;
      rows.rows.push_back(
          {0,
           {device.name, result.what, number(result.computed_si != 0, result.computed_si),
            number(published, result.published_si),
            published ? fmt::format("{:.2f}", 100 * result.deviation) : "",
            std::string(kVerdicts[static_cast<std::size_t>(result.verdict)]), result.message}});
    }
  }
  write_rows(arguments.output, rows, "tilecast.hw.check/1");
  if (failures > 0) throw Error(fmt::format("{} of {} checks failed", failures, rows.rows.size()));
}

void diff(const HwArguments& arguments) {
  const std::vector<hwdesc::Device> devices = load_devices(arguments.device);
  const auto left = hwdesc::flatten(devices.at(0)), right = hwdesc::flatten(devices.at(1));
  const std::map<std::string, std::string> left_values(left.begin(), left.end());
  const std::map<std::string, std::string> right_values(right.begin(), right.end());
  measured::CsvTable rows{
      "diff", {"key", arguments.device.names[0], arguments.device.names[1]}, {}};
  for (const auto& [key, value] : left) {
    const auto other = right_values.find(key);
    if (other != right_values.end() && other->second == value) continue;
    rows.rows.push_back({0, {key, value, other == right_values.end() ? "" : other->second}});
  }
  for (const auto& [key, value] : right) {
    if (!left_values.contains(key)) rows.rows.push_back({0, {key, "", value}});
  }
  write_rows(arguments.output, rows, "tilecast.hw.diff/1");
}

using Action = void (*)(const HwArguments&);

CLI::App& add(CLI::App& hw, const char* name, const char* help, int min_devices, int max_devices,
              Action action) {
  auto arguments = std::make_shared<HwArguments>();
  CLI::App& verb = *hw.add_subcommand(name, help);
  if (max_devices > 0) {
    verb.add_option("device", arguments->device.names, "device presets or YAML files")
        ->expected(std::max(min_devices, 1), max_devices)
        ->required(min_devices > 0)
        ->type_name("DEVICE");
    verb.add_option("--set", arguments->device.set, "override a value")
        ->allow_extra_args(false)
        ->type_name("KEY=VALUE");
  }
  if (action == show) {
    arguments->output.format = "yaml";
    verb.add_flag("--schema", arguments->schema, "every key with unit, range and meaning");
    add_output_file(verb, "-o,--output", arguments->output.file, "file to write instead of stdout");
  } else {
    add_output_options(verb, arguments->output, {"table", "json", "csv"});
  }
  verb.callback([arguments, action] { action(*arguments); });
  return verb;
}

}  // namespace

void add_hw(CLI::App& app) {
  CLI::App& hw = *app.add_subcommand("hw", "devices: list, show, check, diff, probe");
  hw.require_subcommand(1);
  add(hw, "list", "the presets", 0, 0, list);
  add(hw, "show", "a device in full, as YAML", 0, 1, show);
  add(hw, "check", "recomputed peaks against published ones; all presets by default", 0, 64, check);
  add(hw, "diff", "the values in which two devices differ", 2, 2, diff);
  add_hw_probe(hw);
}

}  // namespace tilecast::sim::cli
