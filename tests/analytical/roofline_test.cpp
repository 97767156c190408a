#include "analytical/roofline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "analytical/analytical_model.h"
#include "analytical/layout_rules.h"
#include "analytical/transfer.h"
#include "hwdesc/device.h"
#include "hwdesc/device_yaml.h"
#include "ir/load_program.h"
#include "ir/text/hlo_parser.h"

namespace tilecast::analytical {
namespace {

using ir::DType;
using ir::Opcode;
using ir::OpId;
using ir::Shape;

constexpr double kBandwidth = 500e9;

hwdesc::Device device() {
  hwdesc::Device d;
  d.name = "toy";
  d.clock = Hertz{1e9};
  d.memory.resize(2);
  d.memory[0].name = "hbm";
  d.memory[0].bandwidth = BytesPerSecond{kBandwidth};
  d.memory[0].efficiency = 0.5;  // roofs ignore efficiency
  d.memory[1].name = "vmem";
  d.memory[1].bandwidth = BytesPerSecond{1e13};
  d.memory[1].memory_space = 1;
  d.matrix.count = 2;
  d.matrix.rows = d.matrix.columns = 128;
  d.matrix.passes = {{"bf16", 1}, {"f32", 1}};
  d.vector.lanes = 128;
  d.vector.sublanes = 8;
  d.vector.alus = 2;
  return d;
}

OpId add(ir::KernelBuilder& b, Opcode opcode, Shape shape, std::vector<OpId> operands,
         ir::OpAttrs attrs = {}, ir::Dims dimensions = {}) {
  ir::Op op;
  op.opcode = opcode;
  op.shape = std::move(shape);
  op.operands = std::move(operands);
  op.attrs = std::move(attrs);
  op.dimensions = std::move(dimensions);
  return b.add(std::move(op));
}

Shape f32(ir::Dims dims) {
  return Shape::array(DType::kF32, std::move(dims));
}

Shape on_chip(Shape shape) {
  shape.layout = ir::default_layout(shape.rank());
  shape.layout.edit().memory_space = 1;
  return shape;
}

TEST(SpeedOfLight, OfAnAdditionIsItsBytesOverTheBandwidth) {
  ir::KernelBuilder b("add", Opcode::kAdd);
  const OpId x = b.parameter(f32({1000, 1000}));
  const OpId y = b.parameter(f32({1000, 1000}));
  const ir::Kernel k = b.build({add(b, Opcode::kAdd, f32({1000, 1000}), {x, y})});
  EXPECT_DOUBLE_EQ(speed_of_light(k, device()).value, 3 * 4e6 / kBandwidth);
  hwdesc::Device duplex = device();
  duplex.memory[0].full_duplex = true;
  EXPECT_DOUBLE_EQ(speed_of_light(k, duplex).value, 2 * 4e6 / kBandwidth);
}

TEST(SpeedOfLight, OfALargeMatmulIsItsFlopsOverThePeak) {
  ir::KernelBuilder b("dot", Opcode::kDot);
  const Shape square = Shape::array(DType::kBF16, {4096, 4096});
  const OpId x = b.parameter(square);
  const OpId y = b.parameter(square);
  ir::DotAttrs attrs;
  attrs.dims.lhs_contracting = {1};
  attrs.dims.rhs_contracting = {0};
  const ir::Kernel k = b.build({add(b, Opcode::kDot, square, {x, y}, attrs)});
  const double flops = 2.0 * 4096 * 4096 * 4096;
  const double peak = 2.0 * 2 * 128 * 128 * 1e9;
  EXPECT_NEAR(speed_of_light(k, device()).value, flops / peak, 1e-6 * flops / peak);
  const std::optional<Estimate> e =
      RooflineModel().estimate(std::vector<KernelQuery>{{k}}, device())[0];
  ASSERT_TRUE(e.has_value());
  EXPECT_EQ(e->bound, Bound::kMatrix);
  EXPECT_EQ(e->next_bound, Bound::kHbmRead);
  EXPECT_EQ(e->model, "roofline");
  EXPECT_EQ(e->time, e->speed_of_light);
}

TEST(DistinctTraffic, OfASliceIsWhatItReturns) {
  ir::KernelBuilder b("slice", Opcode::kFusion);
  const OpId x = b.parameter(f32({1000, 64}));
  const OpId c = add(b, Opcode::kNegate, f32({1000, 64}), {x});
  ir::SliceAttrs attrs;
  attrs.dims = {{0, 10, 1}, {0, 64, 1}};
  const ir::Kernel k = b.build({add(b, Opcode::kSlice, f32({10, 64}), {c}, attrs)});
  const Traffic t = distinct_traffic(k, device());
  EXPECT_DOUBLE_EQ(t.read.value, 10 * 64 * 4);
  EXPECT_DOUBLE_EQ(t.write.value, 10 * 64 * 4);
}

TEST(DistinctTraffic, AddsSlicesUpToTheWhole) {
  ir::KernelBuilder b("slices", Opcode::kFusion);
  const OpId x = b.parameter(f32({100}));
  const auto slice = [&](std::int64_t from, std::int64_t to) {
    ir::SliceAttrs attrs;
    attrs.dims = {{from, to, 1}};
    return add(b, Opcode::kSlice, f32({to - from}), {x}, attrs);
  };
  const std::vector<OpId> outputs{slice(0, 30), slice(50, 70)};
  EXPECT_DOUBLE_EQ(distinct_traffic(b.build(outputs), device()).read.value, (30 + 20) * 4);

  ir::KernelBuilder whole("slices", Opcode::kFusion);
  const OpId y = whole.parameter(f32({100}));
  std::vector<OpId> many;
  for (int i = 0; i < 4; ++i) {
    many.push_back(add(whole, Opcode::kSlice, f32({90}), {y}, ir::SliceAttrs{{{i, 90 + i, 1}}}));
  }
  EXPECT_DOUBLE_EQ(distinct_traffic(whole.build(many), device()).read.value, 100 * 4);
}

TEST(DistinctTraffic, ReadsASharedOperandOnce) {
  ir::KernelBuilder b("twice", Opcode::kFusion);
  const OpId x = b.parameter(f32({100}));
  const OpId n = add(b, Opcode::kNegate, f32({100}), {x});
  const ir::Kernel k = b.build({add(b, Opcode::kMultiply, f32({100}), {x, n})});
  EXPECT_DOUBLE_EQ(distinct_traffic(k, device()).read.value, 100 * 4);
}

TEST(DistinctTraffic, OfAnUpdateInPlaceIsTheUpdate) {
  ir::KernelBuilder b("dus", Opcode::kFusion);
  const OpId x = b.parameter(f32({1000, 64}));
  const OpId u = b.parameter(f32({1, 64}));
  const OpId i = b.parameter(Shape::array(DType::kS32, {}));
  const OpId j = b.parameter(Shape::array(DType::kS32, {}));
  const OpId r = add(b, Opcode::kDynamicUpdateSlice, f32({1000, 64}), {x, u, i, j});
  const ir::Kernel k = b.build({add(b, Opcode::kBitcast, f32({64000}), {r})});
  const Traffic t = distinct_traffic(k, device());
  EXPECT_DOUBLE_EQ(t.read.value, 64 * 4 + 4 + 4);
  EXPECT_DOUBLE_EQ(t.write.value, 64 * 4);
}

TEST(DistinctTraffic, OfAnUpdateThatIsReadAgainKeepsTheRest) {
  ir::KernelBuilder b("dus", Opcode::kFusion);
  const OpId x = b.parameter(f32({1000}));
  const OpId u = b.parameter(f32({100}));
  const OpId i = b.parameter(Shape::array(DType::kS32, {}));
  const OpId r = add(b, Opcode::kDynamicUpdateSlice, f32({1000}), {x, u, i});
  const ir::Kernel k = b.build({add(b, Opcode::kNegate, f32({1000}), {r})});
  EXPECT_DOUBLE_EQ(distinct_traffic(k, device()).read.value, 900 * 4 + 100 * 4 + 4);
}

TEST(DistinctTraffic, ResidentsCostNothing) {
  ir::KernelBuilder b("resident", Opcode::kFusion);
  const OpId x = b.parameter(on_chip(f32({100})));
  const OpId y = b.parameter(f32({100}));
  const ir::Kernel k = b.build({add(b, Opcode::kAdd, on_chip(f32({100})), {x, y})});
  EXPECT_DOUBLE_EQ(distinct_traffic(k, device()).read.value, 100 * 4);
  EXPECT_DOUBLE_EQ(distinct_traffic(k, device()).write.value, 0);
  hwdesc::Device gpu = device();
  gpu.memory[1].memory_space = -1;  // S(1) is collective memory there
  EXPECT_DOUBLE_EQ(distinct_traffic(k, gpu).read.value, 2 * 100 * 4);
}

TEST(DistinctTraffic, FollowsTheMemorySpaceThatTheDeviceGivesALevel) {
  const auto read = [](int space, const hwdesc::Device& d) {
    ir::KernelBuilder b("negate", Opcode::kNegate);
    Shape shape = on_chip(f32({100}));
    shape.layout.edit().memory_space = space;
    const OpId x = b.parameter(shape);
    return distinct_traffic(b.build({add(b, Opcode::kNegate, f32({100}), {x})}), d).read.value;
  };
  hwdesc::Device d = device();
  d.memory[0].memory_space = 0;
  d.memory[1].memory_space = 3;
  EXPECT_DOUBLE_EQ(read(0, d), 400);
  EXPECT_DOUBLE_EQ(read(1, d), 400);  // no such level
  EXPECT_DOUBLE_EQ(read(3, d), 0);
  EXPECT_DOUBLE_EQ(read(6, d), 0);  // scalars have their own memory
  d.execution = hwdesc::Execution::kSimt;
  EXPECT_DOUBLE_EQ(read(3, d), 0);
  EXPECT_DOUBLE_EQ(read(6, d), 400);
}

TEST(DistinctTraffic, OfAStridedConvolutionIsWhatItsWindowsTouch) {
  ir::KernelBuilder b("conv", Opcode::kConvolution);
  const OpId x = b.parameter(f32({8, 56, 56, 64}));
  const OpId w = b.parameter(f32({1, 1, 64, 128}));
  ir::ConvAttrs attrs;
  attrs.window.resize(2);
  for (ir::WindowDim& dim : attrs.window) dim.stride = 2;
  attrs.dims.input_batch = attrs.dims.output_batch = 0;
  attrs.dims.input_feature = attrs.dims.output_feature = 3;
  attrs.dims.kernel_input_feature = 2;
  attrs.dims.kernel_output_feature = 3;
  attrs.dims.input_spatial = attrs.dims.output_spatial = {1, 2};
  attrs.dims.kernel_spatial = {0, 1};
  const ir::Kernel k =
      b.build({add(b, Opcode::kConvolution, f32({8, 28, 28, 128}), {x, w}, attrs)});
  EXPECT_DOUBLE_EQ(distinct_traffic(k, device()).read.value, 4.0 * (8 * 28 * 28 * 64 + 64 * 128));
}

TEST(Roofline, OfACollectiveIsTheNetworkAtFullSpeed) {
  hwdesc::Device d = device();
  d.interconnect.emplace();
  d.interconnect->links = 4;
  d.interconnect->link_bandwidth = BytesPerSecond{10e9};
  d.interconnect->topology = "torus2d";
  d.interconnect->latency = Seconds{1};
  ir::KernelBuilder b("ar", Opcode::kAllReduce);
  const OpId x = b.parameter(f32({1000000}));
  b.set_group_size(16);
  const ir::Kernel k = b.build({add(b, Opcode::kAllReduce, f32({1000000}), {x})});
  EXPECT_DOUBLE_EQ(speed_of_light(k, d).value, 2 * 4e6 * 15 / 16 / 40e9);
}

ir::Kernel copy_out() {
  ir::KernelBuilder b("broadcast", Opcode::kBroadcast);
  const OpId x = b.parameter(f32({}));
  return b.build({add(b, Opcode::kBroadcast, f32({1000}), {x})});
}

ir::Kernel all_reduce_16() {
  ir::KernelBuilder b("ar", Opcode::kAllReduce);
  const OpId x = b.parameter(f32({1000000}));
  b.set_group_size(16);
  return b.build({add(b, Opcode::kAllReduce, f32({1000000}), {x})});
}

ir::Kernel exponential() {
  ir::KernelBuilder b("exp", Opcode::kExp);
  const OpId x = b.parameter(f32({1000, 1000}));
  return b.build({add(b, Opcode::kExp, f32({1000, 1000}), {x})});
}

// All keys of the calibration block, from the schema.
std::vector<std::string> calibration_keys() {
  constexpr std::string_view kBlock = "calibration.";
  std::vector<std::string> keys;
  const hwdesc::Device any = hwdesc::load_device("tpu_v3", {{"calibration.source", "a fit"}});
  for (const auto& [key, value] : hwdesc::flatten(any)) {
    if (key.starts_with(kBlock) && !key.ends_with("source")) keys.push_back(key);
  }
  return keys;
}

TEST(SpeedOfLight, StaysWhereItIsWhateverIsCalibrated) {
  const hwdesc::Device described = hwdesc::load_device("tpu_v3");
  const std::vector<ir::Kernel> kernels = {copy_out(), all_reduce_16(), exponential()};
  const std::vector<std::string> keys = calibration_keys();
  EXPECT_GE(keys.size(), 12U);
  for (const std::string& key : keys) {
    const std::string value = key.ends_with("kernel_overhead") ? "1 us" : "0.5";
    const hwdesc::Device calibrated =
        hwdesc::load_device("tpu_v3", {{"calibration.source", "a fit"}, {key, value}});
    for (const ir::Kernel& kernel : kernels) {
      const Seconds light = speed_of_light(kernel, described);
      EXPECT_EQ(speed_of_light(kernel, hwdesc::apply_calibration(calibrated)), light) << key;
      const auto e = AnalyticalModel().estimate(std::vector<KernelQuery>{{kernel}}, calibrated)[0];
      ASSERT_TRUE(e.has_value());
      EXPECT_EQ(e->speed_of_light, light) << key;
    }
  }
}

TEST(Roofline, OfACustomCallIsItsEstimateOrItsBytes) {
  ir::KernelBuilder b("call", Opcode::kCustomCall);
  const OpId x = b.parameter(f32({1000}));
  const OpId r = add(b, Opcode::kCustomCall, f32({1000}), {x}, ir::CustomCallAttrs{});
  const ir::Kernel plain = b.build({r});
  EXPECT_DOUBLE_EQ(speed_of_light(plain, device()).value, 2 * 4000 / kBandwidth);
  const auto e = RooflineModel().estimate(std::vector<KernelQuery>{{plain}}, device())[0];
  ASSERT_TRUE(e.has_value());
  EXPECT_FALSE(e->flags.empty());

  ir::KernelBuilder c("call", Opcode::kCustomCall);
  const OpId y = c.parameter(f32({1000}));
  const OpId s = add(c, Opcode::kCustomCall, f32({1000}), {y}, ir::CustomCallAttrs{});
  c.set_custom_call_cost({0, 0, 1e6});
  EXPECT_DOUBLE_EQ(speed_of_light(c.build({s}), device()).value, 1e6 / kBandwidth);
}

// Data between two kernels needs no main memory traffic if the device has room for it.
TEST(Traffic, ResultsThatStayOnChipAreNeitherWrittenNorRead) {
  constexpr const char* kChain =
      "HloModule m\n\nENTRY e {\n"
      "  p = f32[8,128] parameter(0)\n"
      "  a = f32[8,128] negate(p)\n"
      "  ROOT b = f32[8,128] exponential(a)\n}\n";
  constexpr double kBytes = 8 * 128 * 4;
  const auto moved = [&](const std::string& room) {
    const hwdesc::Device device = hwdesc::load_device("tpu_v5e", {{"vmem.results", room}});
    const ir::LoadedModule module{"m", ir::parse_hlo(base::SourceText("m.hlo", kChain)), {}};
    double bytes = 0;
    const ir::DeviceProgram built = ir::program_for(module, layout_rules(device), {});
    for (const ir::ScheduledKernel& scheduled : built.program.kernels()) {
      const Traffic traffic = distinct_traffic(scheduled.kernel, device);
      bytes += (traffic.read + traffic.write).value;
    }
    return bytes;
  };
  EXPECT_DOUBLE_EQ(moved("4 KiB"), 2 * kBytes);
  EXPECT_DOUBLE_EQ(moved("4095 B"), 4 * kBytes);
  EXPECT_DOUBLE_EQ(moved("1 GiB"), 2 * kBytes);  // at most the array's size
}

}  // namespace
}  // namespace tilecast::analytical
