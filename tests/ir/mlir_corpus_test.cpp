// Third-party StableHLO, read in place (skipped without it), and damaged MLIR.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "ir/mlir/mlir_parser.h"
#include "tests/ir/mlir_tree_text.h"
#include "tests/support/damage.h"
#include "tests/support/folders.h"

namespace tilecast::ir::mlir {
namespace {

void expect_read(const std::string& folder, double least_share) {
  const std::vector<std::filesystem::path> files =
      support::shared_files("inputs/" + folder, ".mlir");
  if (files.empty()) GTEST_SKIP() << "no files in " << folder;
  std::size_t refused = 0;
  for (const std::filesystem::path& file : files) {
    const base::SourceText text = base::SourceText::read_file(file.string());
    try {
      const Tree tree = parse_mlir(text);
      EXPECT_EQ(tree.module.name, "builtin.module") << file;
    } catch (const Error& error) {
      ++refused;
      std::printf("%s\n", error.what());
    }
  }
  EXPECT_LE(static_cast<double>(refused), (1 - least_share) * static_cast<double>(files.size()));
}

TEST(MlirCorpus, TestsOfJax) {
  expect_read("stablehlo_testdata", 0.97);
}

TEST(MlirCorpus, GenericForms) {
  expect_read("stablehlo_generic", 0.97);
}

TEST(MlirCorpus, JaxGoldens) {
  expect_read("stablehlo_jax_goldens", 0.97);
}

TEST(MlirCorpus, WholeModels) {
  expect_read("stablehlo_models", 1.0);
}

TEST(MlirCorpus, PrettyAndGenericTwinsAreOneTree) {
  const std::vector<std::filesystem::path> files =
      support::shared_files("inputs/stablehlo_generic", ".mlir");
  if (files.empty()) GTEST_SKIP() << "no files in stablehlo_generic";
  const std::filesystem::path twins = support::shared_dir() / "inputs" / "stablehlo_testdata";
  for (const std::filesystem::path& file : files) {
    const base::SourceText generic = base::SourceText::read_file(file.string());
    const base::SourceText pretty = base::SourceText::read_file((twins / file.filename()).string());
    EXPECT_EQ(tree_text(parse_mlir(generic)), tree_text(parse_mlir(pretty))) << file;
  }
}

const std::string kPretty = R"(#loc1 = loc("f.py":3:1)
!q = !quant.uniform<i8:f32, 0.5:-3>
module @jit_f attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["a"=2]>
  func.func public @main(%arg0: tensor<2x3xf32> {mhlo.sharding = "{replicated}"} loc("x"), %arg1: tensor<?x!q>) -> (tensor<2xf32> {jax.result_info = ""}) {
    %c = stablehlo.constant dense<"0x0000803F"> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %c) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32> loc(#loc1)
    %1:2 = stablehlo.while(%i = %0, %j = %c) : tensor<2xf32>, tensor<f32>
    cond {
      %p = stablehlo.compare LT, %j, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      stablehlo.return %i, %j : tensor<2xf32>, tensor<f32>
    }
    %2 = call @g(%1#0) : (tensor<2xf32>) -> tensor<2xf32>
    return %2 : tensor<2xf32>
  }
  func.func private @g(tensor<2xf32>) -> tensor<2xf32>
}
)";
const std::string kGeneric = R"("builtin.module"() <{sym_name = "m"}> ({
  "func.func"() <{function_type = (tensor<4x4xbf16>) -> tensor<1x2xbf16>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x4xbf16>):
    %0 = "stablehlo.slice"(%arg0) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 1, 2>, strides = array<i64: 1, 1>}> : (tensor<4x4xbf16>) -> tensor<1x2xbf16>
    %1 = "stablehlo.gather"(%0, %0) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], index_vector_dim = 1>, p = #stablehlo<precision HIGH>, padding = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<1x2xbf16>, tensor<1x2xbf16>) -> tensor<1x2xbf16>
    "func.return"(%1) : (tensor<1x2xbf16>) -> ()
  }) {x.y = [1.5 : f32, 0x7F80 : bf16, @a::@b, unit]} : () -> ()
}) : () -> ()
foo.bar %x {
)";

// Reads the tree and the values of its constants.
void read_everything(const std::string& bytes) {
  const base::SourceText text("damaged.mlir", bytes);
  const Tree tree = parse_mlir(text);
  for (const Region& region : tree.module.regions) {
    for (const Block& block : region.blocks) {
      for (const Operation& op : block.operations) {
        for (const NamedAttribute& attribute : op.attributes) {
          if (attribute.value.kind != Attribute::Kind::kDense) continue;
          (void)read_dense(attribute.value, tree.at(attribute.value.type), text, 1000);
        }
      }
    }
  }
}

TEST(MlirDamage, ATreeOrAnError) {
  support::expect_answer_or_error({kPretty, kGeneric}, 20'000, 12, read_everything);
}

TEST(MlirDamage, DamagedConstants) {
  const std::string constants = R"(
%a = stablehlo.constant dense<[[1, -2], [0x10, 4]]> : tensor<2x2xi16>
%b = stablehlo.constant dense<"0x0000803F000000C0"> : tensor<2xf32>
%c = stablehlo.constant dense<[(1.5,-0.0), (0x7FC00000,2)]> : tensor<2xcomplex<f32>>
%d = stablehlo.constant dense<"0x05"> : tensor<5xi1>
)";
  support::expect_answer_or_error({constants}, 20'000, 13, read_everything);
}

}  // namespace
}  // namespace tilecast::ir::mlir
