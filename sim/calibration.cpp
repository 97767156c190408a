#include "sim/calibration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/error.h"
#include "base/output_file.h"
#include "base/source_text.h"
#include "base/text.h"
#include "hwdesc/device_yaml.h"
#include "hybrid/hybrid_dir.h"
#include "sim/evaluation.h"
#include "sim/model_choice.h"
#include "sim/version.h"

namespace tilecast::sim {
namespace {

namespace fs = std::filesystem;

std::set<std::string> fixed_constants(const std::vector<std::string>& fixed) {
  const std::vector<std::string_view> known = hybrid::constant_names();
  for (const std::string& name : fixed) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::string near = base::nearest(name, known);
    throw UsageError("--fix: got '{}', expected one of {}{}", name, fmt::join(known, ", "),
                     near.empty() ? "" : "; did you mean '" + near + "'?");
  }
  return {fixed.begin(), fixed.end()};
}

// Keeps the rows of the named classes and kernels; all rows if none are named.
void select_rows(const CalibrationRequest& request, measured::SampleSet& set) {
  if (request.classes.empty() && request.kernels.empty()) return;
  const auto named = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  std::erase_if(set.samples, [&](const measured::Sample& sample) {
    const measured::Workload& work = set.works[sample.work];
    return !named(request.classes, work.op_class) && !named(request.kernels, work.name);
  });
}

measured::SampleSet rows_to_fit(const CalibrationRequest& request, const CalibrationHooks& hooks,
                                const std::string& path) {
  measured::SampleSet set =
      measured::make_samples(hooks.read(path), request.device, {.jobs = request.jobs});
  if (!request.other_machine && !is_measured_on(request.device, set.measured_on)) {
    throw Error(
        "{}: got rows measured on '{}', expected on {} or what it extends unchanged; "
        "--other-machine fits them anyway",
        path, set.measured_on, request.device.name);
  }
  const std::size_t before = set.samples.size();
  select_rows(request, set);
  const std::string faults = fault_summary(set.faults);
  hooks.note(fmt::format("{}: {} rows of {} used{}", set.name, set.samples.size(),
                         before + set.faults.size(),
                         faults.empty() ? "" : "; left out: " + faults));
  return set;
}

void note_rows(const hybrid::PreparedFit& fit, const CalibrationHooks& hooks) {
  std::size_t all = 0;
  for (const measured::SampleSet& set : fit.sets) all += set.samples.size();
  const std::vector<std::size_t>& fitted = fit.calibrated.front().rows_of_sets;
  const std::size_t chosen = std::accumulate(fitted.begin(), fitted.end(), std::size_t{0});
  if (chosen == all) return;
  hooks.note(fmt::format("{} of {} rows are fitted, shared out evenly over kernels (--rows)",
                         chosen, all));
}

// The value of `extends` in the new file: a preset's name, or the path of a description relative to
// the file.
std::string parent_of(const std::string& device, const std::string& file) {
  if (!hwdesc::is_path(device)) return device;
  const fs::path folder = fs::absolute(file).parent_path();
  return "./" + fs::relative(fs::absolute(device), folder).string();
}

}  // namespace

hybrid::PreparedFit calibrate_device(const CalibrationRequest& request,
                                     const CalibrationHooks& hooks) {
  const std::set<std::string> fixed = fixed_constants(request.fixed);
  std::vector<measured::SampleSet> sets;
  for (const std::string& path : request.sets) sets.push_back(rows_to_fit(request, hooks, path));
  hybrid::PreparedFit fit = hybrid::prepare_fit(
      analytical_prior(), sets, std::vector<hwdesc::Device>(sets.size(), request.device),
      {.constants = {.fixed = fixed,
                     .most_rows = request.most_rows,
                     .accept_suspicious = request.accept_suspicious,
                     .jobs = request.jobs,
                     .step = hooks.step}});
  if (fit.calibrated.empty()) throw Error("{}", fmt::join(fit.notes, "; "));
  note_rows(fit, hooks);
  return fit;
}

std::string calibrated_description(const hybrid::PreparedFit& fit, const std::string& parent,
                                   const std::string& file, const std::string& name) {
  const hybrid::Calibrated& calibrated = fit.calibrated.front();
  if (!calibrated.accepted) return "";
  return hybrid::calibrated_yaml(calibrated, parent_of(parent, file),
                                 name.empty() ? fs::path(file).stem().string() : name,
                                 fit.devices.front().calibration.source);
}

void check_model_folder(const std::string& folder, bool force) {
  std::error_code failure;
  if (!force && fs::exists(folder, failure)) {
    throw Error("{}: exists; --force replaces a model", folder);
  }
  base::require_writable(folder);
}

hybrid::FittedHybrid train_calibrated(const hybrid::PreparedFit& fit, const std::string& folder,
                                      const CalibratedTraining& options) {
  check_model_folder(folder, options.force);
  const fs::path path = fs::path(folder).lexically_normal();
  const std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
  hybrid::FittedHybrid fitted =
      hybrid::fit_hybrid(analytical_prior(), {.name = name}, {fit.sets, fit.apart}, fit.described,
                         {.jobs = options.jobs, .step = options.step});
  fitted.card.created = base::today();
  const std::pair<std::string, std::string> mine{"tilecast", version()};
  if (std::ranges::find(fitted.card.versions, mine) == fitted.card.versions.end()) {
    fitted.card.versions.insert(fitted.card.versions.begin(), mine);
  }
  hybrid::save_hybrid(fitted.card, fitted.parts, folder, options.force);
  return fitted;
}

}  // namespace tilecast::sim
