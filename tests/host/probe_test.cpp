#include "host/probe.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include "base/error.h"
#include "host/c_kernel.h"
#include "host/compiled_library.h"
#include "host/probe_loops.h"
#include "hwdesc/device_check.h"
#include "hwdesc/device_yaml.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
// Four digits are written; a recomputed rate multiplies up to four such numbers.
constexpr double kWritten = 4 * 0.5e-3;

hwdesc::Device read_back(const std::string& yaml) {
  const support::Folder folder;
  return hwdesc::load_device(folder.write("probed.yaml", yaml));
}

void expect_near(double got, double wanted, const std::string& what) {
  EXPECT_NEAR(got / wanted, 1, kWritten) << what;
}

ProbedLevel level(const std::string& name, double capacity, double bandwidth) {
  return {.name = name,
          .capacity = Bytes{capacity},
          .line = Bytes{64},
          .read = BytesPerSecond{bandwidth},
          .write = BytesPerSecond{bandwidth / 2},
          .copy = BytesPerSecond{bandwidth},
          .all_read = BytesPerSecond{bandwidth},
          .all_write = BytesPerSecond{bandwidth},
          .all_copy = BytesPerSecond{bandwidth},
          .runs = BytesPerSecond{bandwidth / 3},
          .latency = Seconds{1e-9},
          .working_set = Bytes{capacity / 2},
          .all_working_set = Bytes{capacity / 2},
          .chain = Bytes{capacity / 2}};
}

constexpr const char* kOps[] = {"add",         "divide", "remainder", "sqrt",     "rsqrt",
                                "exponential", "log",    "tanh",      "logistic", "power",
                                "transpose",   "reduce", "gather"};

Probed plain_machine() {
  Probed probed{.model = "Some CPU",
                .compiler = "cc 1",
                .date = "2026-11-22",
                .cores = 4,
                .vector_bytes = 32,
                .clock = Hertz{3e9},
                .levels = {level("l1", 32 * kKiB, 400e9), level("l2", 512 * kKiB, 100e9),
                           level("dram", 16 * kGiB, 20e9)},
                .call = Seconds{2e-9},
                .pack = Seconds{3e-9},
                .product = FlopsPerSecond{60e9},
                .repeats = 12};
  for (const char* dtype : {"f32", "f64", "bf16", "f16", "s32", "s8"}) {
    probed.rates.push_back(
        {.dtype = dtype, .one_core = FlopsPerSecond{90e9}, .all_cores = FlopsPerSecond{300e9}});
  }
  for (const char* op : kOps) probed.op_cycles.emplace_back(op, 2.0);
  return probed;
}

// Anything from a single core whose caches are unknown to a many-core with long vectors.
Probed random_machine(std::mt19937& random) {
  const auto between = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random));
  };
  const auto pick = [&](std::initializer_list<int> of) {
    return of.begin()[std::uniform_int_distribution<std::size_t>(0, of.size() - 1)(random)];
  };
  Probed probed = plain_machine();
  probed.model = pick({0, 1}) != 0 ? "A \"CPU\": with # quotes, 'colons' \\ and {braces}"
                                   : "tabs\tand\nlines \x01 and \xff bytes \xc3\xa9";
  probed.cores = pick({1, 2, 8, 128, 1024});
  probed.threads_per_core = pick({1, 2, 8});
  probed.numa_nodes = pick({1, 2, 16});
  probed.vector_bytes = pick({16, 32, 64, 128, 256});
  probed.clock = Hertz{between(4e8, 7e9)};
  probed.call = Seconds{between(1e-10, 1e-6)};
  probed.pack = Seconds{between(1e-10, 1e-6)};
  probed.reference_spread = between(1e-6, 10);
  probed.levels.resize(static_cast<std::size_t>(pick({1, 2, 3, 4})));
  double capacity = between(4 * kKiB, 256 * kKiB);
  double bandwidth = probed.clock.value * probed.vector_bytes * between(0.1, 8);
  for (std::size_t i = 0; i < probed.levels.size(); ++i) {
    probed.levels[i] = level(fmt::format("l{}", i + 1), std::floor(capacity / 64) * 64, bandwidth);
    probed.levels[i].capacity_known = pick({0, 1}) != 0;
    probed.levels[i].line = Bytes{static_cast<double>(pick({0, 32, 64, 128}))};
    probed.levels[i].shared_by = pick({1, 2, 128});
    probed.levels[i].copy = BytesPerSecond{bandwidth * between(0.3, 3)};
    probed.levels[i].latency = Seconds{between(2e-10, 5e-7)};
    probed.levels[i].runs = BytesPerSecond{bandwidth * between(0.01, 1.2)};
    capacity *= between(1, 64);
    bandwidth /= between(0.8, 6);
  }
  probed.levels.push_back(level("dram", std::floor(between(64 * kMiB, 4096 * kGiB)), bandwidth));
  const double rate = probed.clock.value * probed.vector_bytes / 2 * between(0.2, 8);
  for (ProbedRate& r : probed.rates) r.one_core = FlopsPerSecond{rate * between(0.01, 4)};
  probed.rates.front().one_core = FlopsPerSecond{rate};
  probed.product = FlopsPerSecond{rate * between(0.01, 1)};
  for (auto& [op, cycles] : probed.op_cycles) {
    cycles = op == "add" ? between(0.1, 16) : between(0.2, 5000);
  }
  return probed;
}

