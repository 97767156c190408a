#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <deque>

#include "sim/calibration.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/profiles.h"
#include "sim/cli/progress.h"
#include "sim/views/calibration.h"

namespace tilecast::sim::cli {
namespace {

struct CalibrateArguments {
  CalibrationRequest request;
  std::vector<std::string> modules;
  DeviceOptions devices;
  OutputOptions report;
  std::string file, name, model_folder;
  bool force = false;
};

hybrid::PreparedFit fit(const CalibrateArguments& arguments) {
  Progress progress("calibrate: fits", hybrid::kMostFits);
  std::deque<TemporaryFolder> folders;  // of profiles, as sets
  CalibrationHooks hooks;
  hooks.read = [&](const std::string& path) {
    if (!is_profile(path)) return measured::read_measurement_set(path);
    return profile_set(path, arguments.devices.names.front(), arguments.modules,
                       folders.emplace_back());
  };
  hooks.note = [](const std::string& note) { tell(note); };
  hooks.step = [&progress] { progress.step(); };
  return calibrate_device(arguments.request, hooks);
}

hybrid::FittedHybrid train(const CalibrateArguments& arguments,
                           const hybrid::PreparedFit& prepared) {
  constexpr std::size_t kWhole = 100;  // %
  hybrid::FittedHybrid fitted;
  {
    Progress progress("train:", kWhole);
    const auto step = [&progress](const std::string& what, double done) {
      progress.show(static_cast<std::size_t>(done * kWhole), " %, " + what);
    };
    fitted =
        train_calibrated(prepared, arguments.model_folder,
                         {.force = arguments.force, .jobs = arguments.request.jobs, .step = step});
  }
  tell(fmt::format("wrote {}", arguments.model_folder));
  return fitted;
}

void run(CalibrateArguments& arguments) {
  arguments.request.device = load_devices(arguments.devices).front();
  const bool trains = !arguments.model_folder.empty();
  if (trains) check_model_folder(arguments.model_folder, arguments.force);
  const hybrid::PreparedFit prepared = fit(arguments);
  const hybrid::Calibrated& calibrated = prepared.calibrated.front();
  const bool writes = calibrated.accepted && !arguments.file.empty();
  if (writes) {
    write({.format = "yaml", .file = arguments.file},
          calibrated_description(prepared, arguments.devices.names.front(), arguments.file,
                                 arguments.name));
  }
  std::optional<hybrid::FittedHybrid> fitted;
  if (trains) fitted = train(arguments, prepared);
  const hybrid::FittedHybrid* trained = fitted ? &*fitted : nullptr;
  write(arguments.report, arguments.report.format == "json"
                              ? views::calibration_json(prepared, trained)
                              : views::calibration_text(prepared, trained));
  if (writes) {
    tell(fmt::format("wrote {}", arguments.file));
  } else if (!arguments.file.empty()) {
    tell(fmt::format(
        "{} not written: {}", arguments.file,
        calibrated.refused_as_suspicious ? "the fit is suspicious" : "nothing to change"));
  }
}

void add_options(CLI::App& verb, CalibrateArguments& arguments) {
  verb.add_option("sets", arguments.request.sets,
                  "folders of measurements (tilecast import makes them), or profiles (*.xplane.pb)")
      ->required()
      ->type_name("SET|PROFILE");
  add_device_options(verb, arguments.devices, Devices::kOne);
  verb.add_option("--module", arguments.modules,
                  "program that ran, where a profile does not hold it; repeat it")
      ->type_name("FILE")
      ->allow_extra_args(false);
  verb.add_option("--class", arguments.request.classes,
                  "use rows of these op classes (and --kernel's)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("CLASS");
  verb.add_option("--kernel", arguments.request.kernels,
                  "use rows of these kernels (and --class's)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME");
  verb.add_option("--fix", arguments.request.fixed, "constants that stay as described")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME");
  add_output_file(verb, "-o,--output", arguments.file,
                  "the calibrated description to write (YAML)");
  verb.add_option("--then-train", arguments.model_folder,
                  "also fit a hybrid of the device as described to all rows, into this folder")
      ->type_name("FOLDER");
  verb.add_flag("--force", arguments.force, "replace a model that is in that folder");
  verb.add_option("--name", arguments.name, "of the calibrated device; default: from the file");
  add_format_option(verb, arguments.report.format, {"table", "json"},
                    "form of the report on stdout");
  verb.add_option("--rows", arguments.request.most_rows,
                  "fit at most N rows, shared out evenly over kernels")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{3}, std::size_t{1'000'000'000}))
      ->capture_default_str();
  verb.add_flag("--other-machine", arguments.request.other_machine,
                "use rows that were measured on another machine");
  verb.add_flag("--accept-suspicious", arguments.request.accept_suspicious,
                "take constants that end at their bounds or far from their priors: signs of a "
                "wrong description");
  add_jobs_option(verb, arguments.request.jobs);
}

}  // namespace

void add_calibrate(CLI::App& app) {
  auto arguments = std::make_shared<CalibrateArguments>();
  CLI::App& verb = *app.add_subcommand("calibrate", "fit a device's constants to measurements");
  add_options(verb, *arguments);
  verb.footer(
      "Fits sustained bandwidths, latency, set-up and loop overheads, unit rates, a per-kernel\n"
      "overhead, and the host's dispatch by op class, each held by a prior at its described\n"
      "value; three rows are enough. Times of whole programs are not fitted. Writes a description\n"
      "that extends the old one only when held-out kernels are predicted better, those of no op\n"
      "class and of no set worse by more than noise, and no constant ends at its bound or far "
      "from\n"
      "its prior, which says that the description is wrong. Says what is left, by class and size.\n"
      "--then-train also fits a hybrid, for simulate --model FOLDER: trees on what physics leaves\n"
      "of the device as described, believed as far as held-out kernels show a gain; it needs 8 "
      "rows.");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
