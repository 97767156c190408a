// Collectives on described slices: formulas for known cases, properties on random meshes, and rings
// simulated message by message.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "analytical/collective.h"
#include "tests/analytical/test_kernels.h"
#include "tests/support/errors.h"

namespace tilecast::analytical {
namespace {

using ir::Opcode;
using ::testing::HasSubstr;
using Groups = std::vector<std::vector<std::int64_t>>;

constexpr double kHop = 1e-6, kLink = 50e9, kPayload = 64e6;
constexpr double kNetwork = 10e9, kFar = 20e-6;  // per chip
constexpr Opcode kGathers[] = {Opcode::kAllReduce, Opcode::kAllGather, Opcode::kReduceScatter};

hwdesc::Device machine(const std::string& topology, const std::string& shape,
                       const std::string& wraps = "", int slices = 1) {
  hwdesc::Device d;
  d.name = "toy";
  d.memory.resize(2);
  d.memory[0].bandwidth = BytesPerSecond{1e15};
  const int dimensions = topology == "torus3d" ? 3 : topology == "torus2d" ? 2 : 1;
  d.interconnect = hwdesc::Interconnect{.links = 2 * dimensions,
                                        .link_bandwidth = BytesPerSecond{kLink},
                                        .latency = Seconds{kHop},
                                        .topology = topology};
  d.interconnect->slice = hwdesc::Slice{.shape = shape, .wraps = wraps, .count = slices};
  if (slices > 1) {
    d.interconnect->slice->network_bandwidth = BytesPerSecond{kNetwork};
    d.interconnect->slice->network_latency = Seconds{kFar};
  }
  return d;
}

// A kernel with one collective over these devices, with `payload` bytes on the larger side.
ir::Kernel crossing(Opcode opcode, const ir::DeviceGroups& devices, std::int64_t payload) {
  ir::KernelBuilder b("crossing", opcode);
  const auto bytes = [](std::int64_t n) { return ir::Shape::array(ir::DType::kU8, {n}); };
  const ir::OpId x = b.parameter(bytes(payload));
  const ir::OpId root = b.add(
      {.opcode = opcode, .shape = bytes(payload), .operands = {x}, .attrs = ir::CollectiveAttrs{}});
  std::size_t largest = devices.pairs.empty() ? 1 : 2;
  for (const auto& group : devices.groups) largest = std::max(largest, group.size());
  b.set_group_size(static_cast<std::int64_t>(largest));
  b.set_device_groups(devices);
  return b.build({root});
}

CollectiveTime time_of(Opcode opcode, const Groups& groups, const hwdesc::Device& d,
                       double payload = kPayload) {
  return collective_time(crossing(opcode, {groups, {}}, static_cast<std::int64_t>(payload)), d);
}

std::vector<std::int64_t> evenly(std::int64_t first, std::int64_t count, std::int64_t step) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back(first + i * step);
  return ids;
}

TEST(Slice, ARowThatWrapsIsARing) {
  const hwdesc::Device d = machine("torus2d", "4x8", "ring ring");
  const double n = 8;  // chips 8 to 15: the second row
  EXPECT_DOUBLE_EQ(time_of(Opcode::kAllReduce, {evenly(8, 8, 1)}, d).time.value,
                   2 * kPayload * (n - 1) / n / (2 * kLink) + 2 * (n - 1) * kHop);
}

TEST(Slice, AColumnThatDoesNotWrapIsALine) {
  const hwdesc::Device d = machine("torus2d", "4x8", "line ring");
  const double n = 4;  // chips 3, 11, 19, 27
  const CollectiveTime time = time_of(Opcode::kAllGather, {evenly(3, 4, 8)}, d);
  EXPECT_DOUBLE_EQ(time.time.value, kPayload * (n - 1) / n / kLink + (n - 1) * kHop);
  EXPECT_EQ(time.algorithm, "all-gather on torus2d 4x1 of 4x8");
}

TEST(Slice, AGroupOverTheWholeMeshUsesAllItsRingsAtOnce) {
  const double n = 32;
  const CollectiveTime time =
      time_of(Opcode::kAllReduce, {evenly(0, 32, 1)}, machine("torus2d", "4x8", "ring ring"));
  EXPECT_DOUBLE_EQ(time.time.value, 2 * kPayload * (n - 1) / n / (4 * kLink) + 2 * (3 + 7) * kHop);
  EXPECT_EQ(time.algorithm, "all-reduce on torus2d 4x8");
}

TEST(Slice, PartOfARingIsALine) {
  const hwdesc::Device d = machine("ring", "16");
  EXPECT_DOUBLE_EQ(time_of(Opcode::kAllGather, {evenly(0, 4, 1)}, d).time.value,
                   kPayload * 3 / 4 / kLink + 3 * kHop);
}

TEST(Slice, GroupsThatInterleaveShareTheirLinks) {
  const hwdesc::Device d = machine("ring", "16");
  const CollectiveTime time = time_of(Opcode::kAllGather, {evenly(1, 4, 4)}, d);
  EXPECT_DOUBLE_EQ(time.time.value, kPayload * 3 / 4 / (2 * kLink / 4) + 3 * 4 * kHop);
  EXPECT_THAT(time.algorithm, HasSubstr("4 groups on the same links"));
}

TEST(Slice, OtherGroupsAreARingInTheOrderOfTheirIdsAndSaySo) {
  // Chips 0, 1, 5 of a line of 8: 0 to 1 is one hop, 1 to 5 four, and back five; no directed link
  // is used twice.
  const hwdesc::Device d = machine("ring", "8", "line");
  const CollectiveTime time = time_of(Opcode::kAllReduce, {{0, 1, 5}}, d);
  EXPECT_DOUBLE_EQ(time.time.value, 2 * kPayload * 2 / 3 / kLink + 2 * 2 * 5 * kHop);
  EXPECT_THAT(time.algorithm, HasSubstr("no rectangle"));
  // Together with chips 2, 3, 7 the links from 2 to 5 carry two messages upwards.
  EXPECT_DOUBLE_EQ(time_of(Opcode::kAllReduce, {{0, 1, 5}, {2, 3, 7}}, d).bandwidth_part.value,
                   2 * kPayload * 2 / 3 / (kLink / 2));
}

TEST(Slice, TheSlowestGroupCounts) {
  const hwdesc::Device d = machine("torus2d", "4x8", "line ring");
  const CollectiveTime column = time_of(Opcode::kAllReduce, {evenly(0, 4, 8)}, d);
  const CollectiveTime row = time_of(Opcode::kAllReduce, {evenly(8, 8, 1)}, d);
  const CollectiveTime both = time_of(Opcode::kAllReduce, {evenly(8, 8, 1), evenly(0, 4, 8)}, d);
  EXPECT_EQ(both.time, std::max(row.time, column.time));
}

TEST(Slice, AcrossSlicesOnlyAChipsShareCrossesTheNetwork) {
  const hwdesc::Device d = machine("torus2d", "4x4", "ring ring", 2);
  const double c = 16, s = 2;
  const double inside = kPayload * (c - 1) / c / (4 * kLink);
  const double across = kPayload / c * (s - 1) / s / kNetwork;
  EXPECT_DOUBLE_EQ(time_of(Opcode::kAllReduce, {evenly(0, 32, 1)}, d).time.value,
                   2 * (inside + across) + 2 * 6 * kHop + 2 * kFar);
  EXPECT_NEAR(time_of(Opcode::kReduceScatter, {evenly(0, 32, 1)}, d).time.value,
              inside + across + 6 * kHop + kFar, 1e-12);
  // One chip per slice: only over the network.
  EXPECT_NEAR(time_of(Opcode::kAllReduce, {{3, 19}}, d).time.value,
              2 * (kPayload / 2 / kNetwork + kFar), 1e-12);
}

TEST(Slice, ChipsOfAHostShareItsNetwork) {
  hwdesc::Device d = machine("torus2d", "4x4", "ring ring", 2);
  d.interconnect->devices_per_host = 8;
  EXPECT_NEAR(time_of(Opcode::kAllReduce, {{3, 19}}, d).bandwidth_part.value,
              2 * kPayload / 2 / (kNetwork / 8), 1e-12);
}

TEST(Slice, AnAllToAllOnATorusIsHeldByTheBisectionOfOneDimensionAfterAnother) {
  const double n = 8 * 8;
  const hwdesc::Device d = machine("torus2d", "8x8", "ring ring");
  // Half of the chips send half of their data to the others, over two cuts of 8 links each.
  const double bisection = n / 2 * (kPayload / 2) / (2 * 8 * kLink);
  EXPECT_DOUBLE_EQ(time_of(Opcode::kAllToAll, {evenly(0, 64, 1)}, d).bandwidth_part.value,
                   2 * bisection);
}

TEST(Slice, APermuteTakesItsWaysOverTheMesh) {
  const hwdesc::Device d = machine("torus2d", "4x4", "line line");
  const auto permute = [&](const std::vector<std::pair<std::int64_t, std::int64_t>>& pairs) {
    return collective_time(crossing(Opcode::kCollectivePermute, {{}, pairs}, 64000000), d)
        .time.value;
  };
  EXPECT_DOUBLE_EQ(permute({{0, 1}, {1, 2}}), kPayload / kLink + kHop);
  EXPECT_DOUBLE_EQ(permute({{0, 15}}), kPayload / kLink + 6 * kHop);
  EXPECT_DOUBLE_EQ(permute({{0, 2}, {1, 3}}), 2 * kPayload / kLink + 2 * kHop);  // both use 1 to 2
}

TEST(Slice, RefusesDevicesThatItDoesNotHave) {
  EXPECT_THAT(support::error_of([&] {
                return time_of(Opcode::kAllReduce, {evenly(0, 17, 1)}, machine("torus2d", "4x4"));
              }),
              HasSubstr("interconnect.slice.shape"));
}

// ---- properties of every slice ------------------------------------------------------------------

class RandomSlice {
 public:
  explicit RandomSlice(std::mt19937& random) : random_(random) {
    dims.resize(static_cast<std::size_t>(pick(1, 3)));
    for (auto& side : dims) side = pick(1, 6);
    for (std::size_t i = 0; i < dims.size(); ++i) wraps.push_back(pick(0, 1) == 1);
    slices = pick(1, 3);
    cores = pick(1, 2);
  }
  [[nodiscard]] std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  [[nodiscard]] hwdesc::Device device(const std::vector<std::size_t>& order) const {
    std::string shape, words;
    for (const std::size_t i : order) {
      shape += (shape.empty() ? "" : "x") + std::to_string(dims[i]);
      words += std::string(words.empty() ? "" : " ") + (wraps[i] ? "ring" : "line");
    }
    constexpr const char* kTopologies[] = {"ring", "torus2d", "torus3d"};
    hwdesc::Device d = machine(kTopologies[dims.size() - 1], shape, words, slices);
    d.cores_per_chip = cores;
    return d;
  }
  [[nodiscard]] hwdesc::Device device() const {
    std::vector<std::size_t> order(dims.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    return device(order);
  }
  [[nodiscard]] std::int64_t devices() const {
    std::int64_t n = slices * cores;
    for (const std::int64_t side : dims) n *= side;
    return n;
  }
  // Equally large groups of all devices, in order or shuffled.
  [[nodiscard]] Groups groups() {
    std::vector<std::int64_t> ids = evenly(0, devices(), 1);
    if (pick(0, 1) == 1) std::shuffle(ids.begin(), ids.end(), random_);
    std::int64_t size = pick(1, devices());
    while (devices() % size != 0) --size;
    const bool strided = pick(0, 1) == 1;
    Groups out(static_cast<std::size_t>(devices() / size));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      out[strided ? i % out.size() : i / static_cast<std::size_t>(size)].push_back(ids[i]);
    }
    return out;
  }
  std::vector<std::int64_t> dims;
  std::vector<bool> wraps;
  int slices = 1, cores = 1;