double cycles_of(const Probed& probed, const std::string& op) {
  for (const auto& [name, cycles] : probed.op_cycles) {
    if (name == op) return cycles;
  }
  return 0;
}

void expect_rates_as_measured(const Probed& probed, const hwdesc::Device& device) {
  for (const ProbedRate& rate : probed.rates) {
    expect_near(device.matrix_peak(rate.dtype).value, rate.one_core.value, rate.dtype);
  }
  expect_near(device.matrix_peak("f32").value * device.matrix.efficiency,
              std::min(probed.product.value, probed.rates.front().one_core.value), "product");
  ASSERT_EQ(device.memory.size(), probed.levels.size());
  for (std::size_t i = 0; i < device.memory.size(); ++i) {
    const hwdesc::MemoryLevel& got = device.memory[i];
    const ProbedLevel& wanted = probed.levels[probed.levels.size() - 1 - i];
    EXPECT_EQ(got.name, wanted.name);
    expect_near(got.bandwidth.value * got.efficiency, wanted.read.value, got.name + " read");
    expect_near(got.write_bandwidth.value().value * got.efficiency, wanted.write.value,
                got.name + " write");
    expect_near(got.latency.value, wanted.latency.value, got.name + " latency");
    expect_near(got.capacity.value, wanted.capacity.value, got.name + " capacity");
  }
  const double lanes = probed.vector_bytes / 4.0;
  const double clock = device.clock.value;
  expect_near(device.vector_peak().value / clock, lanes / cycles_of(probed, "add"), "add");
  const double registers = clock * probed.vector_bytes;
  expect_near(device.vector.load_ports * registers, probed.levels.front().read.value, "loads");
  expect_near(device.vector.store_ports * registers, probed.levels.front().write.value, "stores");
  for (const std::string op : {"divide", "remainder"}) {
    expect_near(device.vector.op_cycles.at(op) / device.vector.alus, cycles_of(probed, op), op);
  }
  for (const std::string op :
       {"exponential", "log", "tanh", "logistic", "power", "sqrt", "rsqrt"}) {
    expect_near(device.transcendental.per_cycle / device.transcendental.op_cost.at(op),
                lanes / cycles_of(probed, op), op);
  }
  const hwdesc::CrossLaneUnit& cross = device.cross_lane;
  expect_near(cross.elements_per_cycle, lanes / cycles_of(probed, "transpose"), "transpose");
  const double reduced = cycles_of(probed, "reduce"), added = cycles_of(probed, "add");
  if (reduced > 1.1 * added) {  // its additions use the vector unit
    EXPECT_NEAR((lanes / cross.reduce_elements_per_cycle + added) / reduced, 1, kWritten);
  }
  expect_near(cross.irregular_elements_per_cycle, lanes / cycles_of(probed, "gather"), "gather");
  for (std::size_t i = 0; i < device.engines.size(); ++i) {
    const hwdesc::TransferEngine& engine = device.engines[i];
    const ProbedLevel& from = probed.levels[probed.levels.size() - 1 - i];
    const double run = static_cast<double>(kRunBytes);
    const double packed = run / (run + engine.full_efficiency_run.value) * from.read.value;
    EXPECT_NEAR(packed / std::min(from.runs.value, from.read.value), 1, 0.01) << from.name;
    expect_near(engine.setup.value, probed.pack.value, "setup");
  }
  expect_near(device.dispatch.kernel_launch.value, probed.call.value, "call");
}

