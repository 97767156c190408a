#include "host/probe.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "host/c_kernel.h"
#include "host/compiled_library.h"
#include "host/probe_runner.h"

namespace tilecast::host {
namespace {

constexpr int kRounds = 2;
// Of a measurement's time, what making its memory and finding the number of calls leaves.
constexpr double kRepeating = 0.7;

constexpr const char* kDtypes[] = {"f32", "f64", "bf16", "f16", "s32", "s8"};
constexpr const char* kOps[] = {
    "divide", "remainder",    "sqrt",      "rsqrt",  "exponential", "exponential-minus-one",
    "log",    "log-plus-one", "logistic",  "tanh",   "erf",         "sine",
    "cosine", "power",        "transpose", "reduce", "gather"};

struct LoopTask {
  std::string what;
  LoopRun run;
  LoopTimes times;
};

// The list of what to measure, and the answers.
class Tasks {
 public:
  explicit Tasks(const Topology& topology) : topology_(&topology) {}

  const LoopTimes* one(const std::string& function, std::int64_t bytes = kOpBytes) {
    return add(function, bytes, {topology_->pus.back()}, "one core");
  }
  const LoopTimes* all(const std::string& function, std::int64_t bytes = kOpBytes) {
    return add(function, bytes, topology_->pus, "all cores");
  }
  [[nodiscard]] int least_repeats() const {
    const auto least = std::ranges::min_element(
        tasks_, {}, [](const LoopTask& task) { return task.times.call_s.size(); });
    return static_cast<int>(least->times.call_s.size());
  }
  // Returns the times of the reference loop.
  LoopTimes measure(const std::string& library, const ProbeOptions& options);

 private:
  const LoopTimes* add(const std::string& function, std::int64_t bytes, std::vector<int> pus,
                       const char* where) {
    const double line = topology_->caches.empty() ? 0 : topology_->caches.front().line.value;
    tasks_.push_back({.what = fmt::format("{}, {} KiB, {}", function, bytes >> 10, where),
                      .run = {.loop = find_loop(function),
                              .bytes = bytes,
                              .line = line >= sizeof(void*) ? static_cast<std::int64_t>(line) : 64,
                              .pus = std::move(pus)},
                      .times = {}});
    return &tasks_.back().times;
  }

