#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "host/probe.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"

namespace tilecast::sim::cli {
namespace {

constexpr double kLeastSeconds = 0.1, kMostSeconds = 3600;

struct HwProbeArguments {
  OutputOptions report;
  std::string file, name;
  double seconds = host::ProbeOptions{}.seconds;
};

// Rows of one quantity: quantity, place, one core, all cores, unit, spread.
class Rows {
 public:
  void add(const std::string& part, const std::string& quantity, const std::string& unit,
           double one_core, double all_cores = 0, double spread = -1) {
    const auto shown = [](double value) {
      return value > 0 ? fmt::format("{:.4g}", value) : std::string();
    };
    table_.rows.push_back({0,
                           {part, quantity, shown(one_core), shown(all_cores), unit,
                            spread < 0 ? "" : fmt::format("{:.1f}", 100 * spread)}});
  }
  [[nodiscard]] const measured::CsvTable& table() const { return table_; }

 private:
  measured::CsvTable table_{
      "probe", {"part", "quantity", "one_core", "all_cores", "unit", "spread_percent"}, {}};
};

measured::CsvTable rows_of(const host::Probed& probed) {
  constexpr double kKiB = 1024, kGiga = 1e9, kNano = 1e-9;
  Rows rows;
  rows.add("core", "clock", "GHz", probed.clock.value / kGiga, 0, probed.clock_spread);
  rows.add("core", "cores", "", 1, probed.cores);
  rows.add("core", "vector", "bytes", probed.vector_bytes);
  rows.add("core", "empty call", "ns", probed.call.value / kNano);
  rows.add("core", "packing one element", "ns", probed.pack.value / kNano);
  for (const host::ProbedRate& rate : probed.rates) {
    rows.add("multiply-add", rate.dtype, "GFLOP/s", rate.one_core.value / kGiga,
             rate.all_cores.value / kGiga, rate.spread);
  }
  rows.add("matrix product", "f32", "GFLOP/s", probed.product.value / kGiga, 0,
           probed.product_spread);
  for (const host::ProbedLevel& level : probed.levels) {
    const auto bandwidth = [&](const char* what, BytesPerSecond one, BytesPerSecond all) {
      rows.add(level.name, what, "GB/s", one.value / kGiga, all.value / kGiga, level.spread);
    };
    rows.add(level.name, "capacity", "KiB", level.capacity.value / kKiB);
    rows.add(level.name, "shared by", "cores", level.shared_by);
    rows.add(level.name, "latency", "ns", level.latency.value / kNano, 0, level.spread);
    bandwidth("read", level.read, level.all_read);
    bandwidth("write", level.write, level.all_write);
    bandwidth("copy, both ways", level.copy, level.all_copy);
    bandwidth("runs of 256 B, packed", level.runs, {});
  }
  for (const auto& [op, cycles] : probed.op_cycles) {
    rows.add("op", op, "cycles per vector", cycles, 0, probed.op_spread);
  }
  rows.add("probe", "reference loop, slowest over fastest", "", 1 + probed.reference_spread);
  return rows.table();
}

// One line on a terminal, rewritten at each step.
class Line {
 public:
  explicit Line(bool shown) : shown_(shown) {}
  ~Line() {
    if (shown_) tell_in_place("");
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  void show(const std::string& what) const {
    if (shown_) tell_in_place(fmt::format("probe: {}", what));
  }

 private:
  bool shown_;
};

host::Probed probe_here(double seconds) {
  const Line line(isatty(STDERR_FILENO) == 1);
  return host::probe(
      {.seconds = seconds, .progress = [&line](const std::string& what) { line.show(what); }});
}

void run(const HwProbeArguments& arguments) {
  const host::Probed probed = probe_here(arguments.seconds);
  const std::string stem = std::filesystem::path(arguments.file).stem().string();
  const std::string name = !arguments.name.empty() ? arguments.name : !stem.empty() ? stem : "host";
  const std::string yaml = host::probed_yaml(probed, name);
  if (!arguments.file.empty()) {
    write({.format = "yaml", .file = arguments.file}, yaml);
    tell(fmt::format("wrote {}", arguments.file));
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

}  // namespace

void add_hw_probe(CLI::App& hw) {
  auto arguments = std::make_shared<HwProbeArguments>();
  CLI::App& verb = *hw.add_subcommand("probe", "measure this CPU and describe it as a device");
  add_output_file(verb, "-o,--output", arguments->file, "the description to write (YAML)");
  verb.add_option("--name", arguments->name, "of the device; default: from the file")
      ->type_name("NAME");
  verb.add_option("--seconds", arguments->seconds, "about how long it measures")
      ->check(CLI::Range(kLeastSeconds, kMostSeconds))
      ->capture_default_str();
  add_format_option(verb, arguments->report.format, {"table", "json", "csv", "yaml"},
                    "form of the report on stdout");
  verb.footer(
      "Describes one core: clock, multiply-adds per type, bandwidth and latency of each cache and\n"
      "of main memory, cycles of divisions, functions and data movement, each the best of repeats\n"
      "of compiled C loops on a pinned core, and what all cores reach together. Needs a C "
      "compiler\n"
      "(cc, or $CC). Other work on the machine makes the numbers worse: the spread tells.");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