TEST(ProbedYaml, EveryPlausibleMachineReadsBackWithItsMeasuredRates) {
  std::mt19937 random(1);
  constexpr int kMachines = 300;
  for (int i = 0; i < kMachines; ++i) {
    const Probed probed = random_machine(random);
    const std::string yaml = probed_yaml(probed, "machine: \"x\" # 1");
    SCOPED_TRACE(yaml);
    const hwdesc::Device device = read_back(yaml);
    EXPECT_EQ(device.name, "machine: \"x\" # 1");
    EXPECT_EQ(device.cores_per_chip, probed.cores);
    EXPECT_EQ(device.multiplexing.workers, 1);
    EXPECT_EQ(device.execution, hwdesc::Execution::kCache);
    EXPECT_FALSE(device.native_tile.tiled);
    expect_rates_as_measured(probed, device);
    for (const hwdesc::CheckResult& result : hwdesc::check(device)) {
      EXPECT_NE(result.verdict, hwdesc::Verdict::kDiffers) << result.message;
    }
    if (HasFailure()) break;
  }
}

TEST(ProbedYaml, TellsHowEachNumberWasGot) {
  Probed probed = plain_machine();
  probed.levels[1].spread = 0.0123;
  probed.levels[1].capacity_known = false;
  const hwdesc::Device device = read_back(probed_yaml(probed, "m"));
  EXPECT_THAT(device.memory[1].provenance.source, HasSubstr("over 256 KiB"));
  EXPECT_THAT(device.memory[1].provenance.source,
              HasSubstr("best of 12 or more repeats, 2026-11-22, spread 1.2 %"));
  EXPECT_THAT(device.memory[1].provenance.source, HasSubstr("4 cores together: read 100 GB/s"));
  EXPECT_THAT(device.memory[1].provenance.source, HasSubstr("capacity assumed"));
  EXPECT_THAT(device.matrix.provenance.source, HasSubstr("converted to f32"));
  EXPECT_THAT(device.matrix.provenance.source, HasSubstr("f32 300 GFLOP/s"));
}

TEST(ProbedYaml, OneCoreHasNothingToSayOfSeveral) {
  Probed probed = plain_machine();
  probed.cores = 1;
  EXPECT_THAT(probed_yaml(probed, "m"), Not(HasSubstr("together:")));
}

TEST(ProbedYaml, PipesAreAsManyAsTheRateNeeds) {
  Probed probed = plain_machine();  // a pipe does 8 lanes x 2 x 3 GHz = 48 GFLOP/s
  probed.rates.front().one_core = FlopsPerSecond{90e9};
  hwdesc::Device device = read_back(probed_yaml(probed, "m"));
  EXPECT_EQ(device.matrix.count, 2);
  EXPECT_EQ(device.matrix.columns, 8);
  expect_near(device.matrix.passes.at("f32"), 96.0 / 90, "passes");
  probed.rates.front().one_core = FlopsPerSecond{97e9};  // as with a slightly higher clock
  device = read_back(probed_yaml(probed, "m"));
  EXPECT_EQ(device.matrix.count, 2);
  expect_near(device.matrix_peak("f32").value, 97e9, "f32");
}

