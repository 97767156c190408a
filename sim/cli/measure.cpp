#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/output_file.h"
#include "base/text.h"
#include "host/measure_plan.h"
#include "host/measure_summary.h"
#include "measured/measurement_set.h"
#include "sim/cli/commands.h"
#include "sim/cli/measure_session.h"
#include "sim/cli/options.h"
#include "sim/cli/terminal.h"
#include "sim/views/rows.h"

namespace tilecast::sim::cli {
namespace {

namespace fs = std::filesystem;

struct HostArguments {
  MeasureArguments common;
  std::vector<std::string> sets, files;
  std::vector<int> stages, unroll{1};
  std::string labels;  // "compile", or empty: times
  std::size_t configurations = host::FusionCut{}.configurations;
};

constexpr Seconds kAnyTime{1e9};

std::vector<host::WorkSource> sources_of(const HostArguments& arguments,
                                         const hwdesc::Device& device) {
  // Labels do not run kernels.
  const Seconds longest = arguments.labels.empty() ? longest_of(arguments.common) : kAnyTime;
  std::vector<std::string> sets = arguments.sets;
  if (sets.empty() && arguments.files.empty()) sets = {"tiles", "fusion"};
  const auto wanted = [&](const char* set) { return std::ranges::count(sets, set) > 0; };
  std::vector<host::WorkSource> sources;
  if (wanted("tiles")) sources.push_back(host::tile_source(device));
  if (wanted("schedules")) sources.push_back(host::schedule_source(device));
  if (!arguments.files.empty())
    sources.push_back(host::file_source(arguments.files, device, longest));
  std::vector<std::string> programs = arguments.files;
  if (wanted("fusion")) {
    for (const std::string& own : host::own_programs()) programs.push_back(own);
  }
  if (!programs.empty()) {
    sources.push_back(host::fusion_source(programs, device,
                                          {.configurations = arguments.configurations,
                                           .seed = arguments.common.seed,
                                           .longest = longest}));
  }
  for (const host::WorkSource& source : sources) {
    for (const auto& [reason, kernels] : source.left_out) {
      tell("note: {}: {} kernels left out: {}", source.set, kernels, reason);
    }
  }
  return sources;
}

std::string optional_number(const std::optional<double>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : std::string();
}

// The contents of the set, and what this session added.
measured::CsvTable summary_table(const std::string& out, const host::SessionReport& report,
                                 Seconds planning) {
  measured::CsvTable table{out,
                           {"set", "what", "kernels", "rows", "rows_5us", "ranked_kernels",
                            "worst_over_best", "seconds", "example"},
                           {}};
  const host::SetSummary summary = host::summarise(out);
  for (const host::ClassSummary& row : summary.classes) {
    views::add_row(table, row.set, row.op_class, row.kernels, row.rows, row.at_least_5us,
                   row.ranked, optional_number(row.worst_over_best, "{:.2f}"), "", "");
  }
  for (const host::SkipSummary& row : summary.skipped) {
    views::add_row(table, row.set, "skipped: " + row.reason, row.kernels, row.rows, "", "", "", "",
                   row.example);
  }
  views::add_row(table, "all", "measured", summary.kernels, summary.rows, "", "", "", "", "");
  const auto time = [&](const char* what, Seconds seconds) {
    views::add_row(table, "session", what, "", "", "", "", "", fmt::format("{:.1f}", seconds.value),
                   "");
  };
  time("planning", planning + report.generating);
  time("compiling", report.compiling);
  time("timing", report.timing);
  return table;
}

// The contents of a set of labels, and what this session added.
measured::CsvTable label_table(const std::string& out, const host::SessionReport& report,
                               Seconds planning) {
  measured::CsvTable table{
      out, {"quantity", "unit", "rows", "least", "median", "most", "distinct", "example"}, {}};
  const host::LabelSummary summary = host::summarise_labels(out);
  for (const host::QuantitySummary& one : summary.quantities) {
    views::add_row(table, one.name, one.unit, one.rows, fmt::format("{:.6g}", one.least),
                   fmt::format("{:.6g}", one.median), fmt::format("{:.6g}", one.most), one.distinct,
                   "");
  }
  for (const host::SkipSummary& row : summary.skipped) {
    views::add_row(table, "skipped: " + row.reason, "", row.rows, "", "", "", "", row.example);
  }
  views::add_row(table, "all kernels", "", summary.kernels, "", "", "", "", "");
  views::add_row(table, "all rows", "", summary.rows, "", "", "", "", "");
  const auto time = [&](const char* what, Seconds seconds) {
    views::add_row(table, what, "s", "", "", fmt::format("{:.1f}", seconds.value), "", "", "");
  };
  time("planning of this session", planning);
  time("labelling of this session", report.compiling);
  return table;
}

void finish(const measured::CsvTable& table, const MeasureArguments& arguments,
            const host::SessionReport& report, const std::string& schema) {
  write_rows({.format = arguments.format, .file = {}}, table, schema);
  if (report.end == host::SessionEnd::kStopped) end_as_interrupted();
}

// Checks the options before a machine is probed.
void check(const MeasureArguments& arguments) {
  if (!arguments.budget.empty()) static_cast<void>(parse_budget(arguments.budget));
  static_cast<void>(longest_of(arguments));
  base::require_writable(arguments.out);
}

std::vector<host::WorkItem> plan_of(const HostArguments& arguments,
                                    const std::vector<host::WorkSource>& sources,
                                    const hwdesc::Device& device) {
  std::vector<host::WorkItem> plan =
      host::plan_work(sources, device,
                      {.tiles_per_kernel = arguments.common.tiles,
                       .stages = arguments.stages,
                       .unroll = arguments.unroll,
                       .kernels_per_source = arguments.common.limit,
                       .longest = arguments.labels.empty() ? host::PlanOptions{}.longest : kAnyTime,
                       .seed = arguments.common.seed,
                       .jobs = arguments.common.jobs});
  if (plan.empty()) throw Error("nothing to measure: no kernel is left; see the notes above");
  return plan;
}

void run_label_session(const HostArguments& arguments) {
  check(arguments.common);
  const host::LabelBench bench = host::label_bench();
  const auto start = std::chrono::steady_clock::now();
  const MeasureArguments& common = arguments.common;
  const bool begun = host::settings_of(common.out).has_value();
  if (common.device.empty() && !begun) {
    throw UsageError(
        "--labels: expected --device, too: labels are no machine's, nothing is probed");
  }
  const ChosenDevice device = choose_device(common.out, common.device);
  const std::vector<host::WorkSource> sources = sources_of(arguments, device.device);
  const std::vector<host::WorkItem> plan = plan_of(arguments, sources, device.device);
  const std::chrono::duration<double> planning = std::chrono::steady_clock::now() - start;
  const host::SessionReport report =
      run_labels({.plan = plan, .device = device, .bench = bench}, common);
  finish(label_table(common.out, report, Seconds{planning.count()}), common, report,
         "tilecast.measure.labels/1");
}

void run_host(const HostArguments& arguments) {
  if (!arguments.labels.empty()) return run_label_session(arguments);
  check(arguments.common);
  const host::Bench bench = host::this_machine();
  const Seconds start = bench.now();
  const ChosenDevice device = choose_device(arguments.common.out, arguments.common.device);
  const std::vector<host::WorkSource> sources = sources_of(arguments, device.device);
  const std::vector<host::WorkItem> plan = plan_of(arguments, sources, device.device);
  const Seconds planning = bench.now() - start;
  const MeasureTask task{.plan = plan,
                         .device = device,
                         .bench = bench,
                         .name = device.device.name,
                         .description = "kernels and tiles as C on one core of this machine",
                         .spent_s = planning.value,
                         .unroll = arguments.unroll != std::vector{1}};
  const host::SessionReport report = run_session(task, arguments.common);
  finish(summary_table(arguments.common.out, report, planning), arguments.common, report,
         "tilecast.measure.host/1");
}

struct RepeatArguments {
  MeasureArguments common;
  std::string set;
};

measured::CsvTable repeat_table(const RepeatArguments& arguments) {
  const host::Repeatability found = host::repeatability(arguments.set, arguments.common.out);
  measured::CsvTable table{arguments.common.out, {"quantity", "value"}, {}};
  const auto add = [&](const char* quantity, const auto& value) {
    views::add_row(table, quantity, value);
  };
  const auto percent = [](std::optional<double> share) {
    return share ? fmt::format("{:.2f}", 100 * *share) : std::string();
  };
  add("rows", found.pairs);
  add("kernels", found.kernels);
  add("median_difference_percent", percent(found.median));
  add("p90_difference_percent", percent(found.p90));
  add("shift_percent", percent(found.shift));
  add("ranked_kernels", found.ranked);
  add("kendall_tau_within_kernels", optional_number(found.tau, "{:.3f}"));
  return table;
}

void run_repeat(RepeatArguments arguments) {
  check(arguments.common);
  std::error_code failed;
  if (fs::equivalent(arguments.set, arguments.common.out, failed)) {
    throw UsageError("--out: is the set itself; expected another folder for the second times");
  }
  const auto first = host::settings_of(arguments.set);
  if (!first) throw Error("{}: no measurement set of `measure`", arguments.set);
  const host::Bench bench = host::this_machine();
  if (first->machine != bench.machine) {
    tell("note: {} was measured on {}, this is {}", arguments.set, first->machine, bench.machine);
  }
  const Seconds start = bench.now();
  arguments.common.cache = host::name(first->cache);
  const measured::Manifest manifest = measured::read_measurement_set(arguments.set).manifest;
  if (manifest.timing == measured::Timing::kNone) {
    throw Error("{}: holds labels, no times to compare with", arguments.set);
  }
  const ChosenDevice device = choose_device(arguments.common.out, manifest.device);
  const std::vector<host::WorkSource> sources{host::set_source(
      arguments.set, device.device, arguments.common.tiles, arguments.common.seed)};
  const std::vector<host::WorkItem> plan =
      host::plan_work(sources, device.device,
                      {.kernels_per_source = arguments.common.limit,
                       .shortest = Seconds{0},
                       .jobs = arguments.common.jobs});
  const MeasureTask task{.plan = plan,
                         .device = device,
                         .bench = bench,
                         .name = manifest.name + "_again",
                         .description = "kernels of " + manifest.name + " measured again",
                         .spent_s = (bench.now() - start).value};
  const host::SessionReport report = run_session(task, arguments.common);
  finish(repeat_table(arguments), arguments.common, report, "tilecast.measure.repeat/1");
}

void add_host_verb(CLI::App& measure) {
  auto arguments = std::make_shared<HostArguments>();
  CLI::App& verb = *measure.add_subcommand("host", "kernels and tiles as C on this CPU");
  add_value(verb, "files", arguments->files, "FILE.hlo", "HLO programs to measure kernels of")
      ->check(CLI::ExistingFile);
  add_measure_options(verb, arguments->common);
  add_value(verb, "-d,--device", arguments->common.device, "DEVICE",
            "description that chooses tiles; without it this machine is described first");
  add_choice(verb, "--cache", arguments->common.cache, {"cold", "warm"},
             "what caches hold before a call");
  verb.add_option("--sets", arguments->sets,
                  "what comes with Tilecast (no file given: tiles, fusion)")
      ->check(CLI::IsMember({"tiles", "fusion", "schedules"}))
      ->delimiter(',');
  add_list(verb, "--stages", arguments->stages, "N,...",
           "write tiles as loops that prefetch N - 1 tiles ahead, one run for each N")
      ->check(CLI::Range(1, 64));
  add_number(verb, "--configurations", arguments->configurations, 1, 100'000,
             "fusion configurations that cut each program");
  add_value(verb, "--labels", arguments->labels, "compile",
            "no times: what the compiler makes of each kernel (registers, spills, ...)")
      ->check(CLI::IsMember({"compile"}))
      ->excludes("--longest")
      ->excludes("--cache")
      ->excludes("--core");
  add_list(verb, "--unroll", arguments->unroll, "N,...",
           "ask the compiler to unroll parallel loops by N, one run for each N")
      ->check(CLI::Range(1, 64));
  verb.footer(
      R"(Writes a measurement set that evaluate, calibrate and compare read. tiles: convolutions,
matrix products, reductions, transposes, each under many tiles. fusion: programs cut into
kernels by random fusions, each kernel once. schedules: ResNet-18's convolutions under every
tile of their template, packed and in registers. FILE.hlo: your program's kernels under many
tiles, and its random fusions. Kernels are compiled by cc (or $CC), checked for drift of
the clock, and run in a child process on one core. Run it again with the same --out to go
on; Ctrl-C stops after the current kernel (exit code 130), all rows are kept.
FOLDER/skipped.csv says what was not measured and why; remove it to try those again.
worst_over_best: median over kernels of slowest / fastest tile.
--labels compile runs nothing: docs/measurements.md lists the labels. It needs gcc and
llvm-mca, compiles for one fixed processor, and is the same on every machine.)");
  verb.callback([arguments] { run_host(*arguments); });
}

void add_repeat_verb(CLI::App& measure) {
  auto arguments = std::make_shared<RepeatArguments>();
  arguments->common.tiles = 8;
  CLI::App& verb =
      *measure.add_subcommand("repeat", "kernels of a set once more: can its times be trusted?");
  add_required(verb, "set", arguments->set, "SET", "folder that measure host wrote");
  add_measure_options(verb, arguments->common);
  verb.footer(
      R"(Measures kernels of SET again into --out, with the tiles they have there, and compares.
Differences are second / first - 1: median and p90 of their size, shift: their median with
its sign; Kendall tau-b between the two rankings of a kernel's tiles, averaged.)");
  verb.callback([arguments] { run_repeat(*arguments); });
}

}  // namespace

void add_measure(CLI::App& app) {
  CLI::App& measure = *app.add_subcommand("measure", "measure kernels on this machine");
  measure.require_subcommand(1);
  add_host_verb(measure);
  add_repeat_verb(measure);
}

}  // namespace tilecast::sim::cli