  const Topology* topology_;
  std::deque<LoopTask> tasks_;  // addresses of answers stay
};

LoopTimes Tasks::measure(const std::string& library, const ProbeOptions& options) {
  const double runs = kRounds * static_cast<double>(tasks_.size() + 1) + 1;
  const Seconds budget{kRepeating * options.seconds / runs};
  const Seconds repeat{std::min(LoopRun{}.repeat, budget / LoopRun{}.least_repeats)};
  const LoopRun reference{.loop = find_loop("clock_adds"),
                          .pus = {topology_->pus.back()},
                          .repeat = repeat,
                          .budget = budget};
  LoopTimes references{.call_s = {run_loop(library, reference).best()}};
  for (int round = 0; round < kRounds; ++round) {
    for (LoopTask& task : tasks_) {
      options.progress(fmt::format("round {} of {}: {}", round + 1, kRounds, task.what));
      task.run.repeat = repeat;
      task.run.budget = budget;
      const LoopTimes more = run_loop(library, task.run);
      task.times.vector_bytes = more.vector_bytes;
      task.times.call_s.insert(task.times.call_s.end(), more.call_s.begin(), more.call_s.end());
    }
    references.call_s.push_back(run_loop(library, reference).best());
  }
  return references;
}

double fewer(double a, double b) {
  return b > 0 ? std::min(a, b) : a;
}

// What a process here may take without pushing anybody out: of memory, of its container.
double memory_to_use(const Topology& topology) {
  double limit = 0;
  std::ifstream("/sys/fs/cgroup/memory.max") >> limit;  // "max" reads as 0
  constexpr double kShare = 0.25;
  return kShare * fewer(topology.memory.value, limit);
}

// Whole pages, so that every loop's vectors and both halves of a copy fit.
Bytes pages(double bytes) {
  constexpr double kPage = 8192;
  return Bytes{std::max(std::floor(bytes / kPage), 1.0) * kPage};
}

// Half of a level's share, on top of the level before where that would hold it.
Bytes set_of_level(double share, double before) {
  constexpr double kClearlyMore = 2;
  const double half = share / 2;
  return pages(half >= kClearlyMore * before ? half : before + half);
}

struct LevelTimes {
  const LoopTimes *read, *write, *copy, *all_read, *all_write, *all_copy, *runs, *latency;
};

LevelTimes add_level(const ProbedLevel& level, Tasks& tasks) {
  const auto one = static_cast<std::int64_t>(level.working_set.value);
  const auto each = static_cast<std::int64_t>(level.all_working_set.value);
  return {.read = tasks.one("mem_read", one),
          .write = tasks.one("mem_write", one),
          .copy = tasks.one("mem_copy", one),
          .all_read = tasks.all("mem_read", each),
          .all_write = tasks.all("mem_write", each),
          .all_copy = tasks.all("mem_copy", each),
          .runs = tasks.one("mem_runs", one),
          .latency = tasks.one("mem_chase", static_cast<std::int64_t>(level.chain.value))};
}

void set_level(const LevelTimes& times, int cores, ProbedLevel& level) {
  const auto one = [&](const LoopTimes* t) { return level.working_set / Seconds{t->best()}; };
  const auto all = [&](const LoopTimes* t) {
    return cores * level.all_working_set / Seconds{t->best()};
  };
  level.read = one(times.read);
  level.write = one(times.write);
  level.copy = one(times.copy);
  level.all_read = all(times.all_read);
  level.all_write = all(times.all_write);
  level.all_copy = all(times.all_copy);
  level.runs = one(times.runs);
  level.latency = Seconds{times.latency->best() / find_loop("mem_chase").work};
  for (const LoopTimes* t : {times.read, times.write, times.copy, times.runs, times.latency}) {
    level.spread = std::max(level.spread, t->spread());
  }
  for (const LoopTimes* t : {times.all_read, times.all_write, times.all_copy}) {
    level.all_spread = std::max(level.all_spread, t->spread());
  }
}

double vector_lanes(std::string_view dtype, int vector_bytes) {
  return vector_bytes / (dtype == "f64" ? 8.0 : 4.0);
}

std::string model_or_machine(const std::string& model) {
  utsname machine{};
  if (!model.empty() || ::uname(&machine) != 0) return model;
  return fmt::format("unnamed {} processor", machine.machine);
}

}  // namespace

std::vector<ProbedLevel> levels_to_probe(const Topology& topology) {
  const double cores = static_cast<double>(topology.pus.size());
  std::vector<ProbedLevel> levels;
  double before = 0, all_before = 0;  // capacity below a level, of one core
  for (const Cache& cache : topology.caches) {
    const double capacity = cache.capacity.value;
    const double share = capacity / cache.shared_by;
    levels.push_back({.name = fmt::format("l{}", cache.depth),
                      .capacity = cache.capacity,
                      .line = cache.line,
                      .ways = cache.ways,
                      .shared_by = cache.shared_by,
                      .working_set = set_of_level(capacity, before),
                      .all_working_set = set_of_level(share, all_before)});
    constexpr double kChainTimesBefore = 4;
    ProbedLevel& level = levels.back();
    level.chain = before > 0 ? std::min(level.working_set, pages(kChainTimesBefore * before))
                             : level.working_set;
    before = capacity;
    all_before = share;
  }
  if (levels.empty()) {
    constexpr double kAssumedL1 = 32 * 1024;  // what cores of the last twenty years have at least
    levels.push_back({.name = "l1",
                      .capacity = Bytes{kAssumedL1},
                      .line = Bytes{64},
                      .working_set = pages(kAssumedL1 / 2),
                      .all_working_set = pages(kAssumedL1 / 2),
                      .chain = pages(kAssumedL1 / 2),
                      .capacity_known = false});
  }
  const ProbedLevel& last = levels.back();
  constexpr double kTimesCache = 4, kLeast = 256.0 * 1024 * 1024;
  const double most = std::max(memory_to_use(topology), 2 * last.capacity.value);
  const double caches = cores / last.shared_by;
  const double one = std::min(std::max(kTimesCache * last.capacity.value, kLeast), most);
  const double all = std::min(std::max(kTimesCache * last.capacity.value * caches, kLeast), most);
  const Bytes line = last.line;
  levels.push_back({.name = "dram",
                    .capacity = topology.memory,
                    .line = line,
                    .shared_by = static_cast<int>(topology.pus.size()),
                    .working_set = pages(one),
                    .all_working_set = pages(all / cores),
                    .chain = pages(one)});
  return levels;
}

namespace {

// What one probe times, and the answers.
struct Measured {
  explicit Measured(const Topology& topology) : levels(levels_to_probe(topology)), tasks(topology) {
    for (const char* loop : {"clock_adds", "fma_chain", "empty_calls", "one_run", "add_f32"}) {
      by_loop[loop] = tasks.one(loop);
    }
    by_loop["product"] = tasks.one("product", kProductBytes);
    for (const std::string dtype : kDtypes) {
      const LoopTimes* one = tasks.one("peak_" + dtype);
      rates.emplace_back(one, tasks.all("peak_" + dtype));
    }
    for (const std::string op : kOps) {
      std::string function = "op_" + op;
      std::ranges::replace(function, '-', '_');
      ops.push_back(tasks.one(function));
    }
    for (const ProbedLevel& level : levels) level_times.push_back(add_level(level, tasks));
  }