TEST(ProbedYaml, CopiesTellWhetherReadsAndWritesOverlap) {
  Probed probed = plain_machine();
  probed.levels[0].copy = 2.0 * probed.levels[0].write;  // as fast as writing alone
  probed.levels[1].copy =                                // one after the other
      BytesPerSecond{2 / (1 / probed.levels[1].read.value + 1 / probed.levels[1].write.value)};
  const hwdesc::Device device = read_back(probed_yaml(probed, "m"));
  EXPECT_TRUE(device.memory[2].full_duplex);
  EXPECT_FALSE(device.memory[1].full_duplex);
}

TEST(Topology, CachesOfTheLastCoreWithTheirSharing) {
  const Topology found = read_topology(
      "package:1 l3:2(size=16777216) l2:4(size=1048576) l1d:1(size=49152) core:1 pu:2");
  EXPECT_EQ(found.pus.size(), 8U);
  EXPECT_EQ(found.pus.back(), 14);  // the first thread of the last core
  EXPECT_EQ(found.threads_per_core, 2);
  EXPECT_EQ(found.numa_nodes, 1);
  ASSERT_EQ(found.caches.size(), 3U);
  EXPECT_EQ(found.caches[0].capacity, Bytes{48 * kKiB});
  EXPECT_EQ(found.caches[0].shared_by, 1);
  EXPECT_EQ(found.caches[2].capacity, Bytes{16 * kMiB});
  EXPECT_EQ(found.caches[2].depth, 3);
  EXPECT_EQ(found.caches[2].shared_by, 4);
}

TEST(Topology, OfSeveralMemoryNodesTheLastOneCounts) {
  const Topology found = read_topology("numa:2(memory=1073741824) l2:2(size=1048576) core:1 pu:1");
  EXPECT_THAT(found.pus, ElementsAre(2, 3));
  EXPECT_EQ(found.numa_nodes, 2);
  EXPECT_EQ(found.memory, Bytes{kGiB});
}

TEST(Topology, ThisMachineHasACoreAndMemory) {
  const Topology found = read_topology();
  EXPECT_FALSE(found.pus.empty());
  EXPECT_GT(found.memory, Bytes{0});
}

TEST(Topology, NonsenseIsRefused) {
  EXPECT_THROW((void)read_topology("no such thing"), Error);
}

TEST(LevelsToProbe, TakeHalfOfALevelAndEachCoresPartOfASharedOne) {
  Topology topology = read_topology(
      "numa:1(memory=68719476736) l3:1(size=33554432) l2:4(size=1048576) l1d:1(size=49152) core:1 "
      "pu:1");
  const std::vector<ProbedLevel> levels = levels_to_probe(topology);
  ASSERT_EQ(levels.size(), 4U);
  EXPECT_EQ(levels[0].name, "l1");
  EXPECT_EQ(levels[0].working_set, Bytes{24 * kKiB});
  EXPECT_EQ(levels[1].working_set, Bytes{512 * kKiB});
  EXPECT_EQ(levels[1].chain, Bytes{4 * 48 * kKiB});
  EXPECT_EQ(levels[2].working_set, Bytes{16 * kMiB});
  EXPECT_EQ(levels[2].all_working_set, Bytes{4 * kMiB});
  EXPECT_EQ(levels[2].chain, Bytes{4 * kMiB});
  EXPECT_EQ(levels[3].name, "dram");
  EXPECT_EQ(levels[3].all_working_set.value * 4, levels[3].working_set.value);
}

TEST(LevelsToProbe, ALevelHardlyLargerThanTheOneBeforeIsMeasuredOnMore) {
  Topology topology{.model = "", .pus = {0, 1}, .memory = Bytes{kGiB}};
  topology.caches = {{.depth = 1, .capacity = Bytes{32 * kKiB}, .line = Bytes{64}},
                     {.depth = 2, .capacity = Bytes{2 * kMiB}, .line = Bytes{64}},
                     {.depth = 3, .capacity = Bytes{3 * kMiB}, .line = Bytes{64}, .shared_by = 2}};
  const std::vector<ProbedLevel> levels = levels_to_probe(topology);
  EXPECT_EQ(levels[2].working_set, Bytes{2 * kMiB + 1.5 * kMiB});
  EXPECT_EQ(levels[2].all_working_set, Bytes{2 * kMiB + 0.75 * kMiB});
  EXPECT_GE(levels[2].chain, levels[1].capacity);
  EXPECT_LE(levels[3].working_set, topology.memory / 4);
}

