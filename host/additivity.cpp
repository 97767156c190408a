#include "host/additivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/statistics.h"
#include "ir/text/hlo_printer.h"
#include "measured/csv.h"
#include "measured/importers/set_writer.h"
#include "measured/metrics.h"

namespace tilecast::host {

namespace {

struct Built {
  CProgram program;
  CompiledLibrary library;
};

std::variant<Built, std::string> build(const ProgramVariant& variant, const hwdesc::Device& device,
                                       const Bench& bench) {
  auto made = make_c_program(variant.program, device, {.generate = bench.generate});
  if (const auto* problem = std::get_if<Unsupported>(&made)) {
    return "unsupported: " + problem->reason;
  }
  CProgram& program = std::get<CProgram>(made);
  const std::string source = whole_source(program);
  std::vector<Compilation> compiled = bench.compile({&source, 1}, /*jobs=*/1);
  if (!compiled.front().library) return "compile error: " + compiled.front().error;
  return Built{std::move(program), std::move(*compiled.front().library)};
}

// Jobs: the program, its parts, the program again.
std::vector<RunJob> jobs_of(const CProgram& program) {
  std::vector<RunJob> jobs{whole_job(program)};
  for (const PartKernel& part : program.parts) jobs.push_back(part_job(part));
  jobs.push_back(jobs.front());
  return jobs;
}

// Times of one program and its kernels in one cache state.
struct TimedParts {
  Timing whole;
  std::vector<Seconds> parts;  // minima
};

class Measurement {
 public:
  Measurement(const Built& built, const Bench& bench, ProgramTimes& row)
      : program_(built.program), library_(built.library), bench_(bench), row_(row) {}

  TimedParts run(TimingOptions timing, CacheState state) {
    timing.state = state;
    TimedParts measured;
    measured.parts.resize(program_.parts.size());
    bench_.run(library_.path(), jobs_of(program_), timing,
               [&](std::size_t job, const RunOutcome& outcome) {
                 add(job, outcome, measured);
                 return row_.skipped.empty();
               });
    return measured;
  }

 private:
  void add(std::size_t job, const RunOutcome& outcome, TimedParts& measured) {
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
      measured.parts[job - 1] = outcome.timing.minimum;
    } else if (job == 0 || outcome.timing.minimum < measured.whole.minimum) {
      measured.whole = outcome.timing;
    }
  }

  const CProgram& program_;
  const CompiledLibrary& library_;
  const Bench& bench_;
  ProgramTimes& row_;
};

// The last cache before main memory, which keeps arrays between kernels.
Bytes last_level_cache(const hwdesc::Device& device) {
  return device.memory.at(1).capacity;
}

void add_sums(const CProgram& program, const hwdesc::Device& device, const TimedParts& cold,
              const TimedParts& warm, ProgramTimes& row) {
  const auto sums = [&](CacheState state, const TimedParts& own, StateTimes& times) {
    const std::vector<double> missing = missing_shares(program, last_level_cache(device), state);
    times.whole = own.whole;
    for (std::size_t i = 0; i < program.calls.size(); ++i) {
      const std::size_t part = program.calls[i].part;
      const Seconds held = warm.parts[part];
      times.alone += own.parts[part];
      times.placed += held + missing[i] * std::max(cold.parts[part] - held, Seconds{0});
    }
  };
  sums(CacheState::kCold, cold, row.cold);
  sums(CacheState::kWarm, warm, row.warm);
}

}  // namespace

void measure_additivity(std::span<const ProgramVariant> programs, const hwdesc::Device& device,
                        const Bench& bench, const TimingOptions& timing,
                        const std::function<bool(const ProgramTimes&)>& done) {
  for (const ProgramVariant& variant : programs) {
    ProgramTimes row;
    row.program = variant.name;
    row.kernels = variant.kernels;
    const auto built = build(variant, device, bench);
    if (const auto* reason = std::get_if<std::string>(&built)) {
      row.skipped = *reason;
    } else {
      const Built& ready = std::get<Built>(built);
      row.kernels = ready.program.calls.size();
      row.distinct = ready.program.parts.size();
      Measurement measurement(ready, bench, row);
      const TimedParts cold = measurement.run(timing, CacheState::kCold);
      if (row.skipped.empty()) {
        const TimedParts warm = measurement.run(timing, CacheState::kWarm);
        if (row.skipped.empty()) add_sums(ready.program, device, cold, warm, row);
      }
    }
    if (!done(row)) return;
  }
}

double error(const ProgramTimes& row, CacheState state, Sum sum) {
  const StateTimes& times = row.in(state);
  return (sum == Sum::kAlone ? times.alone : times.placed) / times.whole.minimum - 1;
}

std::string family_of(const std::string& variant) {
  return variant.substr(0, variant.rfind('.'));
}

std::optional<AdditivitySummary> summarise(std::span<const ProgramTimes> rows, CacheState state,
                                           Sum sum) {
  AdditivitySummary summary;
  std::vector<double> errors;
  for (const ProgramTimes& row : rows) {
    if (!row.skipped.empty()) continue;
    errors.push_back(std::fabs(error(row, state, sum)));
    summary.bias += std::log1p(error(row, state, sum));
  }
  if (errors.empty()) return std::nullopt;
  summary.programs = errors.size();
  summary.median = base::median(errors);
  summary.p90 = base::quantile(errors, 0.9);
  summary.bias = std::expm1(summary.bias / static_cast<double>(errors.size()));
  return summary;
}

