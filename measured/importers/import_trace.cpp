#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/source_text.h"
#include "ir/load_program.h"
#include "measured/importers/import_manifest.h"
#include "measured/importers/importer.h"
#include "measured/importers/set_writer.h"
#include "measured/importers/trace_events.h"

namespace tilecast::measured {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kNamesShown = 5;
constexpr double kNanoseconds = 1e9, kMaxRepeats = 1e9;

Manifest manifest_for(const TraceSource& source, const ImportOptions& options) {
  Manifest manifest = read_import_manifest(source.manifest, options, source.traces.front());
  if (!source.manifest.empty()) return manifest;
  manifest.name = fs::path(source.module).stem().string();
  manifest.source.insert(0, "trace ");
  manifest.how_timed = "profiler, on the device";
  return manifest;
}

std::string milliseconds(Seconds time) {
  return fmt::format("{:.6g} ms", time.value * 1e3);
}

// The instructions of a trace, matched with the module.
struct Joined {
  std::map<std::string, TraceTimes> kernels;
  std::vector<std::pair<std::string, Seconds>> unknown;  // not in the module
  Seconds matched, controls, unmatched;  // controls: instructions that are not kernels
};

Joined join(const TraceSummary& trace, const ir::Module& module, const ir::Program& program) {
  std::set<std::string> kernels, instructions;
  for (const ir::ScheduledKernel& kernel : program.kernels()) kernels.insert(kernel.kernel.name());
  for (const ir::Computation& computation : module.computations) {
    for (const ir::Instruction& op : computation.instructions) instructions.insert(op.name);
  }
  Joined joined;
  for (const auto& [name, times] : trace.instructions) {
    if (kernels.contains(name)) {
      joined.kernels[name] = times;
      joined.matched += times.total;
    } else if (instructions.contains(name)) {
      joined.controls += times.total;
    } else {
      joined.unknown.emplace_back(name, times.total);
      joined.unmatched += times.total;
    }
  }
  std::stable_sort(joined.unknown.begin(), joined.unknown.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return joined;
}

template <class Names>
std::string first_names(const Names& names) {
  std::vector<std::string> shown(
      names.begin(),
      names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamesShown)));
  return fmt::format("{}{}", fmt::join(shown, ", "), names.size() > kNamesShown ? " ..." : "");
}

void add_notes(const TraceSummary& trace, const Joined& joined, const ir::Program& program,
               ImportReport& report) {
  std::vector<std::string> missing, unknown;
  for (const ir::ScheduledKernel& kernel : program.kernels()) {
    if (!joined.kernels.contains(kernel.kernel.name())) missing.push_back(kernel.kernel.name());
  }
  for (const auto& [name, time] : joined.unknown) {
    unknown.push_back(fmt::format("{} {}", name, milliseconds(time)));
  }
  if (!trace.found_devices) {
    report.notes.push_back("no process is called /device:...; all lanes are taken for the device");
  }
  report.notes.push_back(fmt::format("lanes: {}", first_names(trace.lanes)));
  report.notes.push_back(fmt::format("{} of {} kernels have times, {} together",
                                     joined.kernels.size(), program.kernels().size(),
                                     milliseconds(joined.matched)));
  if (joined.controls.value > 0) {
    report.notes.push_back(fmt::format("{} in instructions that are no kernels (loops, waits)",
                                       milliseconds(joined.controls)));
  }
  if (!unknown.empty()) {
    report.notes.push_back(fmt::format("{} in {} events that are no instruction of the module: {}",
                                       milliseconds(joined.unmatched), unknown.size(),
                                       first_names(unknown)));
  }
  if (!missing.empty()) {
    report.notes.push_back(fmt::format("{} kernels of the module have no event: {}", missing.size(),
                                       first_names(missing)));
  }
}

std::string nanoseconds(Seconds time) {
  return fmt::format("{}", std::round(time.value * kNanoseconds * 1e3) / 1e3);
}

// {kernel, program, runtime_ns, repeats, spread_ns}
std::vector<std::string> cells(std::string kernel, std::string program, const TraceTimes& times) {
  const double repeats = std::clamp(std::round(times.occurrences), 1.0, kMaxRepeats);
  return {std::move(kernel), std::move(program), nanoseconds(times.mean()),
          fmt::format("{:.0f}", repeats), nanoseconds(times.spread)};
}

void write_rows(const Joined& joined, const TraceSummary& trace, const std::string& file,
                const std::string& module, SetWriter& writer, ImportReport& report) {
  writer.begin_rows({"kernel", "program", "runtime_ns", "repeats", "spread_ns"});
  const auto add = [&](std::vector<std::string> row) {
    if (row[2] == "0") {
      ++report.left_out["shorter than 1 ps"];
      return;
    }
    writer.add(row);
    ++report.rows;
  };
  if (const auto found = trace.modules.find(module); found != trace.modules.end()) {
    add(cells({}, file, found->second));
  }
  for (const auto& [name, times] : joined.kernels) add(cells(file + "#" + name, {}, times));
}

}  // namespace

ImportReport import_trace(const TraceSource& source, const ImportOptions& options) {
  const Manifest manifest = manifest_for(source, options);
  const ir::LoadOptions load;
  ir::LoadedModule loaded = ir::load_module(source.module, load);
  ir::fuse_by({}, load, loaded);
  const ir::Program program = ir::program_as_dumped(loaded, load).program;
  SetWriter writer(options);
  ImportReport report;
  const TraceSummary trace = read_traces(source.traces,
                                         {.module = loaded.module.name,
                                          .keep_going = options.keep_going,
                                          .progress = options.progress},
                                         report);
  const Joined joined = join(trace, loaded.module, program);
  if (joined.kernels.empty()) {
    constexpr std::string_view kKineto =
        " (a trace of PyTorch's profiler, kineto: its kernels are no instructions of HLO)";
    throw Error(fmt::format("{}: no event is a kernel of {}{}; events are called {}; kernels {}",
                            source.traces.front(), source.module, trace.is_kineto ? kKineto : "",
                            trace.instructions.empty() ? std::string("nothing (no device lane)")
                                                       : trace.instructions.begin()->first,
                            program.kernels().empty() ? std::string("nothing")
                                                      : program.kernels().front().kernel.name()));
  }
  const std::string file = "kernels/" + fs::path(source.module).filename().string();
  writer.add_file(file, base::SourceText::read_file(source.module).text());
  write_rows(joined, trace, file, loaded.module.name, writer, report);
  add_notes(trace, joined, program, report);
  if (report.rows == 0) throw Error(source.traces.front() + ": no event takes time");
  writer.commit(manifest);
  return report;
}

}  // namespace tilecast::measured
