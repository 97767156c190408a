#include "hybrid/prepared_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "learned/training/examples.h"

namespace tilecast::hybrid {
namespace {

using measured::SampleSet;

constexpr std::string_view kRefused = "constants stay as described: ";

// Fits the constants of the device called `name` to its own rows.
void calibrate_device(const std::string& name, const analytical::CostModel& prior,
                      const CalibrateOptions& options, PreparedFit& prepared) {
  std::vector<SampleSet> own;
  std::vector<hwdesc::Device*> devices;
  for (std::size_t i = 0; i < prepared.sets.size(); ++i) {
    if (prepared.devices[i].name != name) continue;
    own.push_back(prepared.sets[i]);
    devices.push_back(&prepared.devices[i]);
  }
  const auto note = [&](const std::string& what) {
    prepared.notes.push_back(fmt::format("{}: {}", name, what));
  };
  try {
    const Calibrated& fit =
        prepared.calibrated.emplace_back(calibrate(own, *devices.front(), prior, options));
    if (!fit.accepted) return note(fmt::format("{}{}", kRefused, refusal(fit)));
    hwdesc::Calibration constants = fit.device.calibration;
    constants.source = provenance_of(fit, own);
    for (hwdesc::Device* device : devices) device->calibration = constants;
    for (const FittedConstant& constant : fit.suspicious()) {
      note("suspicious, but accepted: " + suspicion(constant));
    }
  } catch (const learned::TooFewRows& few) {
    note(fmt::format("{}{}", kRefused, few.what()));
  }
}

}  // namespace

PreparedFit prepare_fit(const analytical::CostModel& prior, std::span<const SampleSet> sets,
                        std::span<const hwdesc::Device> devices, const PrepareOptions& options) {
  Screened screened = screen(prior, sets, devices, options.constants.jobs);
  PreparedFit prepared{.apart = std::move(screened.apart)};
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const bool last_chance = i + 1 == sets.size() && prepared.sets.empty();
    if (screened.sets[i].samples.empty() && !last_chance) continue;
    prepared.sets.push_back(std::move(screened.sets[i]));
    prepared.devices.push_back(devices[i]);
    prepared.described.push_back(devices[i]);
  }
  for (const SetApart& apart : prepared.apart) prepared.notes.push_back(apart.text());
  if (!options.calibrate) return prepared;
  std::set<std::string> done;
  for (std::size_t i = 0; i < prepared.devices.size(); ++i) {
    const std::string name = prepared.devices[i].name;
    if (done.insert(name).second) calibrate_device(name, prior, options.constants, prepared);
  }
  return prepared;
}

hwdesc::Device fitted_device(const PreparedFit& prepared, const hwdesc::Device& device) {
  const auto found = std::ranges::find(prepared.devices, device.name, &hwdesc::Device::name);
  return found == prepared.devices.end() ? device : *found;
}

}  // namespace tilecast::hybrid
