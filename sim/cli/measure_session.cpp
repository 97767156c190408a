#include "sim/cli/measure_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/parallel.h"
#include "base/source_text.h"
#include "base/text.h"
#include "host/probe.h"
#include "hwdesc/device_yaml.h"
#include "sim/cli/options.h"
#include "sim/cli/terminal.h"

namespace tilecast::sim::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxCompilers = 1024, kMaxCore = 4095;
constexpr const char* kProbed = "host.yaml";
constexpr const char* kCopied = "device.yaml";
constexpr Seconds kTimeout{3};  // per kernel, warm-up included

std::string duration(Seconds time) {
  const double s = std::max(time.value, 0.0);
  if (s < 120) return fmt::format("{:.0f} s", s);
  return s < 7200 ? fmt::format("{:.0f} min", s / 60) : fmt::format("{:.1f} h", s / 3600);
}

// Derives a device's name from a folder's: letters, digits and '_', starting with a letter.
std::string device_name(const std::string& folder) {
  const fs::path path = fs::absolute(folder).lexically_normal();
  std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  const bool fits = !name.empty() && name.size() <= 40 &&
                    std::isalpha(static_cast<unsigned char>(name.front())) != 0;
  return fits ? name : "host";
}

void make_folder(const std::string& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw Error("{}: cannot make it: {}", folder, failed.message());
}

ChosenDevice probed_device(const std::string& folder) {
  const std::string file = (fs::path(folder) / kProbed).string();
  if (!fs::exists(file)) {
    tell("no --device: measuring this machine first, into {} (about {:.0f} s)", file,
         host::ProbeOptions{}.seconds);
    const std::string yaml = host::probed_yaml(host::probe(), device_name(folder));
    make_folder(folder);
    write({.format = "yaml", .file = file}, yaml);
  }
  return {hwdesc::load_device(file), kProbed};
}

ChosenDevice copied_device(const std::string& folder, const std::string& path) {
  hwdesc::Device device = hwdesc::load_device(path);
  for (const char* inside : {kProbed, kCopied}) {
    std::error_code failed;
    if (fs::equivalent(path, fs::path(folder) / inside, failed)) return {device, inside};
  }
  const std::string copy = (fs::path(folder) / kCopied).string();
  const std::string text = hwdesc::print_device(device);
  if (!fs::exists(copy)) {
    make_folder(folder);
    write({.format = "yaml", .file = copy}, text);
  } else if (base::SourceText::read_file(copy).text() != text) {
    throw Error(
        "--device {}: differs from {}, with which rows were measured; expected the same one, or "
        "another --out",
        path, copy);
  }
  return {std::move(device), kCopied};
}

measured::Manifest manifest_of(const MeasureTask& task, const host::TimingOptions& timing) {
  return {.name = task.name,
          .description = task.description,
          .device = task.device.in_manifest,
          .source = fmt::format("measured by `tilecast measure` on {}, {}; {}", task.bench.machine,
                                base::today(), task.bench.compiler),
          .licence = "unknown: fill in before passing it on",
          .how_timed = host::how_timed(timing),
          .writer = measured::kOwnWriter,
          .timing = measured::Timing::kDevice};
}

void report_how_it_ended(const host::SessionReport& report, const MeasureArguments& arguments) {
  std::size_t skipped = 0;
  for (const auto& [reason, count] : report.skipped) skipped += count;
  const std::size_t left = report.planned - report.known - report.measured - skipped;
  const std::string_view how = report.end == host::SessionEnd::kStopped     ? "stopped"
                               : report.end == host::SessionEnd::kOutOfTime ? "out of time"
                                                                            : "finished";
  tell("{}: {} rows measured, {} skipped, {} known before, {} of {} left{}{}", how, report.measured,
       skipped, report.known, left, report.planned,
       report.unstable_once > 0 ? fmt::format(" ({} unstable once)", report.unstable_once)
                                : std::string(),
       left > 0 ? fmt::format("; the same command resumes {}", arguments.out) : std::string());
}

// Runs a session on the folder's set, with progress and support for interruption.
template <class Run>
host::SessionReport in_session(const MeasureArguments& arguments,
                               const measured::Manifest& manifest,
                               const host::SessionSettings& settings, std::size_t items,
                               const Run& run) {
  host::GrowingSet set(arguments.out, manifest, settings);
  for (const std::string& note : set.notes()) tell("note: {}", note);
  host::SessionReport report;
  {
    Progress progress("measure", items);
    const Interrupt interrupt;
    report = run(set, host::SessionEvents{
                          .stop = [] { return Interrupt::asked(); },
                          .progress =
                              [&progress](std::size_t done, std::optional<Seconds> left) {
                                progress.show(
                                    done, left ? fmt::format(", {} left", duration(*left)) : "");
                              }});
  }
  report_how_it_ended(report, arguments);
  return report;
}

}  // namespace

