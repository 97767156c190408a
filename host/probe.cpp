#include "host/probe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "host/c_kernel.h"
#include "host/compiled_library.h"
#include "host/probe_loops.h"
#include "hwdesc/yaml_text.h"

namespace tilecast::host {

namespace {

constexpr int kRounds = 2;
// Share of a measurement's time left after preparing memory and finding the number of calls.
constexpr double kRepeating = 0.7;

constexpr const char* kDtypes[] = {"f32", "f64", "bf16", "f16", "s32", "s8"};
constexpr const char* kProbedOps[] = {
    "divide", "remainder",    "sqrt",      "rsqrt",  "exponential", "exponential-minus-one",
    "log",    "log-plus-one", "logistic",  "tanh",   "erf",         "sine",
    "cosine", "power",        "transpose", "reduce", "gather"};

struct LoopTask {
  std::string what;
  LoopRun run;
  LoopTimes times;
};

// The loops to measure, and their results.
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
  std::deque<LoopTask> tasks_;  // a deque, so that addresses of results stay valid
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

// Memory that can be used safely, considering the machine and the container's limit.
double memory_to_use(const Topology& topology) {
  double limit = 0;
  std::ifstream("/sys/fs/cgroup/memory.max") >> limit;  // "max" reads as 0
  constexpr double kShare = 0.25;
  return kShare * fewer(topology.memory.value, limit);
}

// Rounds to whole pages, so that every loop's vectors and both halves of a copy fit.
Bytes pages(double bytes) {
  constexpr double kPage = 8192;
  return Bytes{std::max(std::floor(bytes / kPage), 1.0) * kPage};
}

// Half of a level's share; larger if the previous level could hold that.
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
  double before = 0, all_before = 0;  // capacity of the levels before
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
    constexpr double kAssumedL1 = 32 * 1024;  // minimum of cores of the last twenty years
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

// The loops of one probe, and their results.
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
    for (const std::string op : kProbedOps) {
      std::string function = "op_" + op;
      std::ranges::replace(function, '-', '_');
      ops.push_back(tasks.one(function));
    }
    for (const ProbedLevel& level : levels) level_times.push_back(add_level(level, tasks));
  }

  // Seconds per unit of the loop's work.
  [[nodiscard]] double unit_s(const std::string& loop) const {
    return by_loop.at(loop)->best() / find_loop(loop).work;
  }

  std::vector<ProbedLevel> levels;
  Tasks tasks;
  std::map<std::string, const LoopTimes*> by_loop;
  std::vector<std::pair<const LoopTimes*, const LoopTimes*>> rates;  // one core, all cores
  std::vector<const LoopTimes*> ops;
  std::vector<LevelTimes> level_times;
};

