#include "analytical/collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"

namespace tilecast::analytical {
namespace {

using ir::Opcode;
using ::testing::HasSubstr;

constexpr double kHop = 1e-6;
constexpr double kLink = 50e9;
constexpr double kMemory = 1e15;  // far from binding unless a test says so
constexpr double kPayload = 64e6;

hwdesc::Device device(const std::string& topology, int links, int cores_per_chip = 1) {
  hwdesc::Device d;
  d.name = "toy";
  d.cores_per_chip = cores_per_chip;
  d.memory.resize(2);
  d.memory[0].bandwidth = BytesPerSecond{kMemory};
  hwdesc::Interconnect net;
  net.topology = topology;
  net.links = links;
  net.link_bandwidth = BytesPerSecond{kLink};
  net.latency = Seconds{kHop};
  d.interconnect = net;
  return d;
}

double seconds(Opcode op, std::int64_t devices, const hwdesc::Device& d,
               double payload = kPayload) {
  return collective_time(op, Bytes{payload}, devices, d).time.value;
}

TEST(Collective, AllReduceOnARingSendsEveryByteTwiceLessItsShare) {
  const double n = 8;
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllReduce, 8, device("ring", 2)),
                   2 * kPayload * (n - 1) / n / (2 * kLink) + 2 * (n - 1) * kHop);
}

TEST(Collective, AllReduceOnATorusUsesTheRingsOfAllDimensionsAtOnce) {
  const double n = 4 * 8;
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllReduce, 32, device("torus2d", 4)),
                   2 * kPayload * (n - 1) / n / (4 * kLink) + 2 * (3 + 7) * kHop);
  const auto cube = collective_time(Opcode::kAllReduce, Bytes{kPayload}, 64, device("torus3d", 6));
  EXPECT_DOUBLE_EQ(cube.latency_part.value, 2 * (3 + 3 + 3) * kHop);
  EXPECT_THAT(cube.algorithm, HasSubstr("torus3d 4x4x4"));
}

TEST(Collective, ARowOfATorusHasOnlyTheLinksOfOneDimension) {
  const double n = 7;  // prime: 1 x 7
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllGather, 7, device("torus2d", 4)),
                   kPayload * (n - 1) / n / (2 * kLink) + (n - 1) * kHop);
}

TEST(Collective, ASwitchNeedsLogarithmicallyManySteps) {
  const double n = 8;
  const hwdesc::Device d = device("switch", 18);
  EXPECT_DOUBLE_EQ(seconds(Opcode::kReduceScatter, 8, d),
                   kPayload * (n - 1) / n / (18 * kLink) + 3 * kHop);
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllToAll, 8, d), kPayload * (n - 1) / n / (18 * kLink) + kHop);
}

TEST(Collective, AllReduceIsAReduceScatterAndAnAllGather) {
  for (const char* topology : {"ring", "torus2d", "torus3d", "switch"}) {
    const hwdesc::Device d = device(topology, 6);
    for (const std::int64_t n : {2, 5, 16, 64}) {
      EXPECT_NEAR(seconds(Opcode::kAllReduce, n, d),
                  seconds(Opcode::kReduceScatter, n, d) + seconds(Opcode::kAllGather, n, d), 1e-12)
          << topology << " " << n;
    }
  }
}

TEST(Collective, AllToAllOnARingPaysForDistance) {
  // Each device sends V/n to each other; the shortest ways sum to floor(n^2/4) hops.
  const double n = 16;
  EXPECT_DOUBLE_EQ(collective_time(Opcode::kAllToAll, Bytes{kPayload}, 16, device("ring", 2))
                       .bandwidth_part.value,
                   kPayload / n * (n * n / 4) / (2 * kLink));
}

TEST(Collective, APermuteUsesOneLinkToTheNeighbour) {
  EXPECT_DOUBLE_EQ(seconds(Opcode::kCollectivePermute, 16, device("torus2d", 4)),
                   kPayload / kLink + kHop);
}

TEST(Collective, CoresOfAChipShareItsLinksAndItsTraffic) {
  const hwdesc::Device one = device("torus2d", 4, 1);
  const hwdesc::Device two = device("torus2d", 4, 2);
  // 32 cores are 16 chips; what both cores need crosses the links once.
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllReduce, 32, two), seconds(Opcode::kAllReduce, 16, one));
  // Each core has its own data to exchange.
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllToAll, 32, two, kPayload),
                   seconds(Opcode::kAllToAll, 16, one, 2 * kPayload));
}

TEST(Collective, AGroupOfOneOnlyCopiesItsData) {
  hwdesc::Device d = device("ring", 2);
  d.interconnect.reset();
  d.memory[0].bandwidth = BytesPerSecond{100e9};
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllReduce, 1, d), 2 * kPayload / 100e9);
  d.memory[0].full_duplex = true;
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllReduce, 1, d), kPayload / 100e9);
}