TEST(LevelsToProbe, WithoutAnyCacheToldOneIsAssumed) {
  const std::vector<ProbedLevel> levels =
      levels_to_probe({.model = "", .pus = {0}, .memory = Bytes{kGiB}});
  ASSERT_EQ(levels.size(), 2U);
  EXPECT_FALSE(levels[0].capacity_known);
  EXPECT_TRUE(levels[1].capacity_known);
  EXPECT_EQ(levels[1].capacity, Bytes{kGiB});
}

// A compiled source and its functions.
class Library {
 public:
  explicit Library(const std::string& source) {
    std::vector<Compilation> made = Compiler().compile({&source, 1}, 1);
    EXPECT_EQ(made.front().error, "");
    library_ = std::move(made.front().library);
    handle_ = ::dlopen(path().c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle_, nullptr);
  }
  ~Library() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] const std::string& path() const { return library_.value().path(); }
  void call(const std::string& function, std::span<float> memory, long calls = 1) const {
    const auto loop =
        reinterpret_cast<void (*)(char*, long, long)>(::dlsym(handle_, function.c_str()));
    ASSERT_NE(loop, nullptr) << function;
    loop(reinterpret_cast<char*>(memory.data()), static_cast<long>(memory.size_bytes()), calls);
  }

 private:
  std::optional<CompiledLibrary> library_;
  void* handle_ = nullptr;
};

class ProbeLoops : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { library_ = new Library(probe_source(c_prelude())); }
  static void TearDownTestSuite() { delete std::exchange(library_, nullptr); }
  ProbeLoops() { std::iota(memory_.begin(), memory_.end(), 1.0F); }

  static Library* library_;
  alignas(256) std::array<float, kOpBytes / sizeof(float)> memory_;  // accessed in whole vectors
};
Library* ProbeLoops::library_ = nullptr;

TEST_F(ProbeLoops, AreAllInTheLibraryAndCanBeTimed) {
  for (const Loop& loop : probe_loops()) {
    SCOPED_TRACE(loop.function);
    const LoopTimes times = run_loop(library_->path(), {.loop = loop,
                                                        .pus = {read_topology().pus.back()},
                                                        .repeat = Seconds{1e-4},
                                                        .most_repeats = 3});
    EXPECT_EQ(times.call_s.size(), 3U);
    EXPECT_GT(times.best(), 0);
    EXPECT_GE(times.spread(), 0);
    EXPECT_GE(times.vector_bytes, 16);
  }
}

TEST_F(ProbeLoops, CopiesMoveTheFirstHalfToTheSecond) {
  library_->call("mem_copy", memory_);
  const std::size_t half = memory_.size() / 2;
  for (std::size_t i = 0; i < half; ++i) EXPECT_EQ(memory_[half + i], memory_[i]);
}

TEST_F(ProbeLoops, WritesReachEveryByte) {
  library_->call("mem_write", memory_);
  EXPECT_THAT(memory_, ::testing::Each(1.0F));
}

TEST_F(ProbeLoops, TranspositionsTurnRowsIntoColumns) {
  library_->call("op_transpose", memory_);
  constexpr std::size_t kSide = 32, kOutput = 4352 / sizeof(float);
  for (std::size_t i = 0; i < kSide; ++i) {
    for (std::size_t j = 0; j < kSide; ++j) {
      EXPECT_EQ(memory_[kOutput + i * kSide + j], memory_[j * kSide + i]) << i << ", " << j;
    }
  }
}

TEST_F(ProbeLoops, ProductsMultiplyMatrices) {
  std::vector<float> room(kProductBytes / sizeof(float) + 64, 1.0F);
  void* start = room.data();
  std::size_t bytes = room.size() * sizeof(float);
  ASSERT_NE(std::align(256, kProductBytes, start, bytes), nullptr);
  const std::span memory(static_cast<float*>(start), kProductBytes / sizeof(float));
  library_->call("product", memory);
  const std::span result = memory.last(kProductSide * kProductSide);
  EXPECT_THAT(result, ::testing::Each(1.0F + kProductDepth));  // 1 + the sum of 1 x 1
}

