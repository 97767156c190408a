#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "ir/kernels/kernel_fingerprint.h"
#include "ir/text/hlo_printer.h"
#include "measured/importers/import_manifest.h"
#include "measured/importers/importer.h"
#include "measured/importers/profile_device.h"
#include "measured/importers/set_writer.h"
#include "measured/importers/xplane_join.h"

namespace tilecast::measured {
namespace {

constexpr double kNsPerSecond = 1e9, kMsPerSecond = 1e3, kMostRepeats = 1e9;
constexpr std::size_t kLeftOverShown = 10;

std::string ns_text(Seconds time) {
  return fmt::format("{}", std::round(time.value * kNsPerSecond * 1e3) / 1e3);
}

std::string count_text(const std::optional<double>& count) {
  return count ? fmt::format("{}", *count) : std::string();
}

// "kernels/jit_f.5.hlo", without characters that are special in a path or a cell.
std::string file_of(const XplaneModule& module, std::set<std::string>& taken) {
  std::string name = module.name;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-') c = '_';
  }
  if (module.program_id != 0) name += fmt::format(".{}", module.program_id);
  std::string file = fmt::format("kernels/{}.hlo", name);
  for (int i = 2; !taken.insert(file).second; ++i) file = fmt::format("kernels/{}.{}.hlo", name, i);
  return file;
}

class XplaneRows {
 public:
  XplaneRows(SetWriter& writer, ImportReport& report) : writer_(writer), report_(report) {
    writer_.begin_rows({"kernel", "program", "runtime_ns", "repeats", "spread_ns", "x_min_ns",
                        "x_category", "x_flops", "x_bytes_accessed", "x_registers",
                        "x_shared_bytes", "x_grid", "x_block", "x_occupancy"});
  }

  void add(const std::string& kernel, const std::string& program, const XplaneTimes& times) {
    const std::string median = ns_text(times.median);
    if (median == "0") {
      ++report_.left_out["shorter than 1 ps"];
      return;
    }
    const double repeats = std::clamp(static_cast<double>(times.occurrences), 1.0, kMostRepeats);
    std::vector<std::string> cells{kernel,
                                   program,
                                   median,
                                   fmt::format("{:.0f}", repeats),
                                   ns_text(times.spread),
                                   ns_text(times.min),
                                   times.category,
                                   count_text(times.flops),
                                   count_text(times.bytes_accessed)};
    const XplaneLaunch launch = times.launch.value_or(XplaneLaunch{});
    const auto of_launch = [&](double value) { return times.launch ? count_text(value) : ""; };
    cells.insert(cells.end(), {of_launch(launch.registers), of_launch(launch.shared_bytes),
                               launch.grid, launch.block, of_launch(launch.occupancy)});
    writer_.add(cells);
    ++report_.rows;
  }

