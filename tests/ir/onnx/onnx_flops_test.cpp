// FLOPs of known models against manual counts (a multiply-add is 2), and models in the shared
// folder.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>

#include "base/error.h"
#include "ir/counts/work_counts.h"
#include "ir/onnx/onnx.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"
#include "tests/ir/onnx/graphs.h"
#include "tests/support/folders.h"

namespace tilecast::ir {
namespace {

namespace fs = std::filesystem;

// FLOPs of matrix products and convolutions.
double product_flops(const Module& module) {
  WorkCounter counter(module);
  double flops = 0;
  const auto& instructions = module.entry_computation().instructions;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (op_class(instructions[i].opcode) != OpClass::kMatrix) continue;
    flops += static_cast<double>(counter.of(module.entry, InstrId(i)).flops);
  }
  return flops;
}

Module read_model(const fs::path& file, const ReadOptions& options) {
  return read_onnx(with_inferred_shapes(support::bytes_of(file)), file.string(), options);
}

// Kernel taps of one dimension inside the image, over all results: taps in the padding are no work
// (XLA also counts so). Padding is k / 2 on both sides.
double taps_inside(int size, int k, int stride) {
  double taps = 0;
  for (int at = -(k / 2); at + k <= size + k / 2; at += stride) {
    for (int tap = at; tap < at + k; ++tap) taps += tap >= 0 && tap < size ? 1 : 0;
  }
  return taps;
}

double conv_flops(int size, double in, double out, int k, int stride = 1) {
  return 2 * in * out * taps_inside(size, k, stride) * taps_inside(size, k, stride);
}

TEST(OnnxFlops, ResNet50IsWithinOnePercentOfTheHandCount) {
  const fs::path file = graphs_dir() / "resnet50.onnx";
  if (!fs::exists(file)) GTEST_SKIP() << "no graphs: python3-onnx is absent";
  const Module module = read_model(file, {.input_shapes = {{"image", {8, 3, 224, 224}}}});
  double expected = conv_flops(224, 3, 64, 7, 2) + 2 * 2048.0 * 1000;
  double channels = 64;
  struct Stage {
    double width;
    int size, blocks, stride;  // size: of its input
  };
  for (const Stage& stage :
       {Stage{64, 56, 3, 1}, {128, 56, 4, 2}, {256, 28, 6, 2}, {512, 14, 3, 2}}) {
    const double wide = 4 * stage.width;
    for (int block = 0; block < stage.blocks; ++block) {
      const int stride = block == 0 ? stage.stride : 1;
      const int size = block == 0 ? stage.size : stage.size / stage.stride;
      expected += conv_flops(size, channels, stage.width, 1);
      expected += conv_flops(size, stage.width, stage.width, 3, stride);
      expected += conv_flops(size / stride, stage.width, wide, 1);
      if (block == 0) expected += conv_flops(size, channels, wide, 1, stride);
      channels = wide;
    }
  }
  std::cout << "ResNet-50: " << product_flops(module) / 8 << " FLOPs per image, by hand "
            << expected << "\n";
  EXPECT_NEAR(product_flops(module) / (8 * expected), 1, 0.01);
  // The published count is 4.1 G multiply-adds, including taps in the padding: 3.4 % more.
  EXPECT_NEAR(expected, 2 * 4.1e9, 0.04 * 2 * 4.1e9);
}

TEST(OnnxFlops, BertBaseIsWithinOnePercentOfTheHandCount) {
  const fs::path file = graphs_dir() / "bert_base.onnx";
  if (!fs::exists(file)) GTEST_SKIP() << "no graphs: python3-onnx is absent";
  const double b = 2, s = 384, h = 768, layers = 12;
  const Module module = read_model(file, {.input_shapes = {{"ids", {2, 384}}}});
  // Per layer: four h x h and two h x 4h products on every token, and two s x s x h per sequence.
  const double expected =
      layers * (2 * b * s * (4 * h * h + 2 * h * 4 * h) + 2 * 2 * b * s * s * h);
  std::cout << "BERT base: " << product_flops(module) << " FLOPs, by hand " << expected << "\n";
  EXPECT_NEAR(product_flops(module) / expected, 1, 0.01);
}

// At least 80 % can be read; each of them keeps its meaning when printed as HLO text.
TEST(OnnxModels, PublicOnesAreReadAndPrintedAsTheyAre) {
  const fs::path folder = support::shared_dir() / "inputs" / "onnx";
  if (!fs::exists(folder)) GTEST_SKIP() << "no models at " << folder;
  std::size_t read = 0;
  const std::vector<fs::path> models = support::files_below(folder, ".onnx");
  for (const fs::path& file : models) {
    try {
      const Module module = read_model(file, {});
      ++read;
      const std::string text = print_hlo(module);
      EXPECT_EQ(print_hlo(parse_hlo(base::SourceText("printed.hlo", text))), text);
      std::cout << file.filename() << ": " << product_flops(module) / 1e9 << " GFLOP in products\n";
    } catch (const Error& error) {
      std::cout << error.what() << "\n";
    }
  }
  EXPECT_GE(static_cast<double>(read), 0.8 * static_cast<double>(models.size()));
}

}  // namespace
}  // namespace tilecast::ir
