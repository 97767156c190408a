#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "host/probe.h"
#include "hwdesc/device_check.h"
#include "hwdesc/device_yaml.h"
#include "hwdesc/xla_target.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/views/rows.h"

namespace tilecast::sim::cli {
namespace {

constexpr double kLeastSeconds = 0.1, kMostSeconds = 3600;

struct HwProbeArguments {
  OutputOptions report;
  std::string file, name;
  double seconds = host::ProbeOptions{}.seconds;
};

measured::CsvTable rows_of(const host::Probed& probed) {
  constexpr double kKiB = 1024, kGiga = 1e9, kNano = 1e-9;
  measured::CsvTable table{
      "probe", {"part", "quantity", "one_core", "all_cores", "unit", "spread_percent"}, {}};
  const auto shown = [](double value) { return value > 0 ? fmt::format("{:.4g}", value) : ""; };
  const auto add = [&](const std::string& part, const std::string& quantity, const char* unit,
                       double one_core, double all_cores = 0, double spread = -1) {
    views::add_row(table, part, quantity, shown(one_core), shown(all_cores), unit,
                   spread < 0 ? "" : fmt::format("{:.1f}", 100 * spread));
  };
  add("core", "clock", "GHz", probed.clock.value / kGiga, 0, probed.clock_spread);
  add("core", "cores", "", 1, probed.cores);
  add("core", "vector", "bytes", probed.vector_bytes);
  add("core", "empty call", "ns", probed.call.value / kNano);
  add("core", "packing one element", "ns", probed.pack.value / kNano);
  for (const host::ProbedRate& rate : probed.rates) {
    add("multiply-add", rate.dtype, "GFLOP/s", rate.one_core.value / kGiga,
        rate.all_cores.value / kGiga, rate.spread);
  }
  add("matrix product", "f32", "GFLOP/s", probed.product.value / kGiga, 0, probed.product_spread);
  for (const host::ProbedLevel& level : probed.levels) {
    const auto bandwidth = [&](const char* what, BytesPerSecond one, BytesPerSecond all) {
      add(level.name, what, "GB/s", one.value / kGiga, all.value / kGiga, level.spread);
    };
    add(level.name, "capacity", "KiB", level.capacity.value / kKiB);
    add(level.name, "shared by", "cores", level.shared_by);
    add(level.name, "latency", "ns", level.latency.value / kNano, 0, level.spread);
    bandwidth("read", level.read, level.all_read);
    bandwidth("write", level.write, level.all_write);
    bandwidth("copy, both ways", level.copy, level.all_copy);
    bandwidth("runs of 256 B, packed", level.runs, {});
  }
  for (const auto& [op, cycles] : probed.op_cycles) {
    add("op", op, "cycles per vector", cycles, 0, probed.op_spread);
  }
  add("probe", "reference loop, slowest over fastest", "", 1 + probed.reference_spread);
  return table;
}

host::Probed probe_here(double seconds) {
  Progress line("probe:", Progress::kPercent);
  return host::probe(
      {.seconds = seconds, .progress = [&line](const std::string& what) { line.say(what); }});
}

void run(const HwProbeArguments& arguments) {
  const host::Probed probed = probe_here(arguments.seconds);
  const std::string stem = std::filesystem::path(arguments.file).stem().string();
  const std::string name = !arguments.name.empty() ? arguments.name : !stem.empty() ? stem : "host";
  const std::string yaml = host::probed_yaml(probed, name);
  if (!arguments.file.empty()) {
    write({.format = "yaml", .file = arguments.file}, yaml);
    tell("wrote {}", arguments.file);
  }
  if (arguments.report.format == "yaml") {
    write(arguments.report, yaml);
    return;
  }
  if (arguments.report.format == "table") {
    write({.format = "table", .file = {}},
          fmt::format("{}, {} threads per core, {} NUMA nodes, {}\n{}\n\n", probed.model,
                      probed.threads_per_core, probed.numa_nodes, probed.date, probed.compiler));
  }
  write_rows(arguments.report, rows_of(probed), "tilecast.hw.probe/1");
}

void add_hw_probe(CLI::App& hw) {
  auto arguments = std::make_shared<HwProbeArguments>();
  CLI::App& verb = *hw.add_subcommand("probe", "measure this CPU and describe it as a device");
  add_output_file(verb, "-o,--output", arguments->file, "the description to write (YAML)");
  add_value(verb, "--name", arguments->name, "NAME", "of the device; default: from the file");
  add_number(verb, "--seconds", arguments->seconds, kLeastSeconds, kMostSeconds,
             "about how long it measures");
  add_format_option(verb, arguments->report.format, {"table", "json", "csv", "yaml"},
                    "form of the report on stdout");
  verb.footer(
      R"(Describes one core: clock, multiply-adds per type, bandwidth and latency of each cache and
of main memory, cycles of divisions, functions and data movement, each the best of repeats
of compiled C loops on a pinned core, and what all cores reach together. Needs a C compiler
(cc, or $CC). Other work on the machine makes the numbers worse: the spread tells.)");
  verb.callback([arguments] { run(*arguments); });
}

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
    const hwdesc::MemoryLevel& memory = device.main_memory();
    views::add_row(
        rows, name, device.generation, format_quantity(device.clock.value, UnitKind::kFrequency),
        format_quantity(memory.capacity.value, UnitKind::kCapacity),
        format_quantity(memory.bandwidth.value, UnitKind::kBandwidth),
        format_quantity(device.matrix_peak("bf16").value, UnitKind::kFlopRate), device.description);
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
      views::add_row(rows, device.name, result.what,
                     number(result.computed_si != 0, result.computed_si),
                     number(published, result.published_si),
                     published ? fmt::format("{:.2f}", 100 * result.deviation) : "",
                     kVerdicts[static_cast<std::size_t>(result.verdict)], result.message);
    }
  }
  write_rows(arguments.output, rows, "tilecast.hw.check/1");
  if (failures > 0) throw Error("{} of {} checks failed", failures, rows.rows.size());
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
    views::add_row(rows, key, value, other == right_values.end() ? "" : other->second);
  }
  for (const auto& [key, value] : right) {
    if (!left_values.contains(key)) views::add_row(rows, key, "", value);
  }
  write_rows(arguments.output, rows, "tilecast.hw.diff/1");
}