TEST_F(ProbeLoops, ReductionsSumRowsOf256) {
  library_->call("op_reduce", memory_);
  for (int row = 0; row < 4; ++row) {
    const double first = 256 * row + 1, last = first + 255;
    EXPECT_EQ(memory_[static_cast<std::size_t>(8192 / 4 + row)], 256 * (first + last) / 2);
  }
}

TEST_F(ProbeLoops, OpsComputeWhatTheyAreCalled) {
  constexpr std::size_t kStride = (4 * kOpElements + 256) / sizeof(float);
  const auto expect = [&](const std::string& op, const std::function<double(double, double)>& of) {
    for (std::size_t i = 0; i < kOpElements; ++i) {
      memory_[i] = 1 + static_cast<float>(i % 7);
      memory_[kStride + i] = 0.5F + static_cast<float>(i) / kOpElements;
    }
    library_->call("op_" + op, memory_);
    for (std::size_t i = 0; i < kOpElements; ++i) {
      const double wanted = of(memory_[kStride + i], memory_[i]);
      EXPECT_NEAR(memory_[2 * kStride + i], wanted, 1e-5 * (1 + std::abs(wanted))) << op;
    }
  };
  expect("divide", [](double a, double b) { return a / b; });
  expect("sqrt", [](double a, double) { return std::sqrt(a); });
  expect("rsqrt", [](double a, double) { return 1 / std::sqrt(a); });
  expect("exponential", [](double a, double) { return std::exp(a); });
  expect("log", [](double a, double) { return std::log(a); });
  expect("tanh", [](double a, double) { return std::tanh(a); });
  expect("logistic", [](double a, double) { return 1 / (1 + std::exp(-a)); });
  expect("power", [](double a, double b) { return std::pow(a, b); });
}

TEST(LoopTimes, CountTheBestAndHowFarTheMedianLiesAboveIt) {
  const LoopTimes times{.call_s = {3, 2, 5}};
  EXPECT_EQ(times.best(), 2);
  EXPECT_EQ(times.spread(), 0.5);
}

constexpr const char* kBroken = R"(
#include <stdlib.h>
const int vector_bytes = 16;
void mem_read(char* memory, long bytes, long calls) { abort(); }
void mem_write(char* memory, long bytes, long calls) { for (;;) __asm__ volatile(""); }
)";

std::string failure_of(const Library& library, const std::string& function, std::vector<int> pus) {
  return support::error_of(
      [&] {
        return run_loop(library.path(),
                        {.loop = find_loop(function), .pus = std::move(pus), .timeout_s = 1});
      },
      "nothing");
}

TEST(RunLoop, NamesTheLoopThatCrashesHangsOrIsMissing) {
  const Library library(kBroken);
  const std::vector<int> pus = read_topology().pus;
  EXPECT_THAT(failure_of(library, "mem_read", pus), HasSubstr("mem_read was killed by signal 6"));
  EXPECT_THAT(failure_of(library, "mem_write", pus), HasSubstr("mem_write took over 1 s"));
  EXPECT_THAT(failure_of(library, "mem_copy", pus), HasSubstr("mem_copy is not in the compiled"));
  EXPECT_THAT(failure_of(library, "mem_read", {100'000}), HasSubstr("pinned"));
}

TEST(Probe, DescribesThisMachineSoThatItReadsBack) {
  int steps = 0;
  const Probed probed = probe({.seconds = 0.2, .progress = [&](const std::string&) { ++steps; }});
  EXPECT_GT(steps, 0);
  EXPECT_EQ(probed.cores, static_cast<int>(read_topology().pus.size()));
  EXPECT_EQ(probed.rates.size(), 6U);
  EXPECT_NE(probed.model, "");
  const hwdesc::Device device = read_back(probed_yaml(probed, "here"));
  expect_rates_as_measured(probed, device);
}

}  // namespace
}  // namespace tilecast::host