void add_measure_options(CLI::App& verb, MeasureArguments& arguments) {
  add_required(verb, "--out", arguments.out, "FOLDER",
               "folder of the measurement set, created or resumed");
  add_value(verb, "--limit", arguments.limit, "N", "kernels of each set at most; 0: all");
  add_number(verb, "--tiles-per-kernel", arguments.tiles, 1, 4096, "tiles of a kernel at most");
  add_text(verb, "--budget", arguments.budget, "TIME", "stop after this long: 90s, 10m, 1h");
  add_text(verb, "--longest", arguments.longest, "TIME",
           "leave out what is predicted to take longer");
  add_number(verb, "--core", arguments.core, -1, kMaxCore,
             "core to measure on; -1: the last one allowed");
  verb.add_option("--seed", arguments.seed, "of what is sampled")->capture_default_str();
  add_format_option(verb, arguments.format, {"table", "json", "csv"}, "form of the summary");
  arguments.jobs = base::default_jobs();
  verb.add_option("-j,--jobs", arguments.jobs, "compilers at once; nothing is timed meanwhile")
      ->check(CLI::Range(1, kMaxCompilers));
}

Seconds parse_budget(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const double scale = unit == "s" ? 1 : unit == "m" || unit == "min" ? 60 : unit == "h" ? 3600 : 0;
  if (error != std::errc{} || scale == 0 || !std::isfinite(value) || value < 0) {
    throw UsageError("--budget: got '{}', expected a time such as 90s, 10m or 1h", text);
  }
  return Seconds{value * scale};
}

Seconds longest_of(const MeasureArguments& arguments) {
  return Seconds{seconds_of(arguments.longest, "--longest")};
}

ChosenDevice choose_device(const std::string& folder, const std::string& name_or_path) {
  const auto begun = host::settings_of(folder);
  if (!name_or_path.empty()) {
    if (hwdesc::is_path(name_or_path)) return copied_device(folder, name_or_path);
    return {hwdesc::load_device(name_or_path), name_or_path};
  }
  if (!begun || begun->device == kProbed) return probed_device(folder);
  const std::string device =
      hwdesc::is_path(begun->device) ? (fs::path(folder) / begun->device).string() : begun->device;
  return {hwdesc::load_device(device), begun->device};
}

host::SessionReport run_session(const MeasureTask& task, const MeasureArguments& arguments) {
  const host::TimingOptions timing{
      .state = arguments.cache == "warm" ? host::CacheState::kWarm : host::CacheState::kCold,
      .core = arguments.core,
      .timeout = kTimeout};
  host::SessionOptions options{
      .timing = timing, .jobs = arguments.jobs, .longest = longest_of(arguments)};
  if (!arguments.budget.empty()) {
    options.budget = parse_budget(arguments.budget) - Seconds{task.spent_s};
  }
  return in_session(
      arguments, manifest_of(task, timing),
      {.date = base::today(),
       .machine = task.bench.machine,
       .compiler = task.bench.compiler,
       .device = task.device.in_manifest,
       .cache = timing.state,
       .seed = arguments.seed,
       .unroll = task.unroll},
      task.plan.size(), [&](host::GrowingSet& set, const host::SessionEvents& events) {
        return host::measure(task.plan, task.device.device, set, task.bench, options, events);
      });
}

host::SessionReport run_labels(const LabelTask& task, const MeasureArguments& arguments) {
  const measured::Manifest manifest{
      .name = task.device.device.name + "_labels",
      .description = "what a compiler made of kernels and tiles; nothing ran",
      .device = task.device.in_manifest,
      .source =
          fmt::format("made by `tilecast measure host --labels compile`; {}", task.bench.tools),
      .licence = "unknown: fill in before passing it on",
      .how_timed = "not: read off the assembly, hottest loop as in host/assembly.h",
      .timing = measured::Timing::kNone,
      .quantities = host::label_quantities()};
  host::LabelOptions options{.jobs = arguments.jobs};
  if (!arguments.budget.empty()) options.budget = parse_budget(arguments.budget);
  return in_session(
      arguments, manifest,
      {.date = base::today(),
       .machine = "any",
       .compiler = task.bench.tools,
       .device = task.device.in_manifest,
       .seed = arguments.seed,
       .unroll = true},
      task.plan.size(), [&](host::GrowingSet& set, const host::SessionEvents& events) {
        return host::make_labels(task.plan, task.device.device, set, task.bench, options, events);
      });
}

}  // namespace tilecast::sim::cli
