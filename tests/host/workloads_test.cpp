// Workloads parse back to what is measured, and there are enough for a session.
#include "host/workloads.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "analytical/analytical_model.h"
#include "analytical/layout_rules.h"
#include "analytical/roofline.h"
#include "base/error.h"
#include "host/measure_plan.h"
#include "hwdesc/device_yaml.h"
#include "ir/canonical_hash.h"
#include "ir/kernels/kernel_sketch.h"
#include "ir/load_program.h"
#include "ir/program.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"
#include "tests/support/folders.h"

namespace tilecast::host {
namespace {

using ::testing::ElementsAre;

hwdesc::Device cpu() {
  return hwdesc::load_device(support::source_dir().string() + "/configs/devices/cpu_generic.yaml");
}

// One core of the machine, with the bandwidth of one core.
hwdesc::Device one_core() {
  return hwdesc::load_device(support::source_dir().string() + "/configs/devices/cpu_generic.yaml",
                             {{"multiplexing.workers", "1"},
                              {"memory.dram.bandwidth", "15GB/s"},
                              {"memory.l3.bandwidth", "50GB/s"}});
}

std::vector<std::string> shipped_programs() {
  std::vector<std::string> names;
  const auto folder = support::source_dir() / "configs/programs";
  for (const auto& file : support::files_below(folder, ".hlo")) {
    names.push_back(file.filename().string());
  }
  return names;
}

ir::Module program(const std::string& name) {
  return ir::read_hlo_file(support::source_dir().string() + "/configs/programs/" + name);
}

// Parsed as in a measurement set: the text, through the loader, as one kernel.
void expect_reads_back(const Workload& workload, const hwdesc::Device& device) {
  const std::string text = ir::print_hlo(workload.module);
  const ir::Module module = ir::parse_hlo(base::SourceText(workload.name + ".hlo", text));
  EXPECT_TRUE(ir::is_optimised(module)) << "would be fused again";
  const ir::LoadOptions options;
  const ir::Program read =
      ir::program_for({workload.name, module, {}}, analytical::layout_rules(device), options)
          .program;
  ASSERT_EQ(read.kernels().size(), 1u) << text;
  EXPECT_EQ(ir::canonical_hash(read.kernels()[0].kernel), workload.hash) << text;
  EXPECT_EQ(ir::canonical_hash(workload.kernel), workload.hash);
}

void expect_distinct(const std::vector<Workload>& workloads) {
  std::set<std::string> names, hashes;
  for (const Workload& workload : workloads) {
    EXPECT_TRUE(names.insert(workload.name).second) << workload.name;
    EXPECT_TRUE(hashes.insert(workload.hash).second) << workload.name;
  }
}

TEST(TileWorkloads, AreDistinctKernelsThatReadBack) {
  const hwdesc::Device device = cpu();
  const std::vector<Workload> workloads = tile_workloads(device);
  expect_distinct(workloads);
  for (const Workload& workload : workloads) expect_reads_back(workload, device);
}

TEST(TileWorkloads, CoverEveryFamily) {
  std::map<std::string, int> families;
  for (const Workload& workload : tile_workloads(cpu())) ++families[workload.family];
  EXPECT_EQ(families["convolution"], 12);
  EXPECT_GE(families["matmul"], 12);
  EXPECT_GE(families["epilogue"], 8);
  EXPECT_GE(families["reduction"], 6);
  EXPECT_GE(families["movement"], 5);
  EXPECT_GE(families["rows"], 4);
}

// Multiply-adds of layer C2 on its image, by hand: 56 x 56 positions, 3 x 3 taps minus the padding.
TEST(TileWorkloads, ConvolutionsHaveTheWorkOfTheirLayers) {
  const std::vector<Workload> workloads = tile_workloads(cpu());
  const auto flops = [&](const std::string& name) {
    for (const Workload& workload : workloads) {
      if (workload.name == name) return static_cast<double>(workload.kernel.work().flops);
    }
    ADD_FAILURE() << name;
    return 0.0;
  };
  const double taps = 3 * 56 - 2;  // per direction, within the image
  EXPECT_FLOAT_EQ(flops("resnet18_c2"), 2 * taps * taps * 64 * 64);
  EXPECT_FLOAT_EQ(flops("resnet18_c3"), 2.0 * 56 * 56 * 64 * 64);
  EXPECT_FLOAT_EQ(flops("resnet18_c5"), 2.0 * 28 * 28 * 64 * 128);
}

TEST(TileWorkloads, HaveTilesToChooseFrom) {
  const hwdesc::Device device = cpu();
  std::size_t tiles = 0;
  for (const Workload& workload : tile_workloads(device)) {
    const std::size_t count = analytical::KernelAnalysis(workload.kernel, device).tiles().size();
    EXPECT_GE(count, 2u) << workload.name;
    tiles += count;
  }
  EXPECT_GE(tiles, 3000u);
}

TEST(FusionConfiguration, StartsWithTheRulesAndWithNothingFused) {
  EXPECT_EQ(fusion_configuration(1, 0).share, 1);
  EXPECT_EQ(fusion_configuration(1, 1).share, 0);
  std::set<double> shares;
  for (std::size_t number = 2; number < 30; ++number) {
    const FusionDraw drawn = fusion_configuration(1, number);
    EXPECT_GT(drawn.share, 0);
    EXPECT_LE(drawn.share, 1);
    shares.insert(drawn.share);
    EXPECT_NE(drawn.share, fusion_configuration(2, number).share);
  }
  EXPECT_EQ(shares.size(), 28u);
}

TEST(FusionWorkloads, AreDistinctKernelsThatReadBack) {
  const hwdesc::Device device = cpu();
  for (const char* name : {"mlp_train.hlo", "transformer_block_train.hlo"}) {
    const ProgramKernels cut = fusion_workloads(program(name), device, {.configurations = 8});
    EXPECT_GT(cut.workloads.size(), 20u);
    expect_distinct(cut.workloads);
    for (const Workload& workload : cut.workloads) {
      EXPECT_EQ(workload.family + ".hlo", name);
      expect_reads_back(workload, device);
    }
  }
}

TEST(FusionWorkloads, CountsEveryKernelOnce) {
  const ProgramKernels cut = fusion_workloads(program("transformer_block_train.hlo"), cpu(),
                                              {.configurations = 6, .longest = Seconds{1e-3}});
  std::size_t left_out = 0;
  for (const auto& [reason, count] : cut.left_out) left_out += count;
  EXPECT_GT(left_out, 0u) << "some take longer than a millisecond";
  EXPECT_EQ(cut.kernels, cut.workloads.size() + cut.duplicates + left_out);
  for (const Workload& workload : cut.workloads) {
    EXPECT_LE(analytical::speed_of_light(workload.kernel, cpu()), Seconds{1e-3});
  }
}

// A session of twenty minutes should measure 2,000 of them, most of them 5 us or longer.
TEST(FusionWorkloads, ShippedProgramsGiveThousandsOfKernels) {
  const hwdesc::Device device = one_core();
  std::set<std::string> kernels;
  std::size_t long_enough = 0;
  for (const std::string& name : shipped_programs()) {
    const ProgramKernels cut = fusion_workloads(program(name), device, {.configurations = 12});
    for (const Workload& workload : cut.workloads) {
      if (!kernels.insert(workload.hash).second) continue;
      const auto time = analytical::KernelAnalysis(workload.kernel, device).estimate_best().time;
      long_enough += time >= Seconds{5e-6};
    }
  }
  EXPECT_GE(kernels.size(), 2500u);
  EXPECT_GE(long_enough, kernels.size() * 6 / 10);
}

TEST(FusionWorkloads, SmallProgramsAreNeverTooLong) {
  for (const std::string& name : shipped_programs()) {
    if (name.rfind("small_", 0) != 0) continue;
    const ProgramKernels cut = fusion_workloads(program(name), one_core(), {.configurations = 3});
    EXPECT_TRUE(cut.left_out.empty()) << name;
  }
}

TEST(FusionWorkloads, MoreConfigurationsOnlyAddKernels) {
  const ir::Module mlp = program("mlp_train.hlo");
  const ProgramKernels few = fusion_workloads(mlp, cpu(), {.configurations = 3});
  const ProgramKernels many = fusion_workloads(mlp, cpu(), {.configurations = 12});
  ASSERT_GT(many.workloads.size(), few.workloads.size());
  for (std::size_t i = 0; i < few.workloads.size(); ++i) {
    EXPECT_EQ(few.workloads[i].name, many.workloads[i].name);
  }
}

TEST(FusionWorkloads, NamesWhatCannotRunOnOneCore) {
  const ir::Module module = ir::parse_hlo(base::SourceText("mixed.hlo", R"(HloModule m
sum { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT s = f32[] add(a, b) }
ENTRY main { x = f32[64,64] parameter(0)
 r = f32[64,64] all-reduce(x), replica_groups={}, to_apply=sum
 c = f32[64,64] custom-call(r), custom_call_target="f"
 low = f32[] constant(0)
 high = f32[] constant(1)
 n = f32[64,64] rng(low, high), distribution=rng_uniform
 e = f32[64,64] exponential(c)
 ROOT y = f32[64,64] add(e, n) })"));
  const ProgramKernels cut = fusion_workloads(module, cpu(), {.configurations = 1});
  EXPECT_EQ(cut.left_out.at("collective"), 1u);
  EXPECT_EQ(cut.left_out.at("custom call"), 1u);
  EXPECT_EQ(cut.left_out.at("random numbers"), 1u);
  EXPECT_EQ(cut.workloads.size(), 1u);
}

TEST(FusionWorkloads, TakeAFusedProgramAsItIs) {
  const ir::Module fused = ir::fuse(program("mlp_train.hlo"));
  const ProgramKernels cut = fusion_workloads(fused, cpu(), {.configurations = 50});
  EXPECT_EQ(cut.kernels, ir::make_program(fused).kernels().size());
}

Workload matmul(const std::string& family, int number, std::int64_t size) {
  const std::string name = fmt::format("{}{}", family, number);
  ir::KernelSketch sketch(name, ir::Opcode::kDot, {.tiled = false});
  const ir::OpId a = sketch.row_major_parameter(ir::DType::kF32, {size, size});
  const ir::OpId b = sketch.row_major_parameter(ir::DType::kF32, {size, size});
  const ir::OpId dot = sketch.dot(a, b, {.lhs_contracting = {1}, .rhs_contracting = {0}},
                                  {size, size}, ir::DType::kF32);
  return {name, family, {}, sketch.build({dot}), name};
}

class PlanTest : public ::testing::Test {
 protected:
  PlanTest() {
    tiles_.workloads.push_back(matmul("a", 1, 256));
    tiles_.workloads.push_back(matmul("a", 2, 320));
    tiles_.workloads.push_back(matmul("b", 1, 384));
    fusion_.workloads.push_back(matmul("c", 1, 448));
    fusion_.workloads.push_back(matmul("c", 2, 512));
  }
  [[nodiscard]] std::vector<std::string> names(const PlanOptions& options) const {
    const std::vector<WorkSource> sources{tiles_, fusion_};
    std::vector<std::string> result;
    for (const WorkItem& item : plan_work(sources, device_, options)) {
      result.push_back(item.workload->name);
    }
    return result;
  }

  hwdesc::Device device_ = hwdesc::load_device("cpu_generic");
  WorkSource tiles_{.set = "tiles", .many_tiles = true};
  WorkSource fusion_{.set = "fusion"};
};

TEST_F(PlanTest, SourcesTakeTurnsAndInsideOneItsFamilies) {
  EXPECT_THAT(names({.tiles_per_kernel = 2, .shortest = Seconds{0}, .costly = Seconds{1}}),
              ElementsAre("a1", "c1", "a1", "c2", "b1", "b1", "a2", "a2"));
  EXPECT_THAT(names({.tiles_per_kernel = 5,
                     .kernels_per_source = 2,
                     .shortest = Seconds{0},
                     .costly = Seconds{1}}),
              ElementsAre("a1", "c1", "a1", "c2", "a1", "a1", "b1", "b1", "b1", "b1", "a1", "b1"))
      << "blocks of four tiles, then the rest";
}

TEST_F(PlanTest, AKernelsFirstTileIsTheModelsBestAndItsSecondTheSlowest) {
  const std::vector<WorkSource> sources{tiles_};
  const std::vector<WorkItem> items = plan_work(sources, device_, {.shortest = Seconds{0}});
  const analytical::KernelAnalysis analysis(tiles_.workloads[0].kernel, device_);
  Seconds best{1}, worst{0};
  for (const analytical::TileConfig& tile : analysis.tiles()) {
    best = std::min(best, analysis.time(tile));
    worst = std::max(worst, analysis.time(tile));
  }
  EXPECT_EQ(items[0].predicted, best);
  EXPECT_EQ(items[1].predicted, worst);
}

TEST_F(PlanTest, AFusionKernelHasTheTileTheModelChooses) {
  const std::vector<WorkSource> sources{fusion_};
  const std::vector<WorkItem> items = plan_work(sources, device_, {.shortest = Seconds{0}});
  ASSERT_EQ(items.size(), 2U);
  const analytical::KernelAnalysis analysis(fusion_.workloads[0].kernel, device_);
  EXPECT_EQ(items[0].tile, analysis.estimate_best().tile);
}

TEST_F(PlanTest, ShortKernelsComeLast) {
  fusion_.workloads.push_back(matmul("tiny", 1, 8));
  const std::vector<WorkSource> sources{fusion_};
  const std::vector<WorkItem> items = plan_work(sources, device_, {});
  EXPECT_EQ(items.back().workload->family, "tiny");
  EXPECT_LT(items.back().predicted, PlanOptions{}.shortest);
}

TEST_F(PlanTest, CostlyKernelsComeAfterTheOthersButBeforeShortOnes) {
  fusion_.workloads.push_back(matmul("tiny", 1, 8));
  fusion_.workloads.push_back(matmul("huge", 1, 2048));
  fusion_.workloads.push_back(matmul("d", 1, 64));
  const std::vector<WorkSource> sources{fusion_};
  const std::vector<WorkItem> items = plan_work(sources, device_, {.costly = Seconds{5e-3}});
  ASSERT_EQ(items.size(), 5U);
  EXPECT_EQ(items[3].workload->family, "huge");
  EXPECT_GT(items[3].predicted, Seconds{5e-3});
  EXPECT_EQ(items[4].workload->family, "tiny");
}

TEST_F(PlanTest, EachKernelAndTileIsPlannedOnce) {
  const std::vector<WorkSource> sources{tiles_, tiles_};
  const std::vector<WorkItem> items = plan_work(sources, device_, {.shortest = Seconds{0}});
  std::set<std::string> keys;
  for (const WorkItem& item : items) keys.insert(work_key(item.workload->hash, item.tile));
  EXPECT_EQ(keys.size(), items.size());
}

TEST_F(PlanTest, IsTheSameForAnyNumberOfThreadsAndDiffersWithTheSeed) {
  const std::vector<WorkSource> sources{tiles_};
  const auto tiles = [&](std::uint64_t seed, int jobs) {
    std::vector<analytical::TileConfig> result;
    const PlanOptions options{
        .tiles_per_kernel = 8, .shortest = Seconds{0}, .seed = seed, .jobs = jobs};
    for (const WorkItem& item : plan_work(sources, device_, options)) result.push_back(item.tile);
    return result;
  };
  EXPECT_EQ(tiles(1, 1), tiles(1, 3));
  EXPECT_NE(tiles(1, 1), tiles(2, 1));
}

TEST_F(PlanTest, GivenTilesAreTakenAsTheyAre) {
  const analytical::TileConfig tile{.output = {16, 32}, .kernel = {64, 1}};
  WorkSource again{.set = "again"};
  again.workloads.push_back(matmul("a", 1, 256));
  again.tiles = {{tile}};
  const std::vector<WorkSource> sources{again};
  const std::vector<WorkItem> items = plan_work(sources, device_, {.shortest = Seconds{0}});
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].tile, tile);
}

TEST(SpreadSample, ReachesBothEndsAndEveryPrefixIsSpread) {
  for (const std::size_t values : {1, 2, 5, 17, 400}) {
    for (const std::size_t count : {1, 2, 3, 8, 16}) {
      const std::vector<std::size_t> sample = spread_sample(values, count, 3);
      const std::set<std::size_t> distinct(sample.begin(), sample.end());
      EXPECT_EQ(sample.size(), std::min(values, count));
      EXPECT_EQ(distinct.size(), sample.size());
      EXPECT_LT(*distinct.rbegin(), values);
      EXPECT_EQ(sample.front(), 0U);
      if (count > 1 && values > count) {
        EXPECT_EQ(sample[1], values - 1);
      }
    }
  }
}
}  // namespace
}  // namespace tilecast::host
