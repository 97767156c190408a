#include "ir/layout_assignment.h"

#include <gmock/gmock.h>

#include <string>

#include "base/error.h"
#include "ir/infer/shape_inference.h"
#include "ir/text/hlo_parser.h"

namespace tilecast::ir {
namespace {

std::string laid_out(DType dtype, Dims dims, const LayoutRules& rules = {}) {
  Shape shape = Shape::array(dtype, std::move(dims));
  shape.layout = device_layout(shape, rules);
  return to_string(shape);
}

Module module_with(Shape shape) {
  Instruction parameter;
  parameter.name = "p";
  parameter.opcode = Opcode::kParameter;
  parameter.attrs = ParameterAttrs{};
  parameter.shape = std::move(shape);
  Computation computation;
  computation.name = "main";
  computation.instructions.push_back(parameter);
  Instruction copy = parameter;
  copy.name = "c";
  copy.opcode = Opcode::kCopy;
  copy.attrs = {};
  copy.operands = {InstrId(0)};
  computation.instructions.push_back(copy);
  computation.parameters = {InstrId(0)};
  computation.root = InstrId(1);
  Module module;
  module.name = "m";
  module.computations.push_back(computation);
  module.entry = ComputationId(0);
  return module;
}

const Shape& root_shape(const Module& module) {
  return module.entry_computation().root_instruction().shape;
}

TEST(LayoutAssignment, MatricesGetTheNativeTile) {
  EXPECT_EQ(laid_out(DType::kF32, {512, 768}), "f32[512,768]{1,0:T(8,128)}");
}

TEST(LayoutAssignment, NarrowTypesPackRowsIntoWords) {
  EXPECT_EQ(laid_out(DType::kBF16, {512, 768}), "bf16[512,768]{1,0:T(8,128)(2,1)}");
  EXPECT_EQ(laid_out(DType::kS8, {512, 768}), "s8[512,768]{1,0:T(8,128)(4,1)}");
  EXPECT_EQ(laid_out(DType::kS4, {512, 768}), "s4[512,768]{1,0:T(8,128)(8,1)E(4)}");
}

TEST(LayoutAssignment, FewRowsGetASmallerTile) {
  EXPECT_EQ(laid_out(DType::kF32, {1, 256}), "f32[1,256]{1,0:T(1,128)}");
  EXPECT_EQ(laid_out(DType::kF32, {3, 256}), "f32[3,256]{1,0:T(4,128)}");
  EXPECT_EQ(laid_out(DType::kBF16, {1, 256}), "bf16[1,256]{1,0:T(2,128)(2,1)}");
}

TEST(LayoutAssignment, VectorsGetAPowerOfTwoUpToTheLimit) {
  EXPECT_EQ(laid_out(DType::kF32, {10}), "f32[10]{0:T(128)}");
  EXPECT_EQ(laid_out(DType::kF32, {300}), "f32[300]{0:T(512)}");
  EXPECT_EQ(laid_out(DType::kF32, {5000}), "f32[5000]{0:T(1024)}");
  EXPECT_EQ(laid_out(DType::kBF16, {300}), "bf16[300]{0:T(512)(128)(2,1)}");
}

TEST(LayoutAssignment, ScalarsTakeOneRowOfLanes) {
  EXPECT_EQ(laid_out(DType::kF32, {}), "f32[]{:T(128)}");
  EXPECT_EQ(laid_out(DType::kBF16, {}), "bf16[]{:T(256)}");
}

TEST(LayoutAssignment, AThinArrayIsTurned) {
  EXPECT_EQ(laid_out(DType::kF32, {1024, 1}), "f32[1024,1]{0,1:T(1,128)}");
  EXPECT_EQ(laid_out(DType::kF32, {16, 4}), "f32[16,4]{0,1:T(4,128)}");
}

TEST(LayoutAssignment, SmallGainsDoNotChangeTheOrder) {
  // The other order would pad 1001 x 1000 slightly less.
  EXPECT_EQ(laid_out(DType::kF32, {1001, 1000}), "f32[1001,1000]{1,0:T(8,128)}");
}

TEST(LayoutAssignment, KeepsAGivenOrderThatPadsAsLittle) {
  Shape shape = Shape::array(DType::kF32, {128, 128});
  shape.layout = default_layout(2);
  shape.layout.edit().minor_to_major = {0, 1};
  EXPECT_EQ(device_layout(shape, {}).minor_to_major, (Dims{0, 1}));
}

TEST(LayoutAssignment, UntiledDevicesKeepPlainOrder) {
  LayoutRules rules;
  rules.tiled = false;
  EXPECT_EQ(laid_out(DType::kF32, {1024, 1}, rules), "f32[1024,1]{1,0}");
}

TEST(LayoutAssignment, EmptyAndUnboundedArraysGetALayoutToo) {
  EXPECT_EQ(laid_out(DType::kF32, {0, 128}), "f32[0,128]{1,0:T(1,128)}");
  EXPECT_EQ(laid_out(DType::kF32, {kUnboundedSize, 128}), "f32[?,128]{1,0:T(1,128)}");
}

TEST(LayoutAssignment, ModulesGetTilingsOnceAndKeepThem) {
  const Module plain = module_with(Shape::array(DType::kF32, {64, 256}));
  EXPECT_FALSE(has_device_layouts(plain));
  const Module tiled = assign_layouts(plain, {});
  EXPECT_TRUE(has_device_layouts(tiled));
  EXPECT_EQ(to_string(root_shape(tiled)), "f32[64,256]{1,0:T(8,128)}");
  LayoutRules other;
  other.sublanes = 16;
  EXPECT_EQ(root_shape(assign_layouts(tiled, other)), root_shape(tiled));
}

TEST(LayoutAssignment, TupleElementsGetTilingsToo) {
  const Module plain = module_with(Shape::tuple({Shape::array(DType::kF32, {64, 256})}));
  EXPECT_EQ(to_string(root_shape(assign_layouts(plain, {}))), "(f32[64,256]{1,0:T(8,128)})");
}

TEST(LayoutAssignment, UntiledDevicesDropTilings) {
  const Module tiled = assign_layouts(module_with(Shape::array(DType::kF32, {64, 256})), {});
  LayoutRules rules;
  rules.tiled = false;
  EXPECT_EQ(to_string(root_shape(assign_layouts(tiled, rules))), "f32[64,256]{1,0}");
}

// A 3x3 convolution of `images` images of 56 x 56 x 256.
std::string convolved(int images) {
  const std::string array = "bf16[" + std::to_string(images) + ",56,56,256]";
  const Module module = parse_hlo(base::SourceText("conv.hlo", R"(HloModule m
ENTRY main { x = )" + array + R"( parameter(0)
  w = bf16[3,3,256,256] parameter(1)
  ROOT y = )" + array + R"( convolution(x, w), window={size=3x3 pad=1_1x1_1},
      dim_labels=b01f_01io->b01f })"));
  return to_string(root_shape(assign_layouts(module, {})));
}

TEST(LayoutAssignment, ConvolutionsPutFeaturesAndImagesInTheMinorDimensions) {
  EXPECT_EQ(convolved(8), "bf16[8,56,56,256]{3,0,2,1:T(8,128)(2,1)}");
  EXPECT_EQ(convolved(2), "bf16[2,56,56,256]{3,0,2,1:T(2,128)(2,1)}");
}

TEST(LayoutAssignment, ASingleImagePutsASpatialDimensionInTheSublanes) {
  EXPECT_EQ(convolved(1), "bf16[1,56,56,256]{3,2,1,0:T(8,128)(2,1)}");
}

// The f32 array that a bf16 convolution reads through a convert.
std::string widened_input(int images, int features) {
  const std::string dims =
      "[" + std::to_string(images) + ",56,56," + std::to_string(features) + "]";
  const std::string depth = std::to_string(features);
  const Module module = parse_hlo(base::SourceText("conv.hlo", R"(HloModule m
ENTRY main { x = f32)" + dims + R"( parameter(0)
  h = bf16)" + dims + R"( convert(x)
  w = bf16[3,3,)" + depth + "," + depth + R"(] parameter(1)
  ROOT y = bf16)" + dims + R"( convolution(h, w), window={size=3x3 pad=1_1x1_1},
      dim_labels=b01f_01io->b01f })"));
  return to_string(assign_layouts(module, {}).entry_computation().at(InstrId(0)).shape);
}

TEST(LayoutAssignment, WideTypesFollowAConvolutionWhereThatPadsThemLittle) {
  EXPECT_EQ(widened_input(8, 256), "f32[8,56,56,256]{3,0,2,1:T(8,128)}");
  const double inflated = 128 / 4, own = 128.0 / 56;
  ASSERT_GT(inflated, 4 * own);
  EXPECT_EQ(widened_input(2, 4), "f32[2,56,56,4]{2,3,1,0:T(4,128)}");
}

TEST(LayoutAssignment, RefusesRulesThatAreNoSizes) {
  LayoutRules rules;
  rules.lanes = 0;
  EXPECT_THROW((void)device_layout(Shape::array(DType::kF32, {2, 2}), rules), Error);
}

// --- The inference rule of every family of operations, as a formula of its sizes.

constexpr const char* kAdder =
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n";

// The inferred shape of the last line of `body`, which omits it.
std::string inferred(const std::string& body) {
  const base::SourceText text("t.hlo", std::string(kAdder) + "ENTRY e {\n" + body + "\n}\n");
  const Module module = parse_hlo(text);
  return to_string(module.entry_computation().root_instruction().shape, /*with_layout=*/false);
}

std::string refusal(const std::string& body) {
  try {
    return "accepted as " + inferred(body);
  } catch (const Error& error) {
    return error.what();
  }
}

std::string array(const std::string& type, std::initializer_list<std::int64_t> dims) {
  return to_string(Shape::array(*parse_dtype(type), Dims(dims)), /*with_layout=*/false);
}

TEST(WindowOutputSize, CountsTheStepsThatFit) {
  for (const std::int64_t size : {0, 1, 5, 16}) {
    for (const std::int64_t window : {1, 3, 7}) {
      for (const std::int64_t stride : {1, 2, 5}) {
        std::int64_t steps = 0;
        const std::int64_t padded = size + 2;
        for (std::int64_t at = 0; at + window <= padded; at += stride) ++steps;
        WindowDim dim;
        dim.size = window;
        dim.stride = stride;
        dim.pad_low = 2;
        EXPECT_EQ(window_output_size(size, dim), steps) << size << " " << window << " " << stride;
      }
    }
  }
}

TEST(WindowOutputSize, StretchesByBothDilations) {
  WindowDim dim;
  dim.size = 3;
  dim.window_dilation = 2;  // spans 5
  dim.base_dilation = 3;    // 4 elements span 10
  EXPECT_EQ(window_output_size(4, dim), (4 - 1) * 3 + 1 - ((3 - 1) * 2 + 1) + 1);
}

TEST(WindowOutputSize, RefusesSizesBeyond64Bits) {
  WindowDim dim;
  dim.size = 3;
  dim.base_dilation = INT64_MAX / 2;
  EXPECT_THROW((void)window_output_size(1000, dim), Error);
}

TEST(InferShape, KeepsSizesOfElementwiseOperations) {
  EXPECT_EQ(inferred("p = f32[4,5] parameter(0)\n ROOT r = exponential(p)"), array("f32", {4, 5}));
  EXPECT_EQ(inferred("p = f32[4] parameter(0)\n ROOT r = compare(p, p), direction=LT"),
            array("pred", {4}));
  EXPECT_EQ(inferred("p = f32[4] parameter(0)\n ROOT r = is-finite(p)"), array("pred", {4}));
  EXPECT_EQ(inferred("p = f32[4] parameter(0)\n ROOT r = complex(p, p)"), array("c64", {4}));
  EXPECT_EQ(inferred("p = c128[4] parameter(0)\n ROOT r = imag(p)"), array("f64", {4}));
}

TEST(InferShape, TakesTheWiderFloatingPointType) {
  EXPECT_EQ(inferred("p = bf16[4] parameter(0)\n q = f32[4] parameter(1)\n ROOT r = add(p, q)"),
            array("f32", {4}));
}

TEST(InferShape, NeverBroadcastsByItself) {
  EXPECT_THAT(
      refusal("p = f32[4] parameter(0)\n q = f32[] parameter(1)\n ROOT r = f32[4] add(p, q)"),
      testing::HasSubstr("Implicit broadcast is not allowed"));
  EXPECT_THAT(
      refusal("p = f32[4] parameter(0)\n q = f32[5] parameter(1)\n ROOT r = f32[4] add(p, q)"),
      testing::HasSubstr("incompatible shapes: f32[4] and f32[5]"));
}

TEST(InferShape, AddsConcatenatedSizes) {
  const std::string two = "p = f32[3,5] parameter(0)\n q = f32[3,7] parameter(1)\n";
  EXPECT_EQ(inferred(two + "ROOT r = concatenate(p, q, p), dimensions={1}"),
            array("f32", {3, 5 + 7 + 5}));
  EXPECT_THAT(refusal(two + "ROOT r = concatenate(p, q), dimensions={0}"),
              testing::HasSubstr("Dimension 1 in both shapes must be equal"));
}

TEST(InferShape, PadsEdgesAndGaps) {
  EXPECT_EQ(inferred("p = f32[10] parameter(0)\n v = f32[] constant(0)\n"
                     "ROOT r = pad(p, v), padding=2_-1_3"),
            array("f32", {2 - 1 + 10 + (10 - 1) * 3}));
  EXPECT_THAT(refusal("p = f32[2] parameter(0)\n v = f32[] constant(0)\n"
                      "ROOT r = pad(p, v), padding=-2_-1"),
              testing::HasSubstr("negative size for dimension 0"));
}

TEST(InferShape, PermutesTransposedDimensions) {
  EXPECT_EQ(inferred("p = f32[2,3,4] parameter(0)\n ROOT r = transpose(p), dimensions={2,0,1}"),
            array("f32", {4, 2, 3}));
  EXPECT_THAT(refusal("p = f32[2,3] parameter(0)\n ROOT r = transpose(p), dimensions={0,0}"),
              testing::HasSubstr("not a permutation"));
}

TEST(InferShape, DropsReducedDimensions) {
  const std::string operands = "p = f32[2,3,4] parameter(0)\n z = f32[] constant(0)\n";
  EXPECT_EQ(inferred(operands + "ROOT r = reduce(p, z), dimensions={1}, to_apply=add"),
            array("f32", {2, 4}));
  EXPECT_THAT(refusal(operands + "ROOT r = reduce(p, z), dimensions={3}, to_apply=add"),
              testing::HasSubstr("Reducing out-of-bounds dimension 3"));
  EXPECT_THAT(refusal(operands + "ROOT r = reduce(p, z), dimensions={1,1}, to_apply=add"),
              testing::HasSubstr("Duplicate reduction dimension"));
}

TEST(InferShape, SlidesWindowsOfReductions) {
  EXPECT_EQ(inferred("p = f32[9,8] parameter(0)\n z = f32[] constant(0)\n"
                     "ROOT r = reduce-window(p, z), window={size=3x2 stride=2x2 pad=1_1x0_0}, "
                     "to_apply=add"),
            array("f32", {(9 + 2 - 3) / 2 + 1, (8 - 2) / 2 + 1}));
}

TEST(InferShape, OrdersBatchThenFreeDimensionsOfProducts) {
  const std::string operands = "p = f32[5,2,3] parameter(0)\n q = f32[3,5,7] parameter(1)\n";
  EXPECT_EQ(inferred(operands + "ROOT r = dot(p, q), lhs_batch_dims={0}, rhs_batch_dims={1}, "
                                "lhs_contracting_dims={2}, rhs_contracting_dims={0}"),
            array("f32", {5, 2, 7}));
  EXPECT_THAT(refusal(operands + "ROOT r = dot(p, q), lhs_contracting_dims={1}, "
                                 "rhs_contracting_dims={0}"),
              testing::HasSubstr("Contracting dimension sizes do not match"));
}

TEST(InferShape, LeadsRaggedContractionsByTheirGroups) {
  const std::string operands =
      "p = f32[6,4] parameter(0)\n q = f32[4,5] parameter(1)\n g = s32[3] parameter(2)\n";
  EXPECT_EQ(inferred(operands + "ROOT r = ragged-dot(p, q, g), lhs_contracting_dims={1}, "
                                "rhs_contracting_dims={0}, lhs_ragged_dims={1}"),
            array("f32", {3, 6, 5}));
}

TEST(InferShape, SizesConvolutionsByWindowAndGroups) {
  const std::string operands = "p = f32[8,16,16,6] parameter(0)\n q = f32[3,3,3,10] parameter(1)\n";
  EXPECT_EQ(inferred(operands + "ROOT r = convolution(p, q), window={size=3x3 stride=2x1 "
                                "pad=1_1x0_0}, dim_labels=b01f_01io->b01f, feature_group_count=2"),
            array("f32", {8, (16 + 2 - 3) / 2 + 1, 16 - 3 + 1, 10}));
  EXPECT_THAT(refusal(operands + "ROOT r = convolution(p, q), window={size=3x3}, "
                                 "dim_labels=b01f_01io->b01f"),
              testing::HasSubstr("RHS feature dimension (value 3)"));
}

TEST(InferShape, PlacesGatheredWindowsAtTheOffsetDimensions) {
  EXPECT_EQ(inferred("p = f32[30,40] parameter(0)\n i = s32[7,9,1] parameter(1)\n"
                     "ROOT r = gather(p, i), offset_dims={1}, collapsed_slice_dims={0}, "
                     "start_index_map={0}, index_vector_dim=2, slice_sizes={1,12}"),
            array("f32", {7, 12, 9}));
  EXPECT_THAT(refusal("p = f32[30,40] parameter(0)\n i = s32[7] parameter(1)\n"
                      "ROOT r = gather(p, i), offset_dims={1}, collapsed_slice_dims={0}, "
                      "start_index_map={0}, index_vector_dim=1, slice_sizes={1,41}"),
              testing::HasSubstr("Slice size at index 1"));
}

TEST(InferShape, ScattersIntoTheOperand) {
  const std::string operands =
      "p = f32[30,40] parameter(0)\n i = s32[7] parameter(1)\n u = f32[7,40] parameter(2)\n";
  const std::string attributes =
      ", inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
      "index_vector_dim=1, to_apply=add";
  EXPECT_EQ(inferred(operands + "ROOT r = scatter(p, i, u), update_window_dims={1}" + attributes),
            array("f32", {30, 40}));
  EXPECT_THAT(refusal(operands + "ROOT r = scatter(p, i, u), update_window_dims={0}" + attributes),
              testing::HasSubstr("scatter dimension 1"));
}

TEST(InferShape, HalvesTheSpectrumOfRealSignals) {
  EXPECT_EQ(inferred("p = f32[2,9] parameter(0)\n ROOT r = fft(p), fft_type=RFFT, fft_length={9}"),
            array("c64", {2, 9 / 2 + 1}));
  EXPECT_EQ(inferred("p = c64[2,5] parameter(0)\n ROOT r = fft(p), fft_type=IRFFT, fft_length={8}"),
            array("f32", {2, 8}));
}

TEST(InferShape, GivesStatisticsPerFeature) {
  EXPECT_EQ(
      inferred("p = f32[4,6,8] parameter(0)\n s = f32[6] parameter(1)\n"
               "ROOT r = batch-norm-training(p, s, s), epsilon=0.001, feature_index=1"),
      "(" + array("f32", {4, 6, 8}) + ", " + array("f32", {6}) + ", " + array("f32", {6}) + ")");
}

TEST(InferShape, ShortensTheLastDimensionToK) {
  EXPECT_EQ(inferred("p = f32[4,9] parameter(0)\n ROOT r = topk(p), k=3, largest=true"),
            "(" + array("f32", {4, 3}) + ", " + array("s32", {4, 3}) + ")");
  EXPECT_THAT(refusal("p = f32[4,2] parameter(0)\n ROOT r = topk(p), k=3, largest=true"),
              testing::HasSubstr("k=3 is larger than the last dimension of size=2"));
}

TEST(InferShape, FollowsTuplesAndTheirElements) {
  EXPECT_EQ(inferred("p = f32[4] parameter(0)\n q = s32[] parameter(1)\n t = tuple(p, q)\n"
                     "ROOT r = get-tuple-element(t), index=1"),
            "s32[]");
  EXPECT_THAT(refusal("p = f32[4] parameter(0)\n t = (f32[4]) tuple(p)\n"
                      "ROOT r = f32[4] get-tuple-element(t), index=1"),
              testing::HasSubstr("out of tuple bounds"));
}
}  // namespace
}  // namespace tilecast::ir
