#include "analytical/collective.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "tests/analytical/test_kernels.h"
#include "tests/support/errors.h"
#include "tests/support/texts.h"

namespace tilecast::analytical {
namespace {

using ir::Opcode;
using ::testing::HasSubstr;

constexpr double kHop = 1e-6;
constexpr double kLink = 50e9;
constexpr double kMemory = 1e15;  // not a bound unless a test sets it
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

// Four chips of a torus that only wraps around from four chips per dimension: 2 x 2 lines.
TEST(Collective, ASliceThatDoesNotWrapUsesOneLinkOfEachDimensionAtOnce) {
  hwdesc::Device d = device("torus3d", 6);
  d.interconnect->wraps_from = 4;
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllGather, 4, d), kPayload * 3 / 4 / (2 * kLink) + 2 * kHop);
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllReduce, 4, d),
                   2 * (kPayload * 3 / 4 / (2 * kLink) + 2 * kHop));
  // One dimension after the other, each with half of the data in each direction.
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllToAll, 4, d), 2 * (kPayload / 2 / kLink) + kHop);
  // 2 x 4 x 4 is half a cube of 4 x 4 x 4, so nothing joins its faces.
  EXPECT_DOUBLE_EQ(
      collective_time(Opcode::kReduceScatter, Bytes{kPayload}, 32, d).bandwidth_part.value,
      kPayload * 31 / 32 / (3 * kLink));
}

TEST(Collective, DimensionsTogetherSustainAShareOfTheirSumAndEachStartsOnce) {
  hwdesc::Device d = device("torus2d", 4);
  d.interconnect->axes_efficiency = 0.7;
  d.interconnect->start = Seconds{5e-6};
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllReduce, 32, d),
                   2 * kPayload * 31 / 32 / (0.7 * 4 * kLink) + 2 * (3 + 7) * kHop + 4 * 5e-6);
  d.interconnect->axes_efficiency = 0.3;  // then one of them alone is faster
  EXPECT_DOUBLE_EQ(collective_time(Opcode::kAllGather, Bytes{kPayload}, 32, d).bandwidth_part.value,
                   kPayload * 31 / 32 / (2 * kLink));
}

TEST(Collective, SmallSumsGoFromEveryChipToAllOthers) {
  hwdesc::Device d = device("ring", 2);
  d.interconnect->start = Seconds{5e-6};
  const double n = 8, payload = 1000;
  // The longest way is half of the ring; each chip sends all of its data n - 1 times.
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllReduce, 8, d, payload),
                   n * payload * (n / 4) / (2 * kLink) + n / 2 * kHop + 5e-6);
}

TEST(Collective, InAMeshAPairHasOneLink) {
  const hwdesc::Device d = device("mesh", 7);
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllGather, 2, d), kPayload / 2 / kLink + kHop);
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllGather, 8, d), kPayload * 7 / 8 / (7 * kLink) + 3 * kHop);
}

// The library's constants: LL 1 us a step, LL128 2 us at 0.9, simple 4 us after 1 MB.
hwdesc::Device with_library() {
  hwdesc::Device d = device("switch", 18);
  hwdesc::CollectiveLibrary library;
  library.start = Seconds{5e-6};
  library.ll_step = Seconds{1e-6};
  library.ll128_step = Seconds{2e-6};
  library.simple_step = Seconds{4e-6};
  library.ll128_share = 0.9;
  library.buffer = Bytes{1e6};
  d.interconnect->library = library;
  return d;
}

TEST(Collective, ALibraryTakesTheFastestOfItsProtocols) {
  const hwdesc::Device d = with_library();
  const double n = 8, rate = 18 * kLink;
  const auto own = [&](double bytes) { return 2 * bytes / n / kMemory; };
  const auto ring = [&](double bytes, double step, double share) {
    return 5e-6 + 2 * (n - 1) * step + 2 * bytes * (n - 1) / n / (share * rate) + own(bytes);
  };
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllReduce, 8, d, 4096), ring(4096, 1e-6, 0.5));
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllReduce, 8, d, 30e6), ring(30e6, 2e-6, 0.9));
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllReduce, 8, d, 1e9), ring(1e9, 4e-6, 1) + 1e6 / rate);
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllGather, 8, d, 4096),
                   5e-6 + (n - 1) * 1e-6 + 4096 * (n - 1) / n / (0.5 * rate) + own(4096));
}