void set_rates(const Measured& measured, Probed& found) {
  for (std::size_t i = 0; i < measured.rates.size(); ++i) {
    const std::string dtype = kDtypes[i];
    const double flops =
        2 * find_loop("peak_" + dtype).work * vector_lanes(dtype, found.vector_bytes);
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
    found.op_cycles.emplace_back(kProbedOps[i], measured.ops[i]->best() * hertz / vectors);
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

// Writes a probed machine as a device description. The keys are chosen such that the model
// (analytical/compute_units.h, simt_model.h) reproduces the measured time of the same work.

namespace {

using hwdesc::UnitKind;

// Rounds to the digits that a repetition would confirm.
double rounded(double value) {
  return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
}

std::string number(double value) {
  return fmt::format("{}", rounded(value));
}

std::string quantity(double value, UnitKind kind) {
  return hwdesc::format_quantity(rounded(value), kind);
}

std::string bandwidth(BytesPerSecond value) {
  return quantity(value.value, UnitKind::kBandwidth);
}

std::string capacity(Bytes bytes) {
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  if (bytes.value < kGiB) return hwdesc::format_quantity(bytes.value, UnitKind::kCapacity);
  return fmt::format("{} GiB", rounded(bytes.value / kGiB));
}

std::string text(const std::string& value) {
  return hwdesc::yaml_text(value, "hw probe");
}

// Reduces text reported by the machine to one line of plain characters.
std::string plain(std::string value) {
  constexpr std::size_t kMost = 300;
  constexpr char kFirst = ' ', kLast = '~';
  for (char& c : value) {
    if (c < kFirst || c > kLast) c = '?';
  }
  return value.substr(0, kMost);
}

class DescriptionWriter {
 public:
  DescriptionWriter(const Probed& probed, const std::string& name) : p_(probed), name_(name) {
    TC_CHECK(p_.levels.size() >= 2, "a cache and main memory were probed");
  }

  [[nodiscard]] std::string yaml() const {
    return header() + memory() + transfer() + matrix() + vector() + transcendental() +
           cross_lane() + rest();
  }

 private:
  [[nodiscard]] double lanes() const { return p_.vector_bytes / 4.0; }
  [[nodiscard]] double cycles(std::string_view op) const {
    const auto found = std::ranges::find(p_.op_cycles, op, [](const auto& o) { return o.first; });
    TC_CHECK(found != p_.op_cycles.end(), "an op the description needs was probed");
    return found->second;
  }
  [[nodiscard]] bool has(std::string_view op) const {
    return std::ranges::count(p_.op_cycles, op, [](const auto& o) { return o.first; }) > 0;
  }
  // "measured: WHAT; best of 12 or more repeats, 2026-11-22, spread 1 %".
  [[nodiscard]] std::string measured(const std::string& what, double spread) const {
    return fmt::format("measured: {}; best of {} or more repeats, {}, spread {:.1f} %", what,
                       p_.repeats, plain(p_.date), 100 * spread);
  }
  [[nodiscard]] std::string source(const std::string& what, double spread,
                                   const char* indent = "  ") const {
    return fmt::format("{}source: {}\n", indent, text(measured(what, spread)));
  }
  // Rates of all cores together, if there are several.
  [[nodiscard]] std::string together(const std::string& rates, double spread) const {
    if (p_.cores == 1) return {};
    return fmt::format("; {} cores together: {}, spread {:.1f} %", p_.cores, rates, 100 * spread);
  }

  [[nodiscard]] std::string header() const;
  [[nodiscard]] std::string level(const ProbedLevel& level, bool outermost) const;
  [[nodiscard]] std::string memory() const;
  [[nodiscard]] std::string transfer() const;
  [[nodiscard]] std::string matrix() const;
  [[nodiscard]] std::string vector() const;
  [[nodiscard]] std::string transcendental() const;
  [[nodiscard]] std::string cross_lane() const;
  [[nodiscard]] std::string rest() const;

  const Probed& p_;
  const std::string& name_;
};

std::string DescriptionWriter::header() const {
  return fmt::format(
      "# One core of this machine, as `tilecast hw probe` found it. Bandwidths are sustained "
      "ones,\n"
      "# so no level has an efficiency below 1. Kernels of `tilecast measure host` run on one "
      "core;\n"
      "# what all cores reach together stands in the sources.\n"
      "# Compiled by: {}\n"
      "# How quiet the machine was: a reference loop took {:.1f} % longer at its slowest than at\n"
      "# its fastest, start, middle and end of the probe. Spread: of the median above the best.\n"
      "name: {}\ndescription: {}\ngeneration: {}\nexecution: cache\nclock: {}\n"
      "cores_per_chip: {}\nsource: {}\n",
      plain(p_.compiler), 100 * p_.reference_spread, text(name_),
      text(fmt::format("{}: one of {} cores", plain(p_.model), p_.cores)),
      text(fmt::format("CPU with vectors of {} bytes", p_.vector_bytes)),
      quantity(p_.clock.value, UnitKind::kFrequency), p_.cores,
      text(measured("a chain of dependent integer additions, one per cycle", p_.clock_spread) +
           fmt::format("; hwloc: {} cores that this process may use, {} hardware threads on each, "
                       "{} NUMA nodes in the machine",
                       p_.cores, p_.threads_per_core, p_.numa_nodes)));
}

// Whether copies overlap reads and writes: the assumption that better fits the measured copy.
bool full_duplex(const ProbedLevel& level) {
  const double read = level.read.value, write = level.write.value, copy = level.copy.value;
  const double in_turn = 2 / (1 / read + 1 / write), at_once = 2 * std::min(read, write);
  return std::abs(std::log(copy / at_once)) < std::abs(std::log(copy / in_turn));
}

std::string DescriptionWriter::level(const ProbedLevel& level, bool outermost) const {
  std::string what = fmt::format(
      "reads, writes and copies (both ways: {}) over {}, latency of dependent loads in random "
      "order "
      "over {}",
      bandwidth(level.copy), capacity(level.working_set), capacity(level.chain));
  what += together(fmt::format("read {}, write {}, copy {} over {} each", bandwidth(level.all_read),
                               bandwidth(level.all_write), bandwidth(level.all_copy),
                               capacity(level.all_working_set)),
                   level.all_spread);
  what += level.capacity_known
              ? fmt::format("; capacity, ways, shared by {} core(s): hwloc", level.shared_by)
              : "; capacity assumed, unknown to the system";
  return fmt::format(
      "  {}:\n    capacity: {}\n    bandwidth: {}\n    write_bandwidth: {}\n    latency: {}\n"
      "{}{}{}{}{}",
      level.name, capacity(level.capacity), bandwidth(level.read), bandwidth(level.write),
      quantity(level.latency.value, UnitKind::kTime),
      full_duplex(level) ? "    full_duplex: true\n" : "",
      level.line.value >= 1 ? fmt::format("    granule: {} B\n", level.line.value) : "",
      level.ways > 0 ? fmt::format("    ways: {}\n", level.ways) : "",
      outermost ? "    memory_space: 0\n" : "", source(what, level.spread, "    "));
}

std::string DescriptionWriter::memory() const {
  std::string out = "\nmemory:\n";
  for (std::size_t i = p_.levels.size(); i-- > 0;) {
    out += level(p_.levels[i], i + 1 == p_.levels.size());
  }
  return out;
}

// Extra time of packing runs over streaming them, expressed as bytes per run.
double run_cost(const ProbedLevel& level) {
  return std::max(0.0, level.read.value / level.runs.value - 1) * static_cast<double>(kRunBytes);
}

std::string DescriptionWriter::transfer() const {
  std::string out = "\ntransfer:\n";
  for (std::size_t i = p_.levels.size(); i-- > 1;) {
    const ProbedLevel& level = p_.levels[i];
    const bool first = i == p_.levels.size() - 1, last = i == 1;
    out += fmt::format(
        "  {}_to_{}:\n    setup: {}\n{}{}    full_efficiency_run: {} B\n{}{}", level.name,
        p_.levels[i - 1].name, quantity(p_.pack.value, UnitKind::kTime),
        last ? fmt::format("    iteration_overhead: {}\n", quantity(p_.pack.value, UnitKind::kTime))
             : "",
        first ? "    prefetch: 4 KiB            # prefetchers of x86 and Arm cores stay within a "
                "page\n"
              : "",
        std::round(run_cost(level)), last ? "    estimated: true\n" : "",
        source(fmt::format("{}set-up: packing one element by the loops that pack tiles; runs: "
                           "packing {} B at a time out of {}, {}, against streaming",
                           last ? "overhead of an iteration estimated as one more set-up; " : "",
                           kRunBytes, capacity(level.working_set), bandwidth(level.runs)),
               level.spread, "    "));
  }
  return out;
}

// The number of pipes is chosen for the f32 rate; passes account for the other types' rates.
std::string DescriptionWriter::matrix() const {
  const auto f32 = std::ranges::find(p_.rates, std::string("f32"), &ProbedRate::dtype);
  if (f32 == p_.rates.end()) return {};
  constexpr double kSlack = 0.25;  // tolerance for clock variation
  const double of_pipe = 2 * lanes() * rounded(p_.clock.value);
  const double count = std::max(1.0, std::ceil(f32->one_core.value / of_pipe - kSlack));
  const double efficiency = std::clamp(p_.product.value / f32->one_core.value, 1e-3, 1.0);
  std::vector<std::string> passes, rates, together_rates;
  double spread = 0, all_spread = 0;
  for (const ProbedRate& rate : p_.rates) {
    const auto shown = [&](FlopsPerSecond value) {
      return fmt::format("{} {}", rate.dtype, quantity(value.value, UnitKind::kFlopRate));
    };
    passes.push_back(
        fmt::format("{}: {}", rate.dtype, number(count * of_pipe / rate.one_core.value)));
    rates.push_back(shown(rate.one_core));
    together_rates.push_back(shown(rate.all_cores));
    spread = std::max(spread, rate.spread);
    all_spread = std::max(all_spread, rate.all_spread);
  }
  return fmt::format(
      "\n# Multiply-adds of vectors: passes give the measured peak of each type, efficiency what\n"
      "# products of generated kernels sustain of it.\n"
      "matrix:\n  count: {}\n  rows: 1\n  columns: {}\n  fill: {}\n  passes: {{{}}}\n  efficiency: "
      "{}\n{}",
      count, lanes(), number(p_.fma_latency), fmt::join(passes, ", "), number(efficiency),
      source(fmt::format(
                 "independent multiply-adds on registers: {}; bf16 and f16 converted to "
                 "f32, s8 to s32, once for many multiply-adds; efficiency: an f32 product "
                 "of 64 x 128 by 128 x 64, {}, spread {:.1f} %; fill: a chain of dependent ones{}",
                 fmt::join(rates, ", "), quantity(p_.product.value, UnitKind::kFlopRate),
                 100 * p_.product_spread,
                 together(fmt::format("{}", fmt::join(together_rates, ", ")), all_spread)),
             spread));
}

std::string DescriptionWriter::vector() const {
  const double alus = 1 / cycles("add");
  const ProbedLevel& l1 = p_.levels.front();
  const double register_rate = p_.clock.value * p_.vector_bytes;
  std::vector<std::string> ops;
  for (const char* op : {"divide", "remainder"}) {
    if (has(op)) ops.push_back(fmt::format("{}: {}", op, number(cycles(op) * alus)));
  }
  return fmt::format(
      "\nvector:\n  lanes: {}\n  alus: {}\n  load_ports: {}\n  store_ports: {}\n"
      "  op_cycles: {{{}}}\n{}",
      lanes(), number(alus), number(l1.read.value / register_rate),
      number(l1.write.value / register_rate), fmt::join(ops, ", "),
      source("independent f32 additions on registers; loads and stores: rates of the first cache; "
             "f32 divisions and s32 remainders of arrays in that cache",
             p_.op_spread));
}

std::string DescriptionWriter::transcendental() const {
  const double base = cycles("exponential");
  std::vector<std::string> costs;
  constexpr std::string_view kOthers[] = {"add",       "divide", "remainder",
                                          "transpose", "reduce", "gather"};
  for (const auto& [op, taken] : p_.op_cycles) {
    if (std::ranges::count(kOthers, op) > 0) continue;
    costs.push_back(fmt::format("{}: {}", op, number(taken / base)));
  }
  return fmt::format("\ntranscendental:\n  per_cycle: {}\n  op_cost: {{{}}}\n{}",
                     number(lanes() / base), fmt::join(costs, ", "),
                     source("loops over f32 arrays in the first cache, as generated kernels have "
                            "them; functions not listed count as an exponential",
                            p_.op_spread));
}

// A reduction's additions belong to the vector unit; the rest of its loop's time to the cross-lane
// unit.
std::string DescriptionWriter::cross_lane() const {
  constexpr double kLeast = 0.05;  // minimum share of the loop
  const double reduce = std::max(cycles("reduce") - cycles("add"), kLeast * cycles("reduce"));
  return fmt::format(
      "\ncross_lane:\n  elements_per_cycle: {}\n  reduce_elements_per_cycle: {}\n"
      "  irregular_elements_per_cycle: {}\n{}",
      number(lanes() / cycles("transpose")), number(lanes() / reduce),
      number(lanes() / cycles("gather")),
      source("f32 arrays in the first cache: a transposition in blocks of 8 x 8, sums of rows of "
             "256 less their additions, loads at random indices",
             p_.op_spread));
}

std::string DescriptionWriter::rest() const {
  return fmt::format(
      "\n# All work of these units goes through the same pipes; loads and stores run beside it.\n"
      "co_issue: [[vector, load, store, scalar], [matrix], [transcendental], [cross_lane]]\n"
      "\nmultiplexing:\n  workers: 1\n  max_resident: 1\n"
      "  source: \"one core, one thread on it\"\n"
      "\nnative_tile:\n  tiled: false\n  source: \"generated kernels keep arrays dense\"\n"
      "\ndispatch:\n  kernel_launch: {}\n  host: 0 ns               # the call is all there is\n{}",
      quantity(p_.call.value, UnitKind::kTime),
      source("a call of an empty kernel through a pointer", p_.op_spread));
}

}  // namespace

std::string probed_yaml(const Probed& probed, const std::string& name) {
  return DescriptionWriter(probed, name).yaml();
}

Topology read_topology(const std::string& synthetic) {
  constexpr base::Plugin kHwloc = {"hwloc", "the module of hwloc", kHwlocModuleAbi};
  return reinterpret_cast<decltype(&read_topology)>(base::load_plugin(kHwloc))(synthetic);
}

}  // namespace tilecast::host
