#include "measured/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "measured/physics.h"
#include "measured/works.h"

namespace tilecast::measured {
namespace {

// The set's name for `device`; "" if the set has no rows of it.
std::string name_in_set(const MeasurementSet& set, const hwdesc::Device& device) {
  std::map<std::string, std::string> by_name;  // name in the description -> name in rows
  std::set<std::string> all;
  for (const MeasurementRow& row : set.rows) all.insert(row.device);
  for (const RowFault& fault : set.faults) all.insert(fault.device);
  if (all.size() == 1) return *all.begin();
  for (const std::string& device_of_rows : all) {
    by_name.emplace(
        hwdesc::is_path(device_of_rows) ? hwdesc::load_device(device_of_rows).name : device_of_rows,
        device_of_rows);
  }
  constexpr std::size_t kUnrelated = std::numeric_limits<std::size_t>::max();
  const auto distance = [&](const auto& entry) {
    return device.lineage_distance(entry.first).value_or(kUnrelated);
  };
  const auto nearest = std::ranges::min_element(by_name, {}, distance);
  return nearest == by_name.end() || distance(*nearest) == kUnrelated ? "" : nearest->second;
}

void require_times(const MeasurementSet& set) {
  if (set.manifest.timing != Timing::kNone) return;
  std::string names;
  for (const Quantity& quantity : set.manifest.quantities) {
    names += (names.empty() ? "" : ", ") + quantity.name;
  }
  throw Error(fmt::format("{}: holds no times (timing: none), only {}; expected a set with times",
                          set.directory, names));
}

// Removes the samples whose lines have faults.
void drop_faulty(SampleSet& samples, std::vector<RowFault> faults) {
  std::set<int> lines;
  for (const RowFault& fault : faults) lines.insert(fault.line);
  std::erase_if(samples.samples, [&](const Sample& s) { return lines.contains(s.line); });
  samples.faults.insert(samples.faults.end(), faults.begin(), faults.end());
  std::ranges::stable_sort(samples.faults, {}, &RowFault::line);
}

void check_physics(SampleSet& samples, const hwdesc::Device& device, int jobs) {
  std::vector<Sample> untimed;  // set aside, because the physics checks need times
  std::erase_if(samples.samples, [&](const Sample& sample) {
    const bool has_time = !std::isnan(sample.measured.value);
    if (!has_time) untimed.push_back(sample);
    return !has_time;
  });
  drop_faulty(samples, physics_faults(samples, device, jobs));
  samples.samples.insert(samples.samples.end(), untimed.begin(), untimed.end());
  std::ranges::stable_sort(samples.samples, {}, &Sample::line);
}

}  // namespace

SampleSet make_samples(const MeasurementSet& set, const hwdesc::Device& device,
                       const SampleOptions& options) {
  SampleSet samples{.name = set.manifest.name,
                    .hash = set.hash,
                    .device = device.name,
                    .measured_on = name_in_set(set, device),
                    .manifest = set.manifest,
                    .parameter_names = set.parameter_names};
  if (!options.untimed) require_times(set);
  std::vector<const MeasurementRow*> rows;
  for (const MeasurementRow& row : set.rows) {
    if (row.device == samples.measured_on && (row.runtime || options.untimed)) rows.push_back(&row);
  }
  for (const RowFault& fault : set.faults) {
    if (fault.device == samples.measured_on) samples.faults.push_back(fault);
  }
  WorksOfRows built = build_works(set, rows, device, options.jobs);
  samples.works = std::move(built.works);
  const bool host_timed = set.manifest.timing == Timing::kHost;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const MeasurementRow& row = *rows[i];
    const Seconds runtime = row.runtime.value_or(Seconds{std::nan("")});
    samples.samples.push_back({.work = built.work_of[i],
                               .line = row.line,
                               .tile = row.tile,
                               .parameters = row.parameters,
                               .quantities = row.quantities,
                               .measured = runtime - row.dispatch.value_or(Seconds{0}),
                               .holds_dispatch = host_timed && row.runtime && !row.dispatch,
                               .split = row.split,
                               .repeats = row.repeats});
  }
  if (options.check_physics) check_physics(samples, device, options.jobs);
  return samples;
}

}  // namespace tilecast::measured
