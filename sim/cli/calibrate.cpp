#include "hybrid/calibrate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/error.h"
#include "base/source_text.h"
#include "base/text.h"
#include "hwdesc/device_yaml.h"
#include "hybrid/hybrid_dir.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/profiles.h"
#include "sim/cli/progress.h"
#include "sim/evaluation_report.h"
#include "sim/views/calibration.h"

namespace tilecast::sim::cli {
namespace {

namespace fs = std::filesystem;

struct CalibrateArguments {
  std::vector<std::string> sets, classes, kernels, fixed, modules;
  DeviceOptions devices;
  OutputOptions report;
  std::string file, name, model_folder;
  bool force = false, other_machine = false, accept_suspicious = false;
  std::size_t most_rows = hybrid::kMostRows;
  int jobs = 1;
};

std::set<std::string> fixed_constants(const CalibrateArguments& arguments) {
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
void select(const CalibrateArguments& arguments, measured::SampleSet& set) {
  if (arguments.classes.empty() && arguments.kernels.empty()) return;
  const auto named = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  std::erase_if(set.samples, [&](const measured::Sample& sample) {
    const measured::Workload& work = set.works[sample.work];
    return !named(arguments.classes, work.op_class) && !named(arguments.kernels, work.name);
  });
}

std::vector<measured::SampleSet> load_sets(const CalibrateArguments& arguments,
                                           const hwdesc::Device& device) {
  std::vector<measured::SampleSet> sets;
  for (const std::string& path : arguments.sets) {
    std::optional<TemporaryFolder> folder;
    const measured::MeasurementSet set = is_profile(path)
                                             ? profile_set(path, arguments.devices.names.front(),
                                                           arguments.modules, folder.emplace())
                                             : measured::read_measurement_set(path);
    sets.push_back(measured::make_samples(set, device, {.jobs = arguments.jobs}));
    if (!arguments.other_machine && !is_measured_on(device, sets.back().measured_on)) {
      throw Error(
          fmt::format("{}: got rows measured on '{}', expected on {} or what it extends unchanged; "
                      "--other-machine fits them anyway",
                      path, sets.back().measured_on, device.name));
    }
    const std::size_t before = sets.back().samples.size();
    select(arguments, sets.back());
    fmt::print(stderr, "{}: {} rows of {} used, {} excluded by physics\n", sets.back().name,
               sets.back().samples.size(), before + sets.back().faults.size(),
               sets.back().faults.size());
  }
  return sets;
}

// What the new file extends: a preset by name, any other description by its path from there.
std::string parent_of(const std::string& device, const std::string& file) {
  if (!hwdesc::is_path(device)) return device;
  const fs::path folder = fs::absolute(file).parent_path();
  return "./" + fs::relative(fs::absolute(device), folder).string();
}

void check_folder(const CalibrateArguments& arguments) {
  std::error_code failure;
  if (!arguments.force && fs::exists(arguments.model_folder, failure)) {
    throw Error(fmt::format("{}: exists; --force replaces a model", arguments.model_folder));
  }
}

hybrid::PreparedFit prepare(const CalibrateArguments& arguments, const std::set<std::string>& fixed,
                            const hwdesc::Device& device,
                            std::span<const measured::SampleSet> sets) {
  Progress progress("calibrate: fits", hybrid::kMostFits);
  hybrid::PreparedFit prepared = hybrid::prepare_fit(
      analytical_prior(), sets, std::vector<hwdesc::Device>(sets.size(), device),
      {.constants = {.fixed = fixed,
                     .most_rows = arguments.most_rows,
                     .accept_suspicious = arguments.accept_suspicious,
                     .jobs = arguments.jobs,
                     .step = [&progress] { progress.step(); }}});
  if (prepared.calibrated.empty()) throw Error(fmt::format("{}", fmt::join(prepared.notes, "; ")));
  std::size_t all = 0;
  for (const measured::SampleSet& set : prepared.sets) all += set.samples.size();
  const std::vector<std::size_t>& fitted = prepared.calibrated.front().rows_of_sets;
  const std::size_t chosen = std::accumulate(fitted.begin(), fitted.end(), std::size_t{0});
  if (chosen < all) {
    fmt::print(stderr, "{} of {} rows are fitted, shared out evenly over kernels (--rows)\n",
               chosen, all);
  }
  return prepared;
}

void write_description(const CalibrateArguments& arguments, const hybrid::PreparedFit& prepared) {
  const std::string name =
      arguments.name.empty() ? fs::path(arguments.file).stem().string() : arguments.name;
  write({.format = "yaml", .file = arguments.file},
        hybrid::calibrated_yaml(prepared.calibrated.front(),
                                parent_of(arguments.devices.names.front(), arguments.file), name,
                                prepared.devices.front().calibration.source));
}

hybrid::FittedHybrid train_hybrid(const CalibrateArguments& arguments,
                                  const hybrid::PreparedFit& prepared) {
  constexpr std::size_t kWhole = 100;  // %
  const fs::path folder = fs::path(arguments.model_folder).lexically_normal();
  const std::string name =
      (folder.has_filename() ? folder : folder.parent_path()).filename().string();
  Progress progress("train:", kWhole);
  hybrid::FittedHybrid fitted = hybrid::fit_default_hybrid(
      analytical_prior(), name, prepared,
      {.jobs = arguments.jobs, .step = [&progress](const std::string& what, double done) {
         progress.show(static_cast<std::size_t>(done * kWhole), " %, " + what);
       }});
  fitted.card.created = base::today();
  const std::pair<std::string, std::string> version{"tilecast", TILECAST_VERSION};
  if (std::ranges::find(fitted.card.versions, version) == fitted.card.versions.end()) {
    fitted.card.versions.insert(fitted.card.versions.begin(), version);
  }
  hybrid::save_hybrid(fitted.card, fitted.parts, fitted.training_csv, arguments.model_folder,
                      arguments.force);
  return fitted;
}

void run(const CalibrateArguments& arguments) {
  const std::set<std::string> fixed = fixed_constants(arguments);
  const hwdesc::Device device = load_devices(arguments.devices).front();
  const bool trains = !arguments.model_folder.empty();
  if (trains) check_folder(arguments);
  const std::vector<measured::SampleSet> sets = load_sets(arguments, device);
  const hybrid::PreparedFit prepared = prepare(arguments, fixed, device, sets);
  const hybrid::Calibrated& calibrated = prepared.calibrated.front();
  const bool writes = calibrated.accepted && !arguments.file.empty();
  if (writes) write_description(arguments, prepared);
  std::optional<hybrid::FittedHybrid> fitted;
  if (trains) {
    fitted = train_hybrid(arguments, prepared);
    fmt::print(stderr, "wrote {}\n", arguments.model_folder);
  }
  const hybrid::FittedHybrid* trained = fitted ? &*fitted : nullptr;
  write(arguments.report, arguments.report.format == "json"
                              ? views::calibration_json(prepared, trained)
                              : views::calibration_text(prepared, trained));
  if (writes) {
    fmt::print(stderr, "wrote {}\n", arguments.file);
  } else if (!arguments.file.empty()) {
    fmt::print(stderr, "{} not written: {}\n", arguments.file,
               calibrated.refused_as_suspicious ? "the fit is suspicious" : "nothing to change");
  }
}

void add_options(CLI::App& verb, CalibrateArguments& arguments) {
  verb.add_option("sets", arguments.sets,
                  "folders of measurements (tilecast import makes them), or profiles (*.xplane.pb)")
      ->required()
      ->type_name("SET|PROFILE");
  add_device_options(verb, arguments.devices, Devices::kOne);
  verb.add_option("--module", arguments.modules,
                  "program that ran, where a profile does not hold it; repeat it")
      ->type_name("FILE")
      ->allow_extra_args(false);
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
  verb.add_option("--then-train", arguments.model_folder,
                  "also fit a hybrid of the calibrated device to all rows, into this folder")
      ->type_name("FOLDER");
  verb.add_flag("--force", arguments.force, "replace a model that is in that folder");
  verb.add_option("--name", arguments.name, "of the calibrated device; default: from the file");
  verb.add_option("-f,--format", arguments.report.format, "form of the report on stdout")
      ->check(CLI::IsMember({"table", "json"}))
      ->default_val("table");
  verb.add_option("--rows", arguments.most_rows,
                  "fit at most N rows, shared out evenly over kernels")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{3}, std::size_t{1'000'000'000}))
      ->capture_default_str();
  verb.add_flag("--other-machine", arguments.other_machine,
                "use rows that were measured on another machine");
  verb.add_flag("--accept-suspicious", arguments.accept_suspicious,
                "take constants that end at their bounds or far from their priors: signs of a "
                "wrong description");
  add_jobs_option(verb, arguments.jobs);
}

}  // namespace

void add_calibrate(CLI::App& app) {
  auto arguments = std::make_shared<CalibrateArguments>();
  CLI::App& verb = *app.add_subcommand("calibrate", "fit a device's constants to measurements");
  add_options(verb, *arguments);
  verb.footer(
      "Fits sustained bandwidths, latency, set-up and loop overheads, unit rates, a per-kernel\n"
      "overhead, and the host's dispatch by op class, each held by a prior at its described\n"
      "value; three rows are enough. Writes a description that extends the old one only when\n"
      "held-out kernels are predicted no worse, median and p90, and no constant ends at its bound\n"
      "or far from its prior, which says that the description is wrong.\n"
      "--then-train also fits a correction of what the constants leave (none, a Gaussian process "
      "or\n"
      "trees: what does best on held-out kernels; few rows keep none), for simulate --model "
      "FOLDER.");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