std::string additivity_csv(std::span<const ProgramTimes> rows) {
  std::vector<std::string> columns{"program", "kernels", "distinct"};
  for (const CacheState state : {CacheState::kCold, CacheState::kWarm}) {
    for (const char* what : {"whole_ns", "sum_ns", "placed_ns", "sum_error", "placed_error"}) {
      columns.push_back(fmt::format("{}_{}", name(state), what));
    }
  }
  columns.insert(columns.end(), {"unstable", "skipped"});
  std::string text = measured::csv_line(columns);
  for (const ProgramTimes& row : rows) {
    std::vector<std::string> cells{row.program, std::to_string(row.kernels),
                                   std::to_string(row.distinct)};
    for (const CacheState state : {CacheState::kCold, CacheState::kWarm}) {
      if (!row.skipped.empty()) {
        cells.insert(cells.end(), 5, "");
        continue;
      }
      const StateTimes& times = row.in(state);
      cells.insert(cells.end(), {nanoseconds_text(times.whole.minimum),
                                 nanoseconds_text(times.alone), nanoseconds_text(times.placed),
                                 fmt::format("{:.4f}", error(row, state, Sum::kAlone)),
                                 fmt::format("{:.4f}", error(row, state, Sum::kPlaced))});
    }
    cells.insert(cells.end(), {std::to_string(row.unstable), row.skipped});
    text += measured::csv_line(cells);
  }
  return text;
}

void write_program_set(const std::string& directory, const ProgramSet& set) {
  measured::SetWriter writer({.output = directory});
  writer.begin_rows({"program", "runtime_ns", "repeats", "spread_ns", "family", "x_sum_ns",
                     "x_placed_ns", "x_kernels", "x_cache"});
  for (const ProgramTimes& row : set.rows) {
    if (!row.skipped.empty()) continue;
    const auto variant = std::find_if(set.programs.begin(), set.programs.end(),
                                      [&](const auto& v) { return v.name == row.program; });
    TC_CHECK(variant != set.programs.end(), "rows are of the programs given");
    ir::Module scheduled = variant->program;
    scheduled.is_scheduled = true;  // so that a reader does not fuse it again
    const std::string file = fmt::format("programs/{}.hlo", row.program);
    writer.add_file(file, ir::print_hlo(scheduled));
    writer.add({file, nanoseconds_text(row.cold.whole.minimum),
                std::to_string(row.cold.whole.calls), nanoseconds_text(row.cold.whole.spread),
                family_of(row.program), nanoseconds_text(row.cold.alone),
                nanoseconds_text(row.cold.placed), std::to_string(row.kernels),
                std::string(name(CacheState::kCold))});
  }
  writer.add_file("additivity.csv", additivity_csv(set.rows));
  if (!set.device_yaml.empty()) writer.add_file("device.yaml", set.device_yaml);
  writer.commit(set.manifest);
}

namespace {

class PageCache {
 public:
  explicit PageCache(double capacity) : capacity_(capacity) {}

  // Simulates a call; returns its missing share.
  double call(const std::vector<ArrayUse>& uses) {
    double missing = 0, all = 0;
    for (const ArrayUse& use : uses) {
      for_each_page(use, [&](const Page& page, double bytes) {
        const auto last = last_used_.find(page);
        all += bytes;
        if (last == last_used_.end() || used_ - last->second > capacity_) missing += bytes;
      });
    }
    for (const ArrayUse& use : uses) {
      for_each_page(use, [&](const Page& page, double bytes) {
        used_ += bytes;
        last_used_[page] = used_;
      });
    }
    return all > 0 ? missing / all : 0;
  }

  void forget(ArrayUse::Memory memory) {
    std::erase_if(last_used_, [&](const auto& entry) { return entry.first.first == memory; });
  }

 private:
  using Page = std::pair<ArrayUse::Memory, std::int64_t>;

  template <class Visit>
  static void for_each_page(const ArrayUse& use, Visit&& visit) {
    const std::int64_t end = use.offset + use.bytes;
    for (std::int64_t at = use.offset; at < end;) {
      const std::int64_t next =
          std::min(end, (at / ArrayUse::kAlignment + 1) * ArrayUse::kAlignment);
      visit(Page{use.memory, at / ArrayUse::kAlignment}, static_cast<double>(next - at));
      at = next;
    }
  }

  double capacity_;
  double used_ = 0;  // bytes used so far
  std::map<Page, double> last_used_;
};

}  // namespace

std::vector<double> missing_shares(const CProgram& program, Bytes capacity, CacheState state) {
  PageCache cache(capacity.value);
  for (const PartCall& call : program.calls) (void)cache.call(call.uses);
  if (state == CacheState::kCold) {
    cache.forget(ArrayUse::Memory::kInput);
    cache.forget(ArrayUse::Memory::kOutput);
  }
  std::vector<double> shares;
  for (const PartCall& call : program.calls) shares.push_back(cache.call(call.uses));
  return shares;
}

}  // namespace tilecast::host