void export_target(const HwArguments& arguments) {
  write(arguments.output, hwdesc::xla_gpu_target(load_devices(arguments.device).front()));
}

using Action = void (*)(const HwArguments&);

CLI::App& add(CLI::App& hw, const char* name, const char* help, int min_devices, int max_devices,
              Action action) {
  auto arguments = std::make_shared<HwArguments>();
  CLI::App& verb = *hw.add_subcommand(name, help);
  if (max_devices > 0) {
    add_value(verb, "device", arguments->device.names, "DEVICE", "device presets or YAML files")
        ->expected(std::max(min_devices, 1), max_devices)
        ->required(min_devices > 0);
    add_repeated(verb, "--set", arguments->device.set, "KEY=VALUE", "override a value");
  }
  if (action == show || action == export_target) {
    arguments->output.format = action == show ? "yaml" : "xla-gpu-target";
    if (action == show) {
      verb.add_flag("--schema", arguments->schema, "every key with unit, range and meaning");
    } else {
      add_choice(verb, "--to", arguments->output.format, {"xla-gpu-target"},
                 "GpuTargetConfig of XLA, as protobuf text");
    }
    add_output_file(verb, "-o,--output", arguments->output.file, "file to write instead of stdout");
  } else {
    add_output_options(verb, arguments->output, {"table", "json", "csv"});
  }
  verb.callback([arguments, action] { action(*arguments); });
  return verb;
}

}  // namespace

void add_hw(CLI::App& app) {
  CLI::App& hw = *app.add_subcommand("hw", "devices: list, show, check, diff, export, probe");
  hw.require_subcommand(1);
  add(hw, "list", "the presets", 0, 0, list);
  add(hw, "show", "a device in full, as YAML", 0, 1, show);
  add(hw, "check", "recomputed peaks against published ones; all presets by default", 0, 64, check);
  add(hw, "diff", "the values in which two devices differ", 2, 2, diff);
  add(hw, "export", "what a compiler needs to know of a device", 1, 1, export_target);
  add_hw_probe(hw);
}

}  // namespace tilecast::sim::cli