TEST(Collective, ASwitchThatAddsMovesTheDataOnceEachWay) {
  hwdesc::Device d = with_library();
  d.interconnect->library->multicast = 0.8;
  d.interconnect->library->multicast_start = Seconds{16e-6};
  const double n = 8, bytes = 1e9;
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllReduce, 8, d, bytes),
                   5e-6 + 16e-6 + (bytes * (1 + 1 / n) + 1e6) / (0.8 * 18 * kLink));
  // Two GPUs have nothing to add in the switch.
  d.interconnect->library->multicast_start = Seconds{0};
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllReduce, 2, d, 1024),
                   5e-6 + 2e-6 + 1024 / (0.5 * 18 * kLink) + 1024 / kMemory);
}

TEST(Collective, AnAllReduceInOneKernelReadsItsPeersAtOnceOrInTwoStages) {
  hwdesc::Device d = with_library();
  hwdesc::CollectiveLibrary& library = *d.interconnect->library;
  const double nccl = seconds(Opcode::kAllReduce, 8, d, 4096);
  library.direct_start = Seconds{2e-6};
  library.direct_peer = Seconds{0.5e-6};
  library.direct_stage = Seconds{3e-6};
  library.direct_share = 0.5;
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllReduce, 8, d, 4096), nccl);  // nobody asked for it
  library.direct_up_to = Bytes{1e6};
  const double n = 8, rate = 0.5 * 18 * kLink, start = 2e-6 + 0.5e-6 * (n - 1);
  const auto time = [&](double bytes) { return seconds(Opcode::kAllReduce, 8, d, bytes); };
  EXPECT_NEAR(time(4096), start + 4096 * (n - 1) / rate, 1e-12);
  EXPECT_NEAR(time(1e6), start + 3e-6 + 2 * 1e6 * (n - 1) / n / rate, 1e-12);
  EXPECT_GT(time(1.01e6), time(1e6) * 1.5);  // the library again
  EXPECT_GT(seconds(Opcode::kAllGather, 8, d, 4096), nccl / 2);
  library.group_share = {{"8", 1}};  // over a host's bridges: groups of two only
  EXPECT_DOUBLE_EQ(time(4096), nccl);
}

TEST(Collective, GroupsThatShareAHostsBridgesHaveAShareOfTheRate) {
  hwdesc::Device d = with_library();
  d.interconnect->library->group_share = {{"2", 1}, {"4", 0.25}, {"16", 0.01}};
  const auto rate = [&](std::int64_t n) {
    const auto c = static_cast<double>(n);
    const double part = collective_time(Opcode::kAllGather, Bytes{1e9}, n, d).bandwidth_part.value;
    return (1e9 * (c - 1) / c + 1e6) / (part - 2e9 / c / kMemory);
  };
  EXPECT_NEAR(rate(2) / (18 * kLink), 1, 1e-9);
  EXPECT_NEAR(rate(3) / (18 * kLink), 0.25, 1e-9);
  EXPECT_NEAR(rate(8) / (18 * kLink), 0.01, 1e-9);
  EXPECT_NEAR(rate(32) / (18 * kLink), 0.01, 1e-9);
}

TEST(Collective, ARingOfTwoHasOneLink) {
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllGather, 2, device("ring", 2)), kPayload / 2 / kLink + kHop);
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllGather, 3, device("ring", 2)),
                   kPayload * 2 / 3 / (2 * kLink) + kHop);  // both others are neighbours
}

TEST(Collective, AStepReadsMainMemoryBeforeItsHopAndWritesItAfter) {
  hwdesc::Device d = device("ring", 2);
  d.memory[0].latency = Seconds{0.4e-6};
  EXPECT_DOUBLE_EQ(collective_time(Opcode::kAllReduce, Bytes{kPayload}, 8, d).latency_part.value,
                   2 * 7 * (kHop + 2 * 0.4e-6));
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
    for (const std::int64_t n : {5, 16, 64}) {
      EXPECT_NEAR(seconds(Opcode::kAllReduce, n, d),
                  seconds(Opcode::kReduceScatter, n, d) + seconds(Opcode::kAllGather, n, d), 1e-12)
          << topology << " " << n;
    }
  }
}

TEST(Collective, TwoChipsOfARingReduceInOneExchange) {
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllReduce, 2, device("ring", 2)), kPayload / kLink + kHop);
}

