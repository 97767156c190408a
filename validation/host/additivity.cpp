#include "validation/host/additivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "diag/error.h"
#include "ir/hlo_printer.h"
#include "learned/csv.h"
#include "learned/importers/set_writer.h"
#include "learned/metrics.h"
#include "validation/host/c_program.h"

namespace tilecast::host {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

struct Built {
  CProgram program;
  CompiledLibrary library;
};

std::variant<Built, std::string> build(const ProgramVariant& variant, const hwdesc::Device& device,
                                       const Bench& bench) {
  auto made = make_c_program(variant.program, device, bench.generate);
  if (const auto* problem = std::get_if<Unsupported>(&made)) {
    return "unsupported: " + problem->reason;
  }
  CProgram& program = std::get<CProgram>(made);
  std::vector<Compilation> compiled = bench.compile({&program.source, 1}, /*jobs=*/1);
  if (!compiled.front().library) return "compile error: " + compiled.front().error;
  return Built{std::move(program), std::move(*compiled.front().library)};
}

// The program, its parts, the program again.
std::vector<RunJob> jobs_of(const CProgram& program) {
  std::vector<RunJob> jobs{whole_job(program)};
  for (const PartKernel& part : program.parts) jobs.push_back(part_job(part));
  jobs.push_back(jobs.front());
  return jobs;
}

class Times {
 public:
  Times(const CProgram& program, ProgramTimes& row) : program_(program), row_(row) {
    row_.kernels = program.launches;
    row_.distinct = program.parts.size();
  }

  void add(std::size_t job, const RunOutcome& outcome) {
    const bool is_whole = job == 0 || job == program_.parts.size() + 1;
    if (outcome.status == RunStatus::kUnstable) {
      ++row_.unstable;
    } else if (outcome.status != RunStatus::kTimed) {
      row_.skipped = fmt::format(
          "{}: {} {}", outcome.status == RunStatus::kCrashed ? "crash" : "time-out",
          is_whole ? "program" : program_.parts[job - 1].kernel.name(), outcome.message);
      return;
    }
    if (!is_whole) {
      const auto launches = static_cast<double>(program_.parts[job - 1].launches);
      row_.sum += outcome.timing.minimum * launches;
    } else if (job == 0 || outcome.timing.minimum < row_.whole.minimum) {
      row_.whole = outcome.timing;
    }
  }

 private:
  const CProgram& program_;
  ProgramTimes& row_;
};

std::string nanoseconds(Seconds time) {
  return fmt::format("{:.1f}", time.value * kNanosecondsPerSecond);
}

}  // namespace

void measure_additivity(std::span<const ProgramVariant> programs, const hwdesc::Device& device,
                        const Bench& bench, const AdditivityOptions& options,
                        const std::function<bool(const ProgramTimes&)>& done) {
  for (const ProgramVariant& variant : programs) {
    const auto built = build(variant, device, bench);
    for (const CacheState state : options.states) {
      ProgramTimes row;
      row.program = variant.name;
      row.state = state;
      row.kernels = variant.kernels;
      if (const auto* reason = std::get_if<std::string>(&built)) {
        row.skipped = *reason;
      } else {
        const Built& ready = std::get<Built>(built);
        TimingOptions timing = options.timing;
        timing.state = state;
        Times times(ready.program, row);
        const std::vector<RunJob> jobs = jobs_of(ready.program);
        bench.run(ready.library.path(), jobs, timing,
                  [&](std::size_t job, const RunOutcome& outcome) {
                    times.add(job, outcome);
                    return row.skipped.empty();
                  });
      }
      if (!done(row)) return;
    }
  }
}

std::string family_of(const std::string& variant) {
  return variant.substr(0, variant.rfind('.'));
}

std::optional<AdditivitySummary> summarise(std::span<const ProgramTimes> rows, CacheState state) {
  AdditivitySummary summary{.state = state};
  std::vector<double> errors;
  for (const ProgramTimes& row : rows) {
    if (row.state != state || !row.skipped.empty()) continue;
    errors.push_back(std::fabs(row.error()));
    summary.bias += std::log1p(row.error());
  }
  if (errors.empty()) return std::nullopt;
  summary.programs = errors.size();
  summary.median = learned::quantile(errors, 0.5);
  summary.p90 = learned::quantile(errors, 0.9);
  summary.bias = std::expm1(summary.bias / static_cast<double>(errors.size()));
  return summary;
}

std::string additivity_csv(std::span<const ProgramTimes> rows) {
  std::string text =
      learned::csv_line({"program", "cache", "kernels", "distinct", "whole_ns", "sum_ns", "error",
                         "whole_spread_ns", "unstable", "skipped"});
  for (const ProgramTimes& row : rows) {
    const bool timed = row.skipped.empty();
    text += learned::csv_line(
        {row.program, std::string(name(row.state)), std::to_string(row.kernels),
         std::to_string(row.distinct), timed ? nanoseconds(row.whole.minimum) : "",
         timed ? nanoseconds(row.sum) : "", timed ? fmt::format("{:.4f}", row.error()) : "",
         timed ? nanoseconds(row.whole.spread) : "", std::to_string(row.unstable), row.skipped});
  }
  return text;
}

void write_program_set(const std::string& directory, const ProgramSet& set) {
  learned::SetWriter writer(directory, /*force=*/false);
  writer.begin_rows({"program", "runtime_ns", "repeats", "spread_ns", "family", "x_sum_ns",
                     "x_kernels", "x_cache"});
  for (const ProgramTimes& row : set.rows) {
    if (row.state != set.state || !row.skipped.empty()) continue;
    const auto variant = std::find_if(set.programs.begin(), set.programs.end(),
                                      [&](const auto& v) { return v.name == row.program; });
    TC_CHECK(variant != set.programs.end(), "rows are of the programs given");
    ir::Module scheduled = variant->program;
    scheduled.is_scheduled = true;  // a reader is not to fuse it again
    const std::string file = fmt::format("programs/{}.hlo", row.program);
    writer.add_file(file, ir::print_hlo(scheduled));
    writer.add({file, nanoseconds(row.whole.minimum), std::to_string(row.whole.calls),
                nanoseconds(row.whole.spread), family_of(row.program), nanoseconds(row.sum),
                std::to_string(row.kernels), std::string(name(row.state))});
  }
  writer.add_file("additivity.csv", additivity_csv(set.rows));
  if (!set.device_yaml.empty()) writer.add_file("device.yaml", set.device_yaml);
  writer.commit(set.manifest);
}

}  // namespace tilecast::host