TEST(Collective, MainMemoryCanBeTheSlowerPart) {
  hwdesc::Device d = device("switch", 18);
  d.memory[0].bandwidth = BytesPerSecond{1e9};
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllReduce, 8, d), 2 * kPayload / 1e9 + 2 * 3 * kHop);
}

TEST(Collective, NamesTheMissingBlock) {
  hwdesc::Device d = device("ring", 2);
  d.interconnect.reset();
  try {
    (void)seconds(Opcode::kAllReduce, 8, d);
    FAIL() << "expected an error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("interconnect"));
  }
  EXPECT_THROW((void)seconds(Opcode::kAllReduce, 8, device("hypercube", 3)), Error);
  EXPECT_THROW((void)seconds(Opcode::kDot, 8, device("ring", 2)), Error);
}

TEST(Collective, TheGroupSizeCannotMakeItHang) {
  EXPECT_TRUE(std::isfinite(seconds(Opcode::kAllReduce, INT64_MAX, device("torus3d", 6))));
}

class RandomCollective {
 public:
  explicit RandomCollective(std::mt19937& random) {
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(random);
    };
    constexpr Opcode kOps[] = {Opcode::kAllReduce,         Opcode::kAllGather,
                               Opcode::kReduceScatter,     Opcode::kAllToAll,
                               Opcode::kCollectivePermute, Opcode::kCollectiveBroadcast,
                               Opcode::kRaggedAllToAll,    Opcode::kSend};
    const std::string topologies[] = {"ring", "torus2d", "torus3d", "switch"};
    op = kOps[pick(0, 7)];
    machine = device(topologies[pick(0, 3)], pick(1, 18), pick(1, 2));
    machine.interconnect->latency = Seconds{pick(0, 50) * 1e-7};
    machine.interconnect->link_bandwidth = BytesPerSecond{pick(1, 1000) * 1e8};
    machine.memory[0].bandwidth = BytesPerSecond{pick(1, 4000) * 1e9};
    devices = pick(1, 600);
    payload = std::pow(10.0, pick(0, 9)) * pick(1, 9);
  }
  [[nodiscard]] CollectiveTime time() const {
    return collective_time(op, Bytes{payload}, devices, machine);
  }
  Opcode op = Opcode::kAllReduce;
  hwdesc::Device machine;
  std::int64_t devices = 1;
  double payload = 0;
};

TEST(Collective, MoreBandwidthIsNeverSlowerAndMoreBytesOrLatencyNeverFaster) {
  std::mt19937 random(7);
  for (int i = 0; i < 1000; ++i) {
    const RandomCollective base(random);
    const double t = base.time().time.value;
    ASSERT_TRUE(std::isfinite(t));
    ASSERT_GT(t, 0);
    RandomCollective changed = base;
    changed.machine.interconnect->link_bandwidth.value *= 1.7;
    EXPECT_LE(changed.time().time.value, t);
    changed = base;
    changed.machine.memory[0].bandwidth.value *= 1.7;
    EXPECT_LE(changed.time().time.value, t);
    changed = base;
    changed.payload *= 1.3;
    EXPECT_GE(changed.time().time.value, t);
    changed = base;
    changed.machine.interconnect->latency.value =
        base.machine.interconnect->latency.value * 2 + 1e-9;
    EXPECT_GE(changed.time().time.value, t);
  }
}

TEST(Collective, IsNeverFasterThanItsLowerBound) {
  std::mt19937 random(11);
  for (int i = 0; i < 1000; ++i) {
    const RandomCollective c(random);
    EXPECT_LE(collective_lower_bound(c.op, Bytes{c.payload}, c.devices, c.machine).value,
              c.time().bandwidth_part.value * (1 + 1e-12));
  }
}

TEST(Collective, AKernelsPayloadIsItsResultWhereItGathers) {
  ir::KernelBuilder b("gather", Opcode::kAllGather);
  const ir::OpId x = b.parameter(ir::Shape::array(ir::DType::kF32, {4, 10}));
  ir::Op op;
  op.opcode = Opcode::kAllGather;
  op.shape = ir::Shape::array(ir::DType::kF32, {32, 10});
  op.operands = {x};
  const ir::OpId root = b.add(op);
  b.set_group_size(8);
  const ir::Kernel kernel = b.build({root});
  EXPECT_EQ(collective_payload(kernel, PayloadSize::kUnpadded).value, 32 * 10 * 4);
  const hwdesc::Device d = device("ring", 2);
  EXPECT_EQ(collective_time(kernel, d).time.value, seconds(Opcode::kAllGather, 8, d, 32 * 10 * 4));
}

}  // namespace
}  // namespace tilecast::analytical
