// Tokamax's autotuning cache to a measurement set, and its keys to kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/fusion/fusion.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"
#include "measured/importers/importer.h"
#include "measured/importers/tokamax_modules.h"
#include "measured/measurement_set.h"
#include "tests/measured/set_on_disk.h"

namespace tilecast::measured {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

std::string unit_key(const std::string& x, const std::string& weights, bool residuals = false) {
  return R"({"x":")" + x + R"(","weights":")" + weights +
         R"(","activation":"jax._src.nn.functions.silu","precision":"BF16_BF16_F32",)" +
         R"("return_residuals":)" + (residuals ? "true}" : "false}");
}

// The shapes of what the entry computes, tuples left out.
std::vector<std::string> computed(const std::string& hlo) {
  const ir::Module module = ir::parse_hlo(base::SourceText("t.hlo", hlo));
  std::vector<std::string> shapes;
  for (const ir::Instruction& op : module.at(module.entry).instructions) {
    if (op.opcode == ir::Opcode::kParameter || op.shape.is_tuple()) continue;
    shapes.push_back(ir::to_string(op.shape, /*with_layout=*/false));
  }
  return shapes;
}

TEST(TokamaxModules, AGatedLinearUnitOnATpuKeepsItsProductWideAndCopiesItsHalves) {
  const auto shapes = [](const std::string& key) {
    return computed(tokamax_module("gated_linear_unit", key, /*tiled=*/true).hlo);
  };
  EXPECT_THAT(shapes(unit_key("bf16[64,32,128]", "bf16[128,2,256]")),
              ElementsAre("f32[2048,512]", "bf16[2048,512]", "bf16[2048,256]"));
  EXPECT_THAT(shapes(unit_key("f32[2048,128]", "f32[128,2,256]")),
              ElementsAre("f32[2048,512]", "f32[2048,512]", "f32[2048,256]"));
  EXPECT_THAT(shapes(unit_key("bf16[1,64,32,128]", "bf16[128,2,256]")),
              ElementsAre("f32[2048,512]", "bf16[2048,256]"));
  EXPECT_THAT(shapes(unit_key("bf16[1,64,32,128]", "bf16[128,2,256]", /*residuals=*/true)),
              ElementsAre("f32[2048,512]", "bf16[2048,512]", "bf16[2048,256]"));
}

TEST(TokamaxModules, OnAGpuTheProductHasTheTypeOfItsOperandsAndF32IsNarrowedFirst) {
  const auto shapes = [](const std::string& key) {
    return computed(tokamax_module("gated_linear_unit", key, /*tiled=*/false).hlo);
  };
  EXPECT_THAT(shapes(unit_key("bf16[64,32,128]", "bf16[128,2,256]")),
              ElementsAre("bf16[2048,512]", "bf16[2048,256]"));
  EXPECT_THAT(shapes(unit_key("f32[2048,128]", "f32[128,2,256]")),
              ElementsAre("bf16[2048,128]", "bf16[128,512]", "f32[2048,512]", "f32[2048,256]"));
}

TEST(TokamaxModules, ANormalisationIsAKernelPerReductionAndOneThatScales) {
  const std::string key =
      R"({"x":"bf16[64,96,128]","scale":"f32[128]","offset":"f32[128]","axis":-1,)"
      R"("subtract_mean":true,"return_residuals":)";
  const auto fused = [](const std::string& json) {
    const std::string hlo = tokamax_module("normalization", json, /*tiled=*/true).hlo;
    return computed(ir::print_hlo(ir::fuse(ir::parse_hlo(base::SourceText("t.hlo", hlo)))));
  };
  EXPECT_THAT(fused(key + "false}"),
              testing::IsSupersetOf({"f32[64,96]", "f32[64,96]", "bf16[64,96,128]"}));
  const std::string plain =
      R"({"x":"bf16[128,64]","scale":null,"offset":null,"axis":0,"subtract_mean":false,)"
      R"("return_residuals":false})";
  EXPECT_THAT(fused(plain), testing::IsSupersetOf({"f32[64]", "bf16[128,64]"}));
  EXPECT_EQ(tokamax_module("normalization", plain, /*tiled=*/false).left_out,
            "normalization on a GPU");
}

TEST(TokamaxModules, KeysThatAreDamagedSayWhere) {
  const auto message = [](const std::string& key) -> std::string {
    try {
      return tokamax_module("gated_linear_unit", key, true).left_out;
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(message("{"), "the key is no JSON object");
  EXPECT_THAT(message(R"({"x":"bf16[4,4]"})"), HasSubstr("key 'weights': expected it to be there"));
  EXPECT_THAT(message(unit_key("bf16", "bf16[128,2,256]")),
              HasSubstr("key 'x': expected an array"));
  EXPECT_THAT(message(unit_key("bf16[4,0]", "bf16[128,2,256]")), HasSubstr("whole extents of 1"));
  EXPECT_THAT(message(unit_key("bf16[4]", "bf16[128,2,256]")), HasSubstr("at least 2 extents"));
}

TEST(ImportTokamax, OfEqualKeysTheFastestCountsAndOthersAreListed) {
  const SetOnDisk folder;
  const auto row = [](const std::string& device, const std::string& op, const std::string& time) {
    std::string key = unit_key("bf16[64,128]", "bf16[128,2,256]"), quoted;
    for (const char c : key) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return device + "," + op + ",\"" + quoted + "\"," + time + "\n";
  };
  folder.write("runs.csv",
               "device,op,key_json,median_ms\n" + row("tpu_v5", "gated_linear_unit", "0.5") +
                   row("tpu_v5", "gated_linear_unit", "0.25") +
                   row("nvidia_h100_80gb_hbm3", "gated_linear_unit", "0.125") +
                   row("tpu_v9", "gated_linear_unit", "0.5") + row("tpu_v5", "ragged_dot", "0.5"));
  ImportOptions options;
  options.output = folder.path() + "/out";
  const ImportReport report = import_tokamax({folder.path() + "/runs.csv"}, "tokamax", options);
  EXPECT_THAT(report.left_out,
              UnorderedElementsAre(Pair("slower than a run of the same key", 1),
                                   Pair("device tpu_v9", 1), Pair("op ragged_dot", 1)));
  const MeasurementSet set = read_measurement_set(options.output);
  ASSERT_EQ(set.rows.size(), 2U);
  EXPECT_EQ(set.rows[0].device, "tpu_v5p");
  EXPECT_DOUBLE_EQ(set.rows[0].runtime->value, 0.25e-3);
  EXPECT_EQ(set.rows[1].device, "h100_sxm");
  EXPECT_TRUE(set.rows[1].is_program);
  EXPECT_NE(set.rows[0].file, set.rows[1].file);
}

}  // namespace
}  // namespace tilecast::measured