 private:
  std::mt19937& random_;
};

constexpr Opcode kAll[] = {Opcode::kAllReduce, Opcode::kAllGather, Opcode::kReduceScatter,
                           Opcode::kAllToAll, Opcode::kCollectiveBroadcast};

TEST(SliceProperty, IsNeverFasterThanItsLowerBoundAndMoreBytesAreNeverFaster) {
  std::mt19937 random(31);
  for (int i = 0; i < 3000; ++i) {
    RandomSlice slice(random);
    const hwdesc::Device d = slice.device();
    const Groups groups = slice.groups();
    const Opcode opcode = kAll[slice.pick(0, 4)];
    const ir::Kernel kernel = crossing(opcode, {groups, {}}, 1 << 20);
    const CollectiveTime time = collective_time(kernel, d);
    ASSERT_TRUE(std::isfinite(time.time.value));
    ASSERT_GE(time.bandwidth_part.value * (1 + 1e-12),
              collective_lower_bound(kernel, PayloadSize::kPadded, d).value)
        << ir::name(opcode) << " " << time.algorithm;
    const ir::Kernel larger = crossing(opcode, {groups, {}}, 3 << 20);
    ASSERT_GT(collective_time(larger, d).time, time.time) << time.algorithm;
  }
}

TEST(SliceProperty, OfTheWholeMeshTheOrderOfItsDimensionsDoesNotMatter) {
  std::mt19937 random(32);
  for (int i = 0; i < 1000; ++i) {
    RandomSlice slice(random);
    std::vector<std::size_t> order(slice.dims.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    const Groups all = {evenly(0, slice.devices(), 1)};
    const Opcode opcode = kAll[slice.pick(0, 4)];
    ASSERT_NEAR(time_of(opcode, all, slice.device(order)).time.value /
                    time_of(opcode, all, slice.device()).time.value,
                1, 1e-12);
  }
}

TEST(SliceProperty, OfTheShapeThatIsTakenWithoutOneTimesAreTheSameToTheLastBit) {
  std::mt19937 random(33);
  for (int i = 0; i < 2000; ++i) {
    RandomSlice pick(random);
    const auto side = pick.pick(1, 6);  // squares and cubes: as equal as possible
    const bool cube = pick.pick(0, 1) == 1;
    std::string shape = std::to_string(side) + "x" + std::to_string(side);
    if (cube) shape += "x" + std::to_string(side);
    hwdesc::Device described = machine(cube ? "torus3d" : "torus2d", shape);
    described.cores_per_chip = pick.cores;
    described.interconnect->wraps_from = static_cast<int>(pick.pick(3, 6));
    hwdesc::Device plain = described;
    plain.interconnect->slice.reset();
    const std::int64_t n = side * side * (cube ? side : 1) * pick.cores;
    const Opcode opcode = kAll[pick.pick(0, 4)];
    const ir::Kernel kernel = crossing(opcode, {{evenly(0, n, 1)}, {}}, 1 << 20);
    const CollectiveTime a = collective_time(kernel, described), b = collective_time(kernel, plain);
    ASSERT_EQ(a.time, b.time) << a.algorithm << " against " << b.algorithm;
    ASSERT_EQ(a.algorithm, b.algorithm);
    ASSERT_EQ(collective_lower_bound(kernel, PayloadSize::kPadded, described),
              collective_lower_bound(kernel, PayloadSize::kPadded, plain));
  }
}

// ---- rings, message by message -----------------------------------------------------------------

// A ring algorithm on n chips: in each step every chip forwards a part of `bytes` to its neighbour;
// a step ends with its last message. With two `ways`, both directions work concurrently on halves.
double simulated_ring(std::int64_t n, double bytes, double link, std::int64_t steps, int ways,
                      std::int64_t stride) {
  const double part = bytes / static_cast<double>(n) / ways;
  double time = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    // Bytes on each directed link of the physical ring of n x stride chips, for all `stride`
    // groups.
    std::map<std::pair<std::int64_t, int>, double> carried;
    const std::int64_t chips = n * stride;
    for (std::int64_t from = 0; from < chips; ++from) {
      for (int way = 0; way < ways; ++way) {
        for (std::int64_t hop = 0; hop < stride; ++hop) {
          carried[{(from + (way == 0 ? hop : chips - hop)) % chips, way}] += part;
        }
      }
    }
    double busiest = 0;
    for (const auto& [_, sum] : carried) busiest = std::max(busiest, sum);
    time += busiest / link + static_cast<double>(stride) * kHop;
  }
  return time;
}

// Every chip of the ring sends a part of `bytes` to each other chip on the shorter way, half of it
// on either if they are equally long; as long as the busiest link, and the longest way's hops.
double sent_to_all(std::int64_t n, double bytes, std::int64_t stride) {
  double hops = 0;
  for (std::int64_t to = 1; to < n; ++to) hops += static_cast<double>(std::min(to, n - to));
  const double on_each_link = bytes / static_cast<double>(n) * hops / 2;  // of two directions
  return on_each_link * static_cast<double>(stride) / kLink +
         static_cast<double>(n / 2 * stride) * kHop;
}

TEST(SliceOracle, RingsTakeAsLongAsTheirMessagesMovedOneByOne) {
  std::mt19937 random(34);
  for (int i = 0; i < 1000; ++i) {
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    const std::int64_t n = pick(3, 12), stride = pick(1, 4);
    const Opcode opcode = kGathers[pick(0, 2)];
    const std::int64_t steps = (opcode == Opcode::kAllReduce ? 2 : 1) * (n - 1);
    const double bytes = std::pow(10.0, static_cast<double>(pick(3, 9)));
    Groups groups;
    for (std::int64_t g = 0; g < stride; ++g) groups.push_back(evenly(g, n, stride));
    const hwdesc::Device d = machine("ring", std::to_string(n * stride), "ring");
    const double in_turn = simulated_ring(n, bytes, kLink, steps, 2, stride);
    const double at_once = sent_to_all(
        n, opcode == Opcode::kAllReduce ? bytes * static_cast<double>(n) : bytes, stride);
    ASSERT_NEAR(time_of(opcode, groups, d, bytes).time.value / std::min(in_turn, at_once), 1, 1e-9)
        << n << " chips, every " << stride;
  }
}

// A torus of equal rings: each of its k dimensions starts a part of the data in a different phase,
// so that in every phase all dimensions are busy with the remaining data.
TEST(SliceOracle, SquareToriTakeAsLongAsTheirPhases) {
  for (const std::int64_t d : {3, 4, 5, 8}) {
    for (const int k : {1, 2, 3}) {
      double time = 0, held = kPayload / k / std::pow(static_cast<double>(d), k);
      for (int phase = 0; phase < k; ++phase) {  // an all-gather: pieces grow by d in each phase
        time += simulated_ring(d, held * static_cast<double>(d), kLink, d - 1, 2, 1);
        held *= static_cast<double>(d);
      }
      if (k == 1) time = std::min(time, sent_to_all(d, kPayload, 1));
      std::string shape, wraps;
      std::int64_t n = 1;
      for (int i = 0; i < k; ++i) {
        shape += (i == 0 ? "" : "x") + std::to_string(d);
        wraps += i == 0 ? "ring" : " ring";
        n *= d;
      }
      constexpr const char* kTopologies[] = {"ring", "torus2d", "torus3d"};
      const hwdesc::Device device = machine(kTopologies[k - 1], shape, wraps);
      EXPECT_NEAR(time_of(Opcode::kAllGather, {evenly(0, n, 1)}, device).time.value / time, 1, 1e-9)
          << shape;
    }
  }
}

}  // namespace
}  // namespace tilecast::analytical