TEST(Collective, AllToAllOnARingPaysForDistance) {
  // Each device sends V/n to every other; the shortest paths have floor(n^2/4) hops in total.
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
  // 32 cores are 16 chips; the data of both cores is combined first and crosses the links once.
  const double first = kPayload / kMemory;
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllReduce, 32, two),
                   first + seconds(Opcode::kAllReduce, 16, one));
  // Each core exchanges its own data.
  EXPECT_DOUBLE_EQ(seconds(Opcode::kAllToAll, 32, two, kPayload),
                   first + seconds(Opcode::kAllToAll, 16, one, 2 * kPayload));
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
  EXPECT_THAT(support::error_of([&] { return seconds(Opcode::kAllReduce, 8, d); }),
              HasSubstr("interconnect"));
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

// As in TPU dumps: a fusion of an all-reduce and the slice that this device keeps.
TEST(Collective, AFusionOfAnAllReduceAndItsSliceIsAReduceScatterOfItsGroup) {
  const ir::Kernel kernel = testing::kernel_of(
      "HloModule m, num_partitions=4, is_scheduled=true\n"
      "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n"
      "scattered { x = f32[4096,512] parameter(0)\n at = s32[] parameter(1)\n"
      " zero = s32[] constant(0)\n sum = f32[4096,512] all-reduce(x), channel_id=1,"
      " replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add\n"
      " ROOT part = f32[1024,512] dynamic-slice(sum, at, zero), dynamic_slice_sizes={1024,512} }\n"
      "ENTRY main { x = f32[4096,512] parameter(0)\n at = s32[] parameter(1)\n"
      " ROOT part = f32[1024,512] fusion(x, at), kind=kCustom, calls=scattered }\n");
  EXPECT_EQ(kernel.group_size(), 4);
  const hwdesc::Device d = device("torus2d", 4);
  EXPECT_DOUBLE_EQ(collective_time(kernel, d).time.value,
                   seconds(Opcode::kReduceScatter, 4, d,
                           collective_payload(kernel, PayloadSize::kPadded).value));
  EXPECT_EQ(crossing_opcode(kernel), Opcode::kReduceScatter);
}

// A gather in a fusion that also uses a flag of this type.
ir::Kernel gathering(const std::string& flag) {
  std::string text =
      "HloModule m, num_partitions=4, is_scheduled=true\n"
      "beside { x = PART parameter(0)\n flag = FLAG parameter(1)\n"
      " all = WHOLE all-gather(x), channel_id=1, replica_groups={{0,1,2,3}},"
      " use_global_device_ids=true, dimensions={0}\n"
      " next = FLAG add(flag, flag)\n ROOT r = (WHOLE, FLAG) tuple(all, next) }\n"
      "ENTRY main { x = PART parameter(0)\n flag = FLAG parameter(1)\n"
      " ROOT r = (WHOLE, FLAG) fusion(x, flag), kind=kCustom, calls=beside }\n";
  for (const auto& [word, type] : {std::pair<std::string, std::string>("FLAG", flag),
                                   {"PART", "f32[1024,512]{1,0:T(8,128)}"},
                                   {"WHOLE", "f32[4096,512]{1,0:T(8,128)}"}}) {
    text = support::replaced_all(text, word, type);
  }
  return testing::kernel_of(text);
}

TEST(Collective, AKernelGivenTheFlagsOfARunningCollectiveSeesOnlyItsLastHop) {
  hwdesc::Device d = device("torus2d", 4);
  d.memory[0].latency = Seconds{0.4e-6};
  const CollectiveTime end = collective_time(gathering("u32[]{:T(1)S(2)}"), d);
  EXPECT_DOUBLE_EQ(end.time.value, kHop + 2 * 0.4e-6);
  EXPECT_GT(collective_time(gathering("u32[]"), d).time, 2 * end.time);
}

TEST(Collective, BesideAProductItIsNotTheKernelsTime) {
  EXPECT_EQ(
      collective_op(testing::kernel_of(
          "HloModule m, num_partitions=4, is_scheduled=true\n"
          "beside { x = f32[512,512] parameter(0)\n"
          " all = f32[2048,512] all-gather(x), channel_id=1, replica_groups={{0,1,2,3}},"
          " use_global_device_ids=true, dimensions={0}\n"
          " p = f32[512,512] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
          " ROOT r = (f32[2048,512], f32[512,512]) tuple(all, p) }\n"
          "ENTRY main { x = f32[512,512] parameter(0)\n"
          " ROOT r = (f32[2048,512], f32[512,512]) fusion(x), kind=kCustom, calls=beside }\n")),
      nullptr);
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