  // Of one unit of the loop's work.
  [[nodiscard]] double unit_s(const std::string& loop) const {
    return by_loop.at(loop)->best() / find_loop(loop).work;
  }

  std::vector<ProbedLevel> levels;
  Tasks tasks;
  std::map<std::string, const LoopTimes*> by_loop;
  std::vector<std::pair<const LoopTimes*, const LoopTimes*>> rates;  // one core, all
  std::vector<const LoopTimes*> ops;
  std::vector<LevelTimes> level_times;
};

void set_rates(const Measured& measured, Probed& found) {
  for (std::size_t i = 0; i < measured.rates.size(); ++i) {
    const std::string dtype = kDtypes[i];
    const double flops = 2 * find_loop("peak_" + dtype).work * vector_lanes(dtype, found.vector_bytes);
    const auto [one, all] = measured.rates[i];
    found.rates.push_back({.dtype = dtype,
                           .one_core = FlopsPerSecond{flops / one->best()},
                           .all_cores = FlopsPerSecond{found.cores * flops / all->best()},
                           .spread = one->spread(),
                           .all_spread = all->spread()});
  }
}

void set_ops(const Measured& measured, Probed& found) {
  const double hertz = found.clock.value;
  const double lanes = vector_lanes("f32", found.vector_bytes);
  found.op_cycles.emplace_back("add", measured.unit_s("add_f32") * hertz);
  for (std::size_t i = 0; i < measured.ops.size(); ++i) {
    const double vectors = static_cast<double>(kOpElements) / lanes;
    found.op_cycles.emplace_back(kOps[i], measured.ops[i]->best() * hertz / vectors);
    found.op_spread = std::max(found.op_spread, measured.ops[i]->spread());
  }
  found.fma_latency = measured.unit_s("fma_chain") * hertz;
  found.call = Seconds{measured.unit_s("empty_calls")};
  found.pack = Seconds{measured.unit_s("one_run")};
  found.product = FlopsPerSecond{2 / measured.unit_s("product")};
  found.product_spread = measured.by_loop.at("product")->spread();
}

}  // namespace

Probed probe(const ProbeOptions& options) {
  const Topology topology = read_topology();
  options.progress("compiling the loops");
  const Compiler compiler;
  const std::string source = probe_source(c_prelude());
  const std::vector<Compilation> made = compiler.compile({&source, 1}, 1);
  if (!made.front().library) {
    throw Error(fmt::format("probe: the loops do not compile: {}", made.front().error));
  }
  Measured measured(topology);
  const LoopTimes references = measured.tasks.measure(made.front().library->path(), options);

  const LoopTimes& clock = *measured.by_loop.at("clock_adds");
  Probed found{.model = model_or_machine(topology.model),
               .compiler = compiler.description(),
               .date = base::today(),
               .cores = static_cast<int>(topology.pus.size()),
               .threads_per_core = topology.threads_per_core,
               .numa_nodes = topology.numa_nodes,
               .vector_bytes = clock.vector_bytes,
               .clock = Hertz{1 / measured.unit_s("clock_adds")},
               .clock_spread = clock.spread(),
               .levels = std::move(measured.levels),
               .repeats = measured.tasks.least_repeats()};
  found.reference_spread = *std::ranges::max_element(references.call_s) / references.best() - 1;
  for (std::size_t i = 0; i < found.levels.size(); ++i) {
    set_level(measured.level_times[i], found.cores, found.levels[i]);
  }
  set_rates(measured, found);
  set_ops(measured, found);
  return found;
}

}  // namespace tilecast::host
