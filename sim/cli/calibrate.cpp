#include "hybrid/calibrate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/device_yaml.h"
#include "measured/splits.h"
#include "sim/cli/calibrate_train.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/evaluation_report.h"
#include "sim/views/calibration.h"

namespace tilecast::sim::cli {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::vector<std::string> sets, classes, kernels, fixed;
  DeviceOptions devices;
  OutputOptions report;
  std::string file, name;
  ThenTrain train;
  bool other_machine = false;
  std::size_t most_rows = 1000;
  int jobs = 1;
};

std::set<std::string> fixed_constants(const Arguments& arguments) {
  const std::vector<std::string_view> known = hybrid::constant_names();
  for (const std::string& name : arguments.fixed) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::string near = base::nearest(name, known);
    throw UsageError(fmt::format("--fix: got '{}', expected one of {}{}", name,
                                 fmt::join(known, ", "),
                                 near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
  return {arguments.fixed.begin(), arguments.fixed.end()};
}

// Keeps the rows that --class or --kernel name; all of them without either.
void select(const Arguments& arguments, measured::SampleSet& set) {
  if (arguments.classes.empty() && arguments.kernels.empty()) return;
  const auto named = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  std::erase_if(set.samples, [&](const measured::Sample& sample) {
    const measured::Work& work = set.works[sample.work];
    return !named(arguments.classes, work.op_class) && !named(arguments.kernels, work.name);
  });
}

// A few constants need no more than a sample of a large table: the same one every time.
void thin_out(const Arguments& arguments, std::vector<measured::SampleSet>& sets) {
  constexpr std::uint64_t kSeed = 1;
  std::size_t all = 0;
  for (const measured::SampleSet& set : sets) all += set.samples.size();
  if (all <= arguments.most_rows) return;
  for (measured::SampleSet& set : sets) {
    const std::size_t share = set.samples.size() * arguments.most_rows / all;
    std::vector<std::size_t> indices(set.samples.size());
    std::iota(indices.begin(), indices.end(), std::size_t{0});
    if (share == 0 || share == indices.size()) continue;
    std::vector<measured::Sample> kept;
    for (const std::size_t i : measured::sampled_rows(indices, share, kSeed).fit) {
      kept.push_back(std::move(set.samples[i]));
    }
    set.samples = std::move(kept);
  }
  fmt::print(stderr, "a random sample of {} of {} rows is fitted (--rows)\n", arguments.most_rows,
             all);
}

std::vector<measured::SampleSet> load_sets(const Arguments& arguments,
                                           const hwdesc::Device& device) {
  std::vector<measured::SampleSet> sets;
  for (const std::string& path : arguments.sets) {
    sets.push_back(measured::make_samples(measured::read_measurement_set(path), device,
                                          {.jobs = arguments.jobs}));
    if (!arguments.other_machine && !is_measured_on(device, sets.back().measured_on)) {
      throw Error(
          fmt::format("{}: got rows measured on '{}', expected on {} or what it extends unchanged; "
                      "--other-machine fits them all the same",
                      path, sets.back().measured_on, device.name));
    }
    const std::size_t before = sets.back().samples.size();
    select(arguments, sets.back());
    fmt::print(stderr, "{}: {} rows of {} used, {} left out by physics\n", sets.back().name,
               sets.back().samples.size(), before + sets.back().faults.size(),
               sets.back().faults.size());
  }
  return sets;
}

std::string provenance(const std::vector<measured::SampleSet>& sets,
                       const hybrid::Calibrated& calibrated) {
  std::vector<std::string> used;
  for (const measured::SampleSet& set : sets) {
    if (set.samples.empty()) continue;
    used.push_back(
        fmt::format("{} ({} rows, data {})", set.name, set.samples.size(), set.hash.substr(0, 12)));
  }
  const hybrid::LeftOut& all = calibrated.left_out.front();
  return fmt::format(
      "tilecast calibrate on {}; {} kernels, {} rows not used as outliers; left-out kernels: "
      "median APE {:.1f} -> {:.1f} %, p90 {:.1f} -> {:.1f} %",
      fmt::join(used, ", "), calibrated.kernels, calibrated.outliers.size(),
      100 * all.median_before, 100 * all.median_after, 100 * all.p90_before, 100 * all.p90_after);
}

// What the new file extends: a preset by name, any other description by its path from there.
std::string parent_of(const std::string& device, const std::string& file) {
  if (!hwdesc::is_path(device)) return device;
  const fs::path folder = fs::absolute(file).parent_path();
  return "./" + fs::relative(fs::absolute(device), folder).string();
}

void run(const Arguments& arguments) {
  const std::set<std::string> fixed = fixed_constants(arguments);
  const hwdesc::Device device = load_devices(arguments.devices).front();
  if (!arguments.train.directory.empty()) check_folder(arguments.train);
  const std::vector<measured::SampleSet> all = load_sets(arguments, device);
  std::vector<measured::SampleSet> sets = all;
  thin_out(arguments, sets);
  const auto model = make_model("analytical");
  Progress progress("calibrate: fits", hybrid::kMostFits);
  const hybrid::Calibrated calibrated = hybrid::calibrate(
      sets, device, *model,
      {.fixed = fixed, .jobs = arguments.jobs, .step = [&progress] { progress.step(); }});
  if (calibrated.accepted && !arguments.file.empty()) {
    const std::string name =
        arguments.name.empty() ? fs::path(arguments.file).stem().string() : arguments.name;
    const std::string text = hybrid::calibrated_yaml(
        calibrated, parent_of(arguments.devices.names.front(), arguments.file), name,
        provenance(sets, calibrated));
    write({.format = "yaml", .file = arguments.file}, text);
  }
  std::optional<hybrid::FittedHybrid> fitted;
  if (!arguments.train.directory.empty()) {
    ThenTrain options = arguments.train;
    options.jobs = arguments.jobs;
    fitted = then_train(options, all, calibrated);
  }
  const hybrid::FittedHybrid* trained = fitted ? &*fitted : nullptr;
  write(arguments.report, arguments.report.format == "json"
                              ? views::calibration_json(calibrated, trained)
                              : views::calibration_text(calibrated, trained));
  if (arguments.file.empty()) return;
  if (calibrated.accepted) {
    fmt::print(stderr, "wrote {}\n", arguments.file);
  } else {
    fmt::print(stderr, "{} not written: nothing to change\n", arguments.file);
  }
}

void add_options(CLI::App& verb, Arguments& arguments) {
  verb.add_option("sets", arguments.sets, "folders of measurements (tilecast import makes them)")
      ->required()
      ->type_name("SET");
  add_device_options(verb, arguments.devices, Devices::kOne);
  verb.add_option("--class", arguments.classes, "use rows of these op classes (and --kernel's)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("CLASS");
  verb.add_option("--kernel", arguments.kernels, "use rows of these kernels (and --class's)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME");
  verb.add_option("--fix", arguments.fixed, "constants that stay as described")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME");
  verb.add_option("-o,--output", arguments.file, "the calibrated description to write (YAML)")
      ->type_name("FILE");
  verb.add_option("--then-train", arguments.train.directory,
                  "also fit a hybrid of the calibrated device to all rows, into this folder")
      ->type_name("FOLDER");
  verb.add_flag("--force", arguments.train.force, "replace a model that is in that folder");
  verb.add_option("--name", arguments.name, "of the calibrated device; default: from the file");
  verb.add_option("-f,--format", arguments.report.format, "form of the report on stdout")
      ->check(CLI::IsMember({"table", "json"}))
      ->default_val("table");
  verb.add_option("--rows", arguments.most_rows, "fit a random sample of at most N rows")
      ->check(CLI::Range(std::size_t{3}, std::size_t{1'000'000'000}))
      ->capture_default_str();
  verb.add_flag("--other-machine", arguments.other_machine,
                "use rows that were measured on another machine");
  add_jobs_option(verb, arguments.jobs);
}

}  // namespace

void add_calibrate(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App& verb = *app.add_subcommand("calibrate", "fit a device's constants to measurements");
  add_options(verb, *arguments);
  verb.footer(
      "Fits sustained bandwidths, latency, set-up and loop overheads, unit rates, a per-kernel\n"
      "overhead, and the host's dispatch by op class, each held by a prior at its described\n"
      "value; three rows are enough. Writes a description that extends the old one only when\n"
      "kernels left out of the fit are predicted no worse, median and p90.\n"
      "--then-train adds a correction of what the constants leave (none, a Gaussian process "
      "or\n"
      "trees: what does best on kernels left out; few rows keep none), for simulate --model "
      "FOLDER.");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