 private:
  SetWriter& writer_;
  ImportReport& report_;
};

void write_module(const JoinedModule& joined, const std::string& file, SetWriter& writer,
                  XplaneRows& rows, ImportReport& report) {
  writer.add_file(file, ir::print_hlo(joined.module));
  if (joined.profiled->runs.occurrences > 0) rows.add({}, file, joined.profiled->runs);
  std::set<std::string> done;
  std::set<ir::Fingerprint> timed;
  for (const ir::ScheduledKernel& kernel : joined.program.kernels()) {
    if (joined.kernels.contains(kernel.kernel.name())) timed.insert(ir::fingerprint(kernel.kernel));
  }
  for (const ir::ScheduledKernel& kernel : joined.program.kernels()) {
    const std::string& name = kernel.kernel.name();
    if (!done.insert(name).second) continue;
    const auto times = joined.kernels.find(name);
    if (times == joined.kernels.end()) {
      ++report.left_out[timed.contains(ir::fingerprint(kernel.kernel))
                            ? "kernels that are in the row of an equal one"
                            : "kernels of modules without an event"];
    } else if (kernel.asynchronous && !times->second.asynchronous &&
               !times->second.category.empty()) {
      // A TPU's op line shows only when the transfer was started.
      ++report.left_out["asynchronous kernels whose end the profile does not give"];
    } else {
      rows.add(file + "#" + name, {}, times->second);
    }
  }
}

void add_coverage(const XplaneProfile& profile, const XplaneJoin& join, ImportReport& report) {
  report.coverage.emplace_back("kernels of its modules", join.kernels);
  if (join.controls.value > 0)
    report.coverage.emplace_back("their loops, calls and views", join.controls);
  if (join.transfers.value > 0) {
    report.coverage.emplace_back("memsets and copies in graphs", join.transfers);
  }
  std::map<std::string, Seconds> rest;
  for (const XplaneLeftOver& left : join.left_over) rest[left.category] += left.total;
  report.coverage.insert(report.coverage.end(), rest.begin(), rest.end());
  report.notes.insert(report.notes.end(), profile.notes.begin(), profile.notes.end());
  report.notes.insert(report.notes.end(), join.notes.begin(), join.notes.end());
  for (std::size_t i = 0; i < std::min(join.left_over.size(), kLeftOverShown); ++i) {
    const XplaneLeftOver& left = join.left_over[i];
    report.notes.push_back(fmt::format("not joined: {}: {}, {} events, {:.6g} ms", left.category,
                                       left.name, left.events, left.total.value * kMsPerSecond));
  }
  if (join.left_over.size() > kLeftOverShown) {
    report.notes.push_back(
        fmt::format("not joined: {} more", join.left_over.size() - kLeftOverShown));
  }
  if (profile.host_transfers.value > 0) {
    report.notes.push_back(fmt::format(
        "copies to and from the host outside programs, not part of the device time: {:.6g} ms",
        profile.host_transfers.value * kMsPerSecond));
  }
}

// The description of a set: device, how much time was matched, and steps.
std::string description_of(const XplaneProfile& profile, const ImportReport& report) {
  std::string text =
      fmt::format("Profile of {}; device time {:.6g} ms:", device_text(profile.device),
                  profile.device_time.value * kMsPerSecond);
  for (const auto& [what, time] : report.coverage) {
    text += fmt::format(" {} {:.2f} %,", what, 100 * (time / profile.device_time));
  }
  text.back() = '.';
  if (profile.steps.occurrences > 0) {
    text += fmt::format(" {} steps, median {:.6g} ms, minimum {:.6g} ms, spread {:.6g} ms.",
                        profile.steps.occurrences, profile.steps.median.value * kMsPerSecond,
                        profile.steps.min.value * kMsPerSecond,
                        profile.steps.spread.value * kMsPerSecond);
  }
  return text;
}

}  // namespace

ImportReport import_xplane(const XplaneSource& source, const ImportOptions& options) {
  const std::string& first = source.profiles.front();
  const bool guesses = source.manifest.empty() && options.device.empty();
  Manifest manifest;
  if (!guesses) manifest = read_import_manifest(source.manifest, options, first);
  SetWriter writer(options);
  ImportReport report;
  const XplaneProfile profile = read_xplane(source.profiles, {.progress = options.progress});
  if (guesses) {
    ImportOptions guessed = options;
    const hwdesc::DeviceGuess guess = preset_of(profile.device, first);
    guessed.device = guess.preset;
    manifest = read_import_manifest(source.manifest, guessed, first);
    manifest.device = guess.preset;
    report.notes.push_back(fmt::format("device: {} ({})", guess.preset, guess.why));
  }
  const XplaneJoin join = join_modules(profile, source.modules);
  if (join.modules.empty()) {
    throw Error(
        fmt::format("{}: the profile holds no module that can be read; give the modules "
                    "that ran (--module)",
                    source.profiles.front()));
  }
  XplaneRows rows(writer, report);
  std::set<std::string> files;
  for (const JoinedModule& joined : join.modules) {
    write_module(joined, file_of(*joined.profiled, files), writer, rows, report);
  }
  if (report.rows == 0) throw Error(source.profiles.front() + ": no kernel takes time");
  add_coverage(profile, join, report);
  if (source.manifest.empty()) {
    manifest.source.insert(0, "profile ");
    manifest.how_timed = "profiler, on the device; medians of all occurrences on all cores";
  }
  if (manifest.description.empty())
    manifest.description = base::printable(description_of(profile, report));
  writer.commit(manifest);
  return report;
}

}  // namespace tilecast::measured
