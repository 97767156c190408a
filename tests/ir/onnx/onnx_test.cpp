// Reading small graphs: folding, names, errors; and arbitrary bytes.
#include "ir/onnx/onnx.h"

#include <gmock/gmock.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <cstdlib>

#include "ir/counts/trip_count.h"
#include "ir/verify/verifier.h"
#include "tests/support/damage.h"
#include "tests/support/errors.h"

namespace tilecast::ir {
namespace {

using ::testing::HasSubstr;

// A model from ONNX's own text syntax: the graph, after the version of the operator set.
std::string model_bytes(const std::string& graph, int version = 17,
                        const std::string& functions = "") {
  const std::string imports = R"(<ir_version: 8, opset_import: ["" : )" + std::to_string(version) +
                              R"(, "com.microsoft" : 1, "local" : 1]>)";
  const std::string text = imports + graph + functions;
  ::onnx::ModelProto model;
  const auto status = ::onnx::OnnxParser::Parse(model, text.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model.SerializeAsString();
}

Module read_graph(const std::string& bytes, const ReadOptions& options = {}) {
  return read_onnx(bytes, "model.onnx", options);
}

std::string refusal_of(const std::string& bytes, const ReadOptions& options = {}) {
  return support::error_of([&] { return read_graph(bytes, options); }, "");
}

std::vector<Opcode> opcodes_of(const Module& module) {
  std::vector<Opcode> opcodes;
  for (const Instruction& one : module.entry_computation().instructions)
    opcodes.push_back(one.opcode);
  return opcodes;
}

// Must be first: a process that has loaded the module does not look for it again.
TEST(AbsentOnnxModule, IsRefusedWithThePlace) {
  setenv("TILECAST_ONNX_MODULE", "/nowhere/module.so", /*overwrite=*/1);
  const std::string reason =
      refusal_of(model_bytes("g (float[2] x) => (float[2] y) { y = Abs(x) }"));
  unsetenv("TILECAST_ONNX_MODULE");
  EXPECT_THAT(reason, HasSubstr("/nowhere/module.so"));
  EXPECT_THAT(reason, HasSubstr("TILECAST_ONNX_MODULE"));
  EXPECT_THAT(reason, HasSubstr("scripts/build onnx"));
}

TEST(AbsentOnnxModule, OtherFilesAreRefused) {
  setenv("TILECAST_ONNX_MODULE", "/proc/self/exe", /*overwrite=*/1);
  const std::string reason =
      refusal_of(model_bytes("g (float[2] x) => (float[2] y) { y = Abs(x) }"));
  unsetenv("TILECAST_ONNX_MODULE");
  EXPECT_THAT(reason, HasSubstr("cannot be loaded"));
}

TEST(Onnx, IsToldByItsTopLevelFields) {
  const std::string bytes = model_bytes("g (float[2] x) => (float[2] y) { y = Abs(x) }");
  EXPECT_TRUE(is_onnx(bytes));
  EXPECT_FALSE(is_onnx(""));
  EXPECT_FALSE(is_onnx("HloModule m\n"));
  EXPECT_FALSE(is_onnx("module @jit_f {}"));
  EXPECT_FALSE(
      is_onnx("\x0a\x05hello"));  // a message or string as field 1: an HLO proto, a profile
  EXPECT_FALSE(is_onnx(bytes.substr(0, 2)));
}

TEST(Onnx, NodesBecomeInstructionsThatNameThem) {
  const Module module = read_graph(model_bytes(
      "g (float[4, 8] x, float[8, 3] w) => (float[4, 3] y) { h = MatMul(x, w) y = Relu(h) }"));
  const Computation& entry = module.entry_computation();
  EXPECT_EQ(entry.root_instruction().opcode, Opcode::kMaximum);
  EXPECT_EQ(entry.root_instruction().op_name(), "y");
  EXPECT_EQ(entry.at(entry.parameters[1]).name, "w");
  EXPECT_EQ(to_string(entry.root_instruction().shape), "f32[4,3]{1,0}");
  EXPECT_TRUE(module.warnings.empty());
}

TEST(Onnx, ComputedShapesLeaveNothingBehind) {
  const Module module = read_graph(model_bytes(R"(g (float[2, 6, 4] x) => (float[2, 24] y)
      <int64[1] zero = {0}, int64[1] rest = {-1}> {
    s = Shape(x)  b = Gather(s, zero)  to = Concat<axis = 0>(b, rest)  y = Reshape(x, to) })"));
  EXPECT_EQ(opcodes_of(module), (std::vector{Opcode::kParameter, Opcode::kReshape}));
}

TEST(Onnx, FreeSizesAreAskedForAndSharedByName) {
  const std::string bytes =
      model_bytes("g (float[n, 3] x, float[n, 3] z) => (float[n, 3] y) { y = Add(x, z) }");
  EXPECT_THAT(refusal_of(bytes),
              HasSubstr("`x` has free dimensions: [n,3]; give its sizes: --shape x="));
  EXPECT_THAT(refusal_of(bytes, {.input_shapes = {{"q", {5, 3}}}}), HasSubstr("it has x, z"));
  EXPECT_THAT(refusal_of(bytes, {.input_shapes = {{"x", {5}}}}), HasSubstr("has 2 dimensions"));
  const Module given = read_graph(bytes, {.input_shapes = {{"x", {5, 3}}}});
  EXPECT_EQ(to_string(given.entry_computation().root_instruction().shape), "f32[5,3]{1,0}");
  EXPECT_EQ(to_string(read_graph(bytes, {.bound = 7}).entry_computation().root_instruction().shape),
            "f32[7,3]{1,0}");
}

TEST(Onnx, EveryOpWithoutAMappingIsNamedAtOnce) {
  const std::string reason = refusal_of(
      model_bytes("g (float[4] x) => (float[4] y) { a = local.Rare(x) b = Det(x) c = Det(x) "
                  "y = Abs(x) }"));
  EXPECT_THAT(reason, HasSubstr("model.onnx: 3 of 4 nodes have no mapping onto HLO"));
  EXPECT_THAT(reason, HasSubstr("Det (2 nodes), local:Rare (1 node)"));
}

TEST(Onnx, ErrorsNameTheNode) {
  const std::string reason = refusal_of(
      model_bytes("g (float[9, 8] x, float[4, 2] w) => (float[9, 2] y) { y = MatMul(x, w) }"));
  EXPECT_THAT(reason, HasSubstr("model.onnx: node `y` (MatMul): "));
  EXPECT_THAT(reason, HasSubstr("Contracting dimension sizes do not match"));
}

TEST(Onnx, FunctionsOfTheModelAreInlinedWithTheirAttributes) {
  const Module module = read_graph(model_bytes(
      "g (float[4] x) => (float[4] y) { y = local.Leak<slope = 0.5>(x) }", 17,
      R"(<domain: "local", opset_import: ["" : 17]> Leak <slope> (a) => (b) { b = LeakyRelu<alpha = @slope>(a) })"));
  EXPECT_EQ(module.entry_computation().root_instruction().opcode, Opcode::kSelect);
}

TEST(Onnx, OldOperandsLieAlongTheAxisThatTheyName) {
  const Module module =
      read_graph(model_bytes("g (float[2, 3, 4] x, float[3] b) => (float[2, 3, 4] y) { y = "
                             "Add<axis = 1, broadcast = 1>(x, b) }",
                             6));
  for (const Instruction& one : module.entry_computation().instructions) {
    EXPECT_TRUE(one.opcode != Opcode::kBroadcast || one.dimensions == Dims{1});
  }
  EXPECT_EQ(module.entry_computation().root_instruction().opcode, Opcode::kAdd);
}

TEST(Onnx, PlacesOfKnownNumbersAreKnown) {
  const Module module = read_graph(model_bytes(R"(g (float[4, 5] x) => (float[1, 2, 5] y)
      <int64[4] mask = {0, 3, 0, 1}> { at = NonZero(mask)  y = Gather<axis = 0>(x, at) })"));
  EXPECT_EQ(to_string(module.entry_computation().root_instruction().shape, false), "f32[1,2,5]");
}

TEST(Onnx, NewerOperatorSetsAreWarnedOf) {
  const std::string graph = "g (float[4] x) => (float[4] y) { y = Abs(x) }";
  EXPECT_TRUE(read_graph(model_bytes(graph, 20)).warnings.empty());
  ASSERT_EQ(read_graph(model_bytes(graph, 99)).warnings.size(), 1U);
}

TEST(Onnx, LoopsKeepTheirNumberOfTrips) {
  const Module module = read_graph(model_bytes(R"(g (float[2] x) => (float[2] y, float[5, 2] all)
      <int64 trips = {5}, bool go = {1}> {
    y, all = Loop<body = b (int64 i, bool c, float[2] before) => (bool again, float[2] after, float[2] seen) {
      again = Identity(c)  after = Add(before, x)  seen = Identity(after) }>(trips, go, x) })"));
  int loops = 0;
  for (const Instruction& one : module.entry_computation().instructions) {
    if (one.opcode != Opcode::kWhile) continue;
    ++loops;
    EXPECT_EQ(trip_count(module, module.entry_computation(), one), 5);
  }
  EXPECT_EQ(loops, 1);
}

// The trip count of the module's only loop.
std::optional<std::int64_t> turns_of(const Module& module) {
  for (const Instruction& one : module.entry_computation().instructions) {
    if (one.opcode == Opcode::kWhile) return trip_count(module, module.entry_computation(), one);
  }
  ADD_FAILURE() << "no loop";
  return std::nullopt;
}

// Removes the inputs called `none`: the text syntax cannot omit the first input.
std::string without_none(const std::string& bytes) {
  ::onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    for (auto& input : *node.mutable_input()) {
      if (input == "none") input.clear();
    }
  }
  return model.SerializeAsString();
}

TEST(Onnx, LoopsMayEndByTheirCondition) {
  const auto turns = [](const std::string& most, const std::string& start,
                        const std::string& test) {
    return turns_of(read_graph(without_none(model_bytes(
        "g (float[2] x, bool start) => (float[2] y) "
        "<float bound = {9}, int64 last = {6}, int64 most = {4}, bool go = {1}> "
        "{ y = Loop<body = b (int64 i, bool c, float[2] before) => (bool again, float[2] after) {"
        "  after = Add(before, x)  " +
        test + " }>(" + most + ", " + start + ", x) }"))));
  };
  const std::string by_value = "sum = ReduceSum<keepdims = 0>(after)  again = Less(sum, bound)";
  const std::string by_count = "again = Less(i, last)";
  // Counted from 0; the iteration in which the condition fails has run.
  EXPECT_EQ(turns("none", "go", by_count), 6 + 1);
  EXPECT_EQ(turns("most", "go", by_count), 4);
  EXPECT_EQ(turns("none", "go", by_value), std::nullopt);
  EXPECT_EQ(turns("none", "start", by_count), std::nullopt);
}

TEST(Onnx, LoopsThatStackResultsMustSayTheirMostTurns) {
  EXPECT_THAT(refusal_of(without_none(model_bytes(
                  "g (float[2] x) => (float[n, 2] all) <int64 last = {6}, bool go = {1}> "
                  "{ y, all = Loop<body = b (int64 i, bool c, float[2] before) => "
                  "(bool again, float[2] after, float[2] seen) { after = Add(before, x) "
                  "seen = Identity(after)  again = Less(i, last) }>(none, go, x) }"))),
              HasSubstr("make its first input a constant"));
}

TEST(Onnx, SlopesOfOldVersionsAreByChannel) {
  const std::string graph =
      "g (float[2, 3, 4, 3] x, float[3] s) => (float[2, 3, 4, 3] y) "
      "{ y = PRelu(x, s) }";
  for (const int version : {6, 7}) {
    const Module module = read_graph(model_bytes(graph, version));
    bool found = false;
    for (const Instruction& one : module.entry_computation().instructions) {
      found = found ||
              (one.opcode == Opcode::kBroadcast && one.dimensions == Dims{version == 6 ? 1 : 3});
    }
    EXPECT_TRUE(found) << version;
  }
}

// Elements of the operands of all products, and FLOPs of the products.
double flops_of_products(const Module& module) {
  double flops = 0;
  for (const Instruction& one : module.entry_computation().instructions) {
    if (one.opcode != Opcode::kDot) continue;
    const Shape& left = module.entry_computation().at(one.operands[0]).shape;
    double depth = 1;
    for (const std::int64_t dim : one.as<DotAttrs>().dims.lhs_contracting) {
      depth *= static_cast<double>(left.dims[static_cast<std::size_t>(dim)]);
    }
    flops += 2 * depth * static_cast<double>(element_count(one.shape));
  }
  return flops;
}

TEST(Onnx, QuantisedWeightsStayPackedInMemory) {
  constexpr int kRows = 16, kDepth = 100, kBlock = 32, kBlocks = 4, kTokens = 3;
  const std::string graph =
      "g (float[3, 100] x, uint8[16, 4, 16] w, float[64] s, uint8[32] z) => (float[3, 16] y) "
      "{ y = com.microsoft.MatMulNBits<K = 100, N = 16, bits = 4, block_size = 32>(x, w, s, z) }";
  const Module module = read_graph(model_bytes(graph));
  EXPECT_EQ(flops_of_products(module), 2.0 * kTokens * kDepth * kRows);
  const Shape& packed =
      module.entry_computation().at(module.entry_computation().parameters[1]).shape;
  EXPECT_EQ(element_count(packed) * 2, kRows * kBlocks * kBlock);
  EXPECT_THAT(opcodes_of(module), testing::Contains(Opcode::kBitcastConvert));
  EXPECT_THAT(
      refusal_of(model_bytes(
          "g (float[3, 8] x, uint8[16, 1, 3] w, float[16] s) => (float[3, 16] y) "
          "{ y = com.microsoft.MatMulNBits<K = 8, N = 16, bits = 3, block_size = 8>(x, w, s) }")),
      HasSubstr("3 bits"));
}

TEST(Onnx, RowsOfQuantisedTablesAreTakenPacked) {
  const Module module = read_graph(model_bytes(
      "g (uint8[1000, 32] table, int64[2, 3] ids, float16[1000, 4] s, uint8[1000, 2] z) "
      "=> (float16[2, 3, 64] y) "
      "{ y = com.microsoft.GatherBlockQuantized<bits = 4, block_size = 16>(table, ids, s, z) }"));
  const Computation& entry = module.entry_computation();
  EXPECT_EQ(to_string(entry.root_instruction().shape, false), "f16[2,3,64]");
  for (const Instruction& one : entry.instructions) {
    if (one.opcode == Opcode::kParameter) continue;
    EXPECT_LE(element_count(one.shape), 2 * 3 * 64) << one.name;  // never the whole table
  }
}

TEST(Onnx, GroupedQueriesReadKeysOfEarlierSteps) {
  constexpr double kBatch = 2, kHeads = 8, kWidth = 16, kSteps = 1, kPast = 31;
  const auto model = [](const std::string& attributes) {
    return model_bytes(
        "g (float16[2, 1, 128] q, float16[2, 1, 32] k, float16[2, 1, 32] v, float16[2, 2, 31, 16] "
        "pk, "
        "float16[2, 2, 31, 16] pv, int32[2] lengths, int32 total, float16[64, 8] c, float16[64, 8] "
        "s) "
        "=> (float16[2, 1, 128] y, float16[2, 2, 32, 16] nk, float16[2, 2, 32, 16] nv) "
        "{ y, nk, nv = com.microsoft.GroupQueryAttention<num_heads = 8, kv_num_heads = 2" +
        attributes + ">(q, k, v, pk, pv, lengths, total, c, s) }");
  };
  const double all = 2 * 2 * kBatch * kHeads * kSteps * (kPast + 1) * kWidth;
  EXPECT_EQ(flops_of_products(read_graph(model(""))), all);
  const Module turned =
      read_graph(model(", do_rotary = 1, rotary_interleaved = 1, softcap = 30.0"));
  EXPECT_EQ(flops_of_products(turned), all);
  EXPECT_THAT(opcodes_of(turned), testing::Contains(Opcode::kTanh));
  EXPECT_GT(turned.entry_computation().instructions.size(),
            read_graph(model("")).entry_computation().instructions.size());
  // A window of 8 keys.
  EXPECT_EQ(flops_of_products(read_graph(model(", local_window_size = 8"))), all * 8 / (kPast + 1));
  const Module packed = read_graph(model_bytes(
      "g (float16[2, 3, 192] qkv, int32[2] lengths, int32 total) => (float16[2, 3, 128] y, "
      "float16[2, 2, 3, 16] nk, float16[2, 2, 3, 16] nv) { y, nk, nv = "
      "com.microsoft.GroupQueryAttention<num_heads = 8, kv_num_heads = 2>(qkv, , , , , lengths, "
      "total) }"));
  EXPECT_EQ(flops_of_products(packed), 2 * 2 * kBatch * kHeads * 3 * 3 * kWidth);
}

TEST(Onnx, RotationsOfContribAreRead) {
  for (const char* positions : {"int64[1] at", "int64[2, 5] at"}) {
    const Module module =
        read_graph(model_bytes(std::string("g (float[2, 5, 64] x, ") + positions +
                               ", float[32, 8] c, float[32, 8] s) => (float[2, 5, 64] y) "
                               "{ y = com.microsoft.RotaryEmbedding(x, at, c, s) }"));
    EXPECT_EQ(to_string(module.entry_computation().root_instruction().shape, false), "f32[2,5,64]");
  }
}

TEST(Onnx, KnownConditionsTakeOneBranch) {
  const std::string branches = R"(y = If<then_branch = t () => (float[4] a) { a = Abs(x) },
      else_branch = e () => (float[4] b) { b = Neg(x) }>(c) })";
  const Module known =
      read_graph(model_bytes("g (float[4] x) => (float[4] y) <bool c = {1}> {" + branches));
  EXPECT_EQ(opcodes_of(known), (std::vector{Opcode::kParameter, Opcode::kAbs}));
  const Module open =
      read_graph(model_bytes("g (float[4] x, bool c) => (float[4] y) {" + branches));
  EXPECT_EQ(open.computations.size(), 3U);
}

TEST(Onnx, LargeWeightsAreParametersSmallIntegersConstants) {
  ::onnx::ModelProto model;
  ASSERT_TRUE(
      model.ParseFromString(model_bytes("g (float[2, 8] x) => (float[2, 8] y) <int64[1] axis = "
                                        "{0}> { h = Add(x, w) y = Unsqueeze(h, axis) }")));
  auto& weight = *model.mutable_graph()->add_initializer();
  weight.set_name("w");
  weight.set_data_type(::onnx::TensorProto::FLOAT);
  weight.add_dims(8);
  for (int i = 0; i < 8; ++i) weight.add_float_data(1);
  const Module module = read_graph(model.SerializeAsString());
  EXPECT_EQ(module.entry_computation().parameters.size(), 2U);
  EXPECT_EQ(module.entry_computation().at(module.entry_computation().parameters[1]).name, "w");
}

TEST(Onnx, LeftOutInputsAreNamed) {
  const std::string reason =
      refusal_of(model_bytes("g (float[4] x) => (int64[1, 4] y) { y = NonZero() }"));
  EXPECT_THAT(reason, HasSubstr("input 0 is missing"));
}

TEST(Onnx, DamagedGraphsAreReadOrRefused) {
  const std::vector<std::string> sources = {
      model_bytes(
          R"(g (float[1, 3, 8, 8] x, float[4, 3, 3, 3] w, float[4] b) => (float[1, 4, 2, 2] y) {
        h = Conv<strides = [2, 2], pads = [1, 1, 1, 1]>(x, w, b)  r = Relu(h)
        y = AveragePool<kernel_shape = [3, 3], ceil_mode = 1>(r) })"),
      model_bytes(
          R"(g (float[n, 6] x) => (float[n, 3] y) <int64[2] to = {-1, 3}, int64[1] k = {2}> {
        r = Reshape(x, to)  v, i = TopK(r, k)  s = Softmax(v)  p = Transpose<perm = [1, 0]>(s)
        e = Einsum<equation = "ij,jk->ik">(s, p)  y = Gather<axis = 0>(r, i) })"),
      model_bytes(
          R"(g (float[3, 2, 4] x, float[1, 12, 4] w, float[1, 12, 3] r) => (float[3, 1, 2, 3] y) {
        y, h, c = LSTM<hidden_size = 3>(x, w, r) })"),
      model_bytes(R"(g (float[2] x) => (float[5, 2] all) <int64 trips = {5}, bool go = {1}> {
        y, all = Loop<body = b (int64 i, bool c, float[2] before) => (bool again, float[2] after, float[2] seen) {
          again = Identity(c)  after = Add(before, x)  seen = Identity(after) }>(trips, go, x) })"),
      model_bytes(R"(g (uint8[2, 8] x, float s, uint8 z, int8[8, 3] w, int8 wz) => (uint8[2, 3] y) {
        y = QLinearMatMul(x, s, z, w, s, wz, s, z) })"),
      model_bytes(
          R"(g (float[1, 2, 4, 4] x) => (float[1, 2, 8, 6] y) <int64[4] sizes = {1, 2, 8, 6}> {
        r = Resize<mode = "linear">(x, , , sizes)  y = SoftmaxCrossEntropyLoss(r, r) })"),
  };
  const ReadOptions options{.bound = 3};
  support::expect_answer_or_error(sources, 20000, 12, [&](const std::string& bytes) {
    (void)is_onnx(bytes);
    verify(read_graph(bytes, options));
  });
}

}  // namespace
}  // namespace tilecast::ir
