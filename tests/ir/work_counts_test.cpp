#include "ir/counts/work_counts.h"

#include <gmock/gmock.h>

#include <cmath>
#include <string>

#include "base/error.h"
#include "ir/text/hlo_parser.h"

namespace tilecast::ir {
namespace {

using ::testing::ElementsAre;

constexpr float kF32 = 4;

Module parse(const std::string& text) {
  return parse_hlo(base::SourceText("test.hlo", text));
}

// Counts of the root of the entry computation.
WorkCounts root_counts(const std::string& text, const WorkCountOptions& options = {}) {
  const Module module = parse(text);
  WorkCounter counter(module, options);
  return counter.of(module.entry, module.entry_computation().root);
}

std::string entry(const std::string& lines) {
  return "HloModule m\nENTRY e {\n" + lines + "}\n";
}

const std::string kAddRegion =
    "HloModule m\n"
    "plus {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n";

TEST(WorkCounts, ElementwiseOpsDoOneFlopPerElement) {
  const WorkCounts c =
      root_counts(entry("  x = f32[3,5] parameter(0)\n  y = f32[3,5] parameter(1)\n"
                        "  ROOT r = f32[3,5] multiply(x, y)\n"));
  EXPECT_EQ(c.flops, 3 * 5);
  EXPECT_EQ(c.transcendentals, 0);
  EXPECT_EQ(c.bytes_accessed, 3 * (3 * 5 * kF32));
  EXPECT_THAT(c.operand_bytes, ElementsAre(3 * 5 * kF32, 3 * 5 * kF32));
  EXPECT_EQ(c.output_bytes, 3 * 5 * kF32);
}

TEST(WorkCounts, TranscendentalsAreCountedApart) {
  for (const char* op : {"exponential", "tanh", "rsqrt", "logistic", "erf", "sine", "cbrt"}) {
    const WorkCounts c = root_counts(
        entry("  x = bf16[7,9] parameter(0)\n  ROOT r = bf16[7,9] " + std::string(op) + "(x)\n"));
    EXPECT_EQ(c.flops, 0) << op;
    EXPECT_EQ(c.transcendentals, 7 * 9) << op;
    EXPECT_EQ(c.bytes_accessed, 2 * (7 * 9 * 2)) << op;
  }
}

TEST(WorkCounts, CopiesDoNoWork) {
  const WorkCounts c = root_counts(entry("  x = f32[6] parameter(0)\n  ROOT r = f32[6] copy(x)\n"));
  EXPECT_EQ(c.flops, 0);
  EXPECT_EQ(c.bytes_accessed, 2 * 6 * kF32);
}

TEST(WorkCounts, ATransposeThatOnlyRenamesDimensionsIsFree) {
  const WorkCounts moved =
      root_counts(entry("  x = f32[4,6]{1,0} parameter(0)\n"
                        "  ROOT r = f32[6,4]{1,0} transpose(x), dimensions={1,0}\n"));
  EXPECT_EQ(moved.bytes_accessed, 2 * 4 * 6 * kF32);
  const WorkCounts renamed =
      root_counts(entry("  x = f32[4,6]{1,0} parameter(0)\n"
                        "  ROOT r = f32[6,4]{0,1} transpose(x), dimensions={1,0}\n"));
  EXPECT_EQ(renamed.bytes_accessed, 0);
}

TEST(WorkCounts, DotsMultiplyAddEveryContractedElement) {
  const WorkCounts c = root_counts(
      entry("  a = f32[2,8,5] parameter(0)\n  b = f32[2,5,3] parameter(1)\n"
            "  ROOT d = f32[2,8,3] dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={2}, "
            "rhs_batch_dims={0}, rhs_contracting_dims={1}\n"));
  EXPECT_EQ(c.flops, 2 * (2 * 8 * 3) * 5);
}

TEST(WorkCounts, ConvolutionsCountRealInputOnly) {
  const WorkCounts c =
      root_counts(entry("  x = f32[2,6,9] parameter(0)\n  w = f32[3,6,4] parameter(1)\n"
                        "  ROOT r = f32[2,4,9] convolution(x, w), window={size=3 pad=1_1}, "
                        "dim_labels=bf0_0io->bf0\n"));
  const float pairs = 3 * 9 - 2;  // the first and last output each miss one input
  EXPECT_EQ(c.flops, 2 * 6 * 4 * 2 * pairs);
}

TEST(WorkCounts, GroupsDivideTheFeaturesOfAConvolution) {
  const WorkCounts c =
      root_counts(entry("  x = f32[2,6,9] parameter(0)\n  w = f32[3,2,12] parameter(1)\n"
                        "  ROOT r = f32[2,12,7] convolution(x, w), window={size=3}, "
                        "dim_labels=bf0_0io->bf0, feature_group_count=3\n"));
  EXPECT_EQ(c.flops, 2 * (6 / 3) * 12 * 2 * (3 * 7));
}

TEST(WorkCounts, SlicesReadOnlyWhatTheyReturn) {
  const WorkCounts s = root_counts(
      entry("  x = f32[100] parameter(0)\n  ROOT r = f32[8] slice(x), slice={[10:18]}\n"));
  EXPECT_EQ(s.bytes_accessed, 2 * 8 * kF32);
  const WorkCounts d = root_counts(
      entry("  x = f32[50,10] parameter(0)\n  i = s32[] parameter(1)\n  j = s32[] parameter(2)\n"
            "  ROOT r = f32[1,10] dynamic-slice(x, i, j), dynamic_slice_sizes={1,10}\n"));
  EXPECT_EQ(d.bytes_accessed, 2 * 10 * kF32 + 4);
  EXPECT_EQ(d.operand_bytes[0], 10 * kF32);
}

TEST(WorkCounts, UpdatesInPlaceTouchOnlyTheUpdate) {
  const WorkCounts c =
      root_counts(entry("  x = f32[50,10] parameter(0)\n  u = f32[1,10] parameter(1)\n"
                        "  i = s32[] parameter(2)\n  j = s32[] parameter(3)\n"
                        "  ROOT r = f32[50,10] dynamic-update-slice(x, u, i, j)\n"));
  EXPECT_EQ(c.bytes_accessed, 2 * 10 * kF32 + 4);
  EXPECT_EQ(c.output_bytes, 10 * kF32);
  EXPECT_EQ(c.operand_bytes[0], 0);
}

TEST(WorkCounts, ReducesApplyTheRegionOncePerElementThatDisappears) {
  const WorkCounts c =
      root_counts(kAddRegion +
                  "ENTRY e {\n  x = f32[6,7] parameter(0)\n  z = f32[] constant(0)\n"
                  "  ROOT r = f32[6] reduce(x, z), dimensions={1}, to_apply=plus\n}\n");
  EXPECT_EQ(c.flops, 6 * 7 - 6);
  EXPECT_EQ(c.bytes_accessed, (6 * 7 + 1 + 6) * kF32);
}

TEST(WorkCounts, WindowsOverAWholeDimensionAreAReduceAndABroadcast) {
  const auto flops = [](const std::string& window) {
    return root_counts(kAddRegion +
                       "ENTRY e {\n  x = f32[5,8] parameter(0)\n  z = f32[] constant(0)\n"
                       "  ROOT r = f32[5,8] reduce-window(x, z), window={" +
                       window + "}, to_apply=plus\n}\n")
        .flops;
  };
  EXPECT_EQ(flops("size=1x15 pad=0_0x7_7"), 5 * 8 / 8 + 8 - 1);
  EXPECT_EQ(flops("size=1x13 pad=0_0x6_6"), (13 - 1) * 5 * 8);
}

TEST(WorkCounts, SelectAndScatterSelectsInEveryWindowAndScattersOnce) {
  const WorkCounts c =
      root_counts(kAddRegion +
                  "ge {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                  "  ROOT c = pred[] compare(a, b), direction=GE\n}\n"
                  "ENTRY e {\n  x = f32[12] parameter(0)\n  s = f32[4] parameter(1)\n"
                  "  z = f32[] constant(0)\n  ROOT r = f32[12] select-and-scatter(x, s, z), "
                  "window={size=3 stride=3}, select=ge, scatter=plus\n}\n");
  EXPECT_EQ(c.flops, 4 * (3 - 1) + 4);
}

TEST(WorkCounts, GathersReadWhatTheyReturnAndTheIndices) {
  const WorkCounts c = root_counts(
      entry("  x = f32[1000,16] parameter(0)\n  i = s32[10] parameter(1)\n"
            "  ROOT g = f32[10,16] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
            "start_index_map={0}, index_vector_dim=1, slice_sizes={1,16}\n"));
  EXPECT_EQ(c.bytes_accessed, 2 * 10 * 16 * kF32 + 10 * 4);
}

TEST(WorkCounts, ScattersTouchTheUpdatesThreeTimes) {
  const WorkCounts c = root_counts(
      kAddRegion +
      "ENTRY e {\n  x = f32[1000,16] parameter(0)\n  i = s32[10] parameter(1)\n"
      "  u = f32[10,16] parameter(2)\n  ROOT s = f32[1000,16] scatter(x, i, u), "
      "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
      "index_vector_dim=1, to_apply=plus\n}\n");
  EXPECT_EQ(c.flops, 10 * 16);
  EXPECT_EQ(c.bytes_accessed, 3 * 10 * 16 * kF32 + 10 * 4);
  EXPECT_THAT(c.operand_bytes, ElementsAre(10 * 16 * kF32, 10 * 4, 10 * 16 * kF32));
}

TEST(WorkCounts, SortsCompareNLogNTimes) {
  const WorkCounts c = root_counts(
      "HloModule m\nlt {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
      "  ROOT c = pred[] compare(a, b), direction=LT\n}\n"
      "ENTRY e {\n  x = f32[1000] parameter(0)\n"
      "  ROOT s = f32[1000] sort(x), dimensions={0}, to_apply=lt\n}\n");
  EXPECT_EQ(c.flops, 1000 * 10);  // 2^10 = 1024
}

TEST(WorkCounts, FftsAndSolversFollowTheirOperationCounts) {
  const WorkCounts fft =
      root_counts(entry("  x = c64[3,32] parameter(0)\n"
                        "  ROOT r = c64[3,32] fft(x), fft_type=FFT, fft_length={32}\n"));
  EXPECT_EQ(fft.flops, 2 * 4 * 5 * (3 * 32));
  const WorkCounts cholesky = root_counts(
      entry("  x = f32[2,5,5] parameter(0)\n  ROOT r = f32[2,5,5] cholesky(x), lower=true\n"));
  EXPECT_EQ(cholesky.flops, 5 * (2 * 5 * 5) / 3);  // rounded to whole operations
  EXPECT_EQ(cholesky.bytes_accessed, 2 * 5 * 5 * kF32);
  const WorkCounts solve =
      root_counts(entry("  a = f32[5,5] parameter(0)\n  b = f32[5,3] parameter(1)\n"
                        "  ROOT r = f32[5,3] triangular-solve(a, b), left_side=true, lower=true, "
                        "transpose_a=NO_TRANSPOSE\n"));
  EXPECT_EQ(solve.flops, 2 * 5 * (5 * 3));
  EXPECT_EQ(solve.bytes_accessed, 5 * 3 * kF32 + 5 * 5 * kF32 / 2 + 5 * 3 * kF32);
}

TEST(WorkCounts, OfACustomCallAreUnknown) {
  const WorkCounts c =
      root_counts(entry("  x = f32[6] parameter(0)\n"
                        "  ROOT r = f32[6] custom-call(x), custom_call_target=\"mystery\"\n"));
  EXPECT_EQ(c.flops, -1);
  EXPECT_EQ(c.bytes_accessed, -1);
  EXPECT_THAT(c.operand_bytes, ElementsAre(-1));
}

TEST(WorkCounts, AConditionalCostsItsDearestBranchPropertyByProperty) {
  const WorkCounts c = root_counts(
      "HloModule m\n"
      "a {\n  x = f32[10] parameter(0)\n  ROOT r = f32[10] add(x, x)\n}\n"
      "b {\n  x = f32[20] parameter(0)\n  ROOT r = f32[10] slice(x), slice={[0:10]}\n}\n"
      "c {\n  x = f32[10] parameter(0)\n  ROOT r = f32[10] tanh(x)\n}\n"
      "ENTRY e {\n  i = s32[] parameter(0)\n  x = f32[10] parameter(1)\n"
      "  y = f32[20] parameter(2)\n"
      "  ROOT r = f32[10] conditional(i, x, y, x), branch_computations={a, b, c}\n}\n");
  EXPECT_EQ(c.flops, 10);
  EXPECT_EQ(c.transcendentals, 10);
  EXPECT_EQ(c.bytes_accessed, 3 * 10 * kF32);
}

TEST(WorkCounts, AWhileCostsItsBodyAndConditionOnce) {
  const WorkCounts c = root_counts(
      "HloModule m\n"
      "body {\n  s = s32[] parameter(0)\n  one = s32[] constant(1)\n"
      "  ROOT r = s32[] add(s, one)\n}\n"
      "cond {\n  s = s32[] parameter(0)\n  n = s32[] constant(7)\n"
      "  ROOT r = pred[] compare(s, n), direction=LT\n}\n"
      "ENTRY e {\n  z = s32[] constant(0)\n"
      "  ROOT w = s32[] while(z), condition=cond, body=body\n}\n");
  EXPECT_EQ(c.flops, 1 + 1);
  EXPECT_EQ(c.bytes_accessed, 3 * 4 + (4 + 4 + 1));
}

const char* const kSlicingFusion =
    "HloModule m\n"
    "f {\n  p = f32[64,32] parameter(0)\n  i = s32[] parameter(1)\n  z = s32[] constant(0)\n"
    "  q = f32[1,32] parameter(2)\n"
    "  s = f32[1,32] dynamic-slice(p, i, z), dynamic_slice_sizes={1,32}\n"
    "  t = f32[1,32] add(s, q)\n"
    "  ROOT u = f32[64,32] dynamic-update-slice(p, t, i, z)\n}\n"
    "ENTRY e {\n  p = f32[64,32] parameter(0)\n  i = s32[] parameter(1)\n"
    "  q = f32[1,32] parameter(2)\n"
    "  ROOT r = f32[64,32] fusion(p, i, q), kind=kLoop, calls=f\n}\n";

TEST(WorkCounts, AFusionThatUpdatesInPlaceCostsOnlyTheRowsItTouches) {
  const WorkCounts c = root_counts(kSlicingFusion);
  const float row = 32 * kF32;
  EXPECT_EQ(c.flops, 32);
  EXPECT_THAT(c.operand_bytes, ElementsAre(row, 4, row));
  EXPECT_EQ(c.output_bytes, row);
  EXPECT_EQ(c.bytes_accessed, 3 * row + 4);
}

TEST(WorkCounts, AFusionReadsASharedOperandOnceAndItsLargeConstants) {
  const WorkCounts c = root_counts(
      "HloModule m\n"
      "f {\n  p = f32[4] parameter(0)\n  k = f32[4] constant({1, 2, 3, 4})\n"
      "  a = f32[4] add(p, k)\n  b = f32[4] multiply(p, a)\n  ROOT r = f32[4] tanh(b)\n}\n"
      "ENTRY e {\n  x = f32[4] parameter(0)\n"
      "  ROOT r = f32[4] fusion(x), kind=kLoop, calls=f\n}\n");
  EXPECT_EQ(c.flops, 8);
  EXPECT_EQ(c.transcendentals, 4);
  EXPECT_EQ(c.bytes_accessed, (4 + 4 + 4) * kF32);
}

TEST(WorkCounts, TotalsCountDeadInstructions) {
  const Module module =
      parse(entry("  x = f32[4] parameter(0)\n  dead = f32[4] add(x, x)\n"
                  "  ROOT r = f32[4] negate(x)\n"));
  WorkCounter counter(module);
  EXPECT_EQ(counter.total(module.entry).flops, 8);
}

TEST(WorkCounts, OptimalTimeIsTheSlowestResource) {
  const std::string text = entry(
      "  x = f32[8] parameter(0)\n  y = f32[8] parameter(1)\n"
      "  ROOT r = f32[8] add(x, y)\n");
  WorkCountOptions options;
  options.flops_per_s = 2;
  options.bytes_per_s = 48;
  EXPECT_FLOAT_EQ(root_counts(text, options).optimal_s, 8.0F / 2);
  options.flops_per_s = 16;
  EXPECT_FLOAT_EQ(root_counts(text, options).optimal_s, 3 * 8 * kF32 / 48);
  options.flops_min_latency_s = 5;
  EXPECT_FLOAT_EQ(root_counts(text, options).optimal_s, 5);
}

// XLA:TPU counts padded buffers, 512-byte pointer tables, and (2025) a tuple result as its table. A
// prefetched operand is counted when copied and when read. Decoded from published cost_analysis()
// outputs of a relu(matmul) with these sizes.
TEST(WorkCounts, WithPaddedSizesAreThoseOfXlaTpu) {
  const Module module = parse(
      "HloModule relu_matmul, is_scheduled=true\n"
      "f {\n"
      "  p0 = f32[16,8]{0,1:T(8,128)} parameter(0)\n"
      "  p1 = f32[8,4]{0,1:T(4,128)} parameter(1)\n"
      "  p2 = f32[4]{0:T(128)} parameter(2)\n"
      "  d = f32[16,4]{0,1:T(4,128)} dot(p0, p1), lhs_contracting_dims={1}, "
      "rhs_contracting_dims={0}\n"
      "  b = f32[16,4]{0,1:T(4,128)} broadcast(p2), dimensions={1}\n"
      "  a = f32[16,4]{0,1:T(4,128)} add(d, b)\n"
      "  z = f32[]{:T(128)} constant(0)\n"
      "  zs = f32[16,4]{0,1:T(4,128)} broadcast(z), dimensions={}\n"
      "  ROOT m = f32[16,4]{0,1:T(4,128)} maximum(a, zs)\n"
      "}\n"
      "ENTRY e {\n"
      "  x = f32[16,8]{0,1:T(8,128)} parameter(0)\n"
      "  w = f32[8,4]{0,1:T(4,128)} parameter(1)\n"
      "  v = f32[4]{0:T(128)} parameter(2)\n"
      "  xs = (f32[16,8]{0,1:T(8,128)S(1)}, f32[16,8]{0,1:T(8,128)}, u32[]{:S(2)}) copy-start(x)\n"
      "  vs = (f32[4]{0:T(128)S(1)}, f32[4]{0:T(128)}, u32[]{:S(2)}) copy-start(v)\n"
      "  xd = f32[16,8]{0,1:T(8,128)S(1)} copy-done(xs)\n"
      "  vd = f32[4]{0:T(128)S(1)} copy-done(vs)\n"
      "  ROOT r = f32[16,4]{0,1:T(4,128)} fusion(xd, w, vd), kind=kOutput, calls=f\n"
      "}\n");
  WorkCountOptions options;
  options.tuple_result_as_pointer_table = true;
  options.shape_bytes = [](const Shape& shape) {
    return shape.is_tuple() ? std::int64_t{512} : padded_bytes(shape);
  };
  WorkCounter counter(module, options);
  const WorkCounts c = counter.total(module.entry);
  EXPECT_EQ(c.flops, 2 * 16 * 8 * 4 + 64 + 64);
  EXPECT_THAT(c.operand_bytes, ElementsAre(9728, 2048, 512));
  EXPECT_EQ(c.output_bytes, 7680);
  EXPECT_EQ(c.bytes_accessed, 19968);
}

TEST(WorkCounts, CountsBeyondAllIntegersAreStillNumbers) {
  const WorkCounts c =
      root_counts(entry("  a = s4[1073741824,1073741824] parameter(0)\n"
                        "  b = s4[1073741824,2147483648] parameter(1)\n"
                        "  ROOT d = s4[1073741824,2147483648] dot(a, b), lhs_contracting_dims={1}, "
                        "rhs_contracting_dims={0}\n"));
  EXPECT_EQ(c.flops, std::ldexp(1.0F, 1 + 30 + 30 + 31));
}

TEST(WorkCounts, ExponentiallyManyPathsThroughNestedFusionsComeAtOnce) {
  std::string text =
      "HloModule m\nlevel_0 {\n  p = f32[8] parameter(0)\n  q = f32[8] parameter(1)\n"
      "  ROOT r = f32[8] add(p, q)\n}\n";
  constexpr int kLevels = 40;
  for (int i = 1; i <= kLevels; ++i) {
    const std::string inner = "kind=kLoop, calls=level_" + std::to_string(i - 1) + "\n";
    text += "level_" + std::to_string(i) +
            " {\n  p = f32[8] parameter(0)\n  q = f32[8] parameter(1)\n"
            "  c = f32[8] fusion(p, p), " +
            inner + "  d = f32[8] fusion(q, q), " + inner + "  ROOT r = f32[8] add(c, d)\n}\n";
  }
  text +=
      "ENTRY e {\n  x = f32[8] parameter(0)\n  ROOT r = f32[8] fusion(x, x), kind=kLoop, "
      "calls=level_" +
      std::to_string(kLevels) + "\n}\n";
  const WorkCounts c = root_counts(text);
  EXPECT_FLOAT_EQ(c.flops, 8 * (std::ldexp(1.0F, kLevels + 1) - 1));
  // Every level passes each parameter on twice.
  EXPECT_FLOAT_EQ(c.operand_bytes[0], 8 * kF32 * std::ldexp(1.0F, kLevels));
}

}  // namespace
}  // namespace tilecast::ir
