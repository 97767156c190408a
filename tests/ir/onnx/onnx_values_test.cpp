// Results of graphs converted to HLO: ONNX's own operator tests (written by make_graphs.py),
// evaluated op by op and compared with their expected results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "base/error.h"
#include "ir/counts/work_counts.h"
#include "ir/onnx/onnx.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"
#include "tests/interpreter/evaluate.h"
#include "tests/ir/onnx/graphs.h"
#include "tests/support/folders.h"

namespace tilecast::ir {
namespace {

namespace fs = std::filesystem;
using interpreter::Elements;

struct Case {
  std::map<std::string, Elements> inputs;
  std::vector<Elements> results;
};

Case read_case(const fs::path& file) {
  Case made;
  std::ifstream text(file);
  std::string kind, name, number;
  for (std::size_t count = 0; text >> kind >> name >> count;) {
    Elements values;
    for (std::size_t i = 0; i < count && text >> number; ++i) values.push_back(std::stod(number));
    if (kind == "in") made.inputs[name] = values;
    if (kind == "out") made.results.push_back(values);
  }
  return made;
}

// The whole entry computation as one kernel.
Kernel as_kernel(Module module) {
  const Computation& body = module.entry_computation();
  Computation entry;
  entry.name = "whole";
  Instruction call;
  call.name = "fusion";
  call.opcode = Opcode::kFusion;
  call.shape = body.root_instruction().shape;
  call.attrs = FusionAttrs{};
  call.called = {module.entry};
  for (std::size_t i = 0; i < body.parameters.size(); ++i) {
    const Instruction& parameter = body.at(body.parameters[i]);
    entry.instructions.push_back(parameter_instruction(parameter.name, parameter.shape, i));
    entry.parameters.emplace_back(i);
    call.operands.emplace_back(i);
  }
  entry.instructions.push_back(std::move(call));
  entry.root = InstrId(entry.instructions.size() - 1);
  module.computations.push_back(std::move(entry));
  module.entry = ComputationId(module.computations.size() - 1);
  WorkCounter counter(module);
  return make_kernel(module, module.entry, module.entry_computation().root, counter);
}

// "" if they agree within the tolerance of ONNX's backend tests for narrow types.
std::string difference(const std::vector<Elements>& made, const std::vector<Elements>& expected) {
  for (std::size_t r = 0; r < expected.size() && r < made.size(); ++r) {
    if (made[r].size() != expected[r].size()) return "sizes differ";
    for (std::size_t i = 0; i < made[r].size(); ++i) {
      const double a = made[r][i], b = expected[r][i];
      const bool same = a == b || (std::isnan(a) && std::isnan(b)) ||
                        std::abs(a - b) <= 1e-5 + 2e-3 * std::abs(b);
      if (!same) {
        return "result " + std::to_string(r) + "[" + std::to_string(i) + "] is " +
               std::to_string(a) + ", expected " + std::to_string(b);
      }
    }
  }
  return "";
}

TEST(OnnxValues, OperatorsComputeWhatOnnxSaysTheyDo) {
  const fs::path folder = graphs_dir() / "cases";
  if (!fs::exists(folder)) GTEST_SKIP() << "no graphs: python3-onnx is absent";
  int equal = 0, not_evaluated = 0, refused = 0;
  for (const fs::path& file : support::files_below(folder, ".onnx")) {
    std::optional<Module> module;
    try {
      module = read_onnx(with_inferred_shapes(support::bytes_of(file)), file.string(), {});
    } catch (const Error& error) {
      ++refused;
      const std::string what = error.what();
      EXPECT_TRUE(what.find("no mapping onto HLO") != std::string::npos ||
                  what.find("no counterpart in HLO") != std::string::npos ||
                  what.find("known only when the program runs") != std::string::npos)
          << what;
      continue;
    }
    const Kernel kernel = as_kernel(*module);
    const Case given = read_case(fs::path(file).replace_extension(".txt"));
    // Tensors of the file that became parameters have no value here.
    const auto is_given = [&](OpId id) { return given.inputs.count(kernel.name_of(id)) != 0; };
    const auto parameters = kernel.parameters();
    if (!interpreter::cannot_evaluate(kernel).empty() ||
        !std::all_of(parameters.begin(), parameters.end(), is_given)) {
      ++not_evaluated;
      continue;
    }
    std::vector<Elements> inputs;
    for (const OpId id : parameters) inputs.push_back(given.inputs.at(kernel.name_of(id)));
    const std::string wrong = difference(interpreter::evaluate(kernel, inputs), given.results);
    EXPECT_EQ(wrong, "") << file.filename();
    EXPECT_TRUE(module->warnings.empty()) << module->warnings[0];
    ++equal;
  }
  EXPECT_GE(equal, 600);
  EXPECT_LE(refused, 80);
  std::cout << equal << " equal, " << not_evaluated << " read but not evaluated, " << refused
            << " refused\n";
}

// --- FLOPs of known models against manual counts (a multiply-add is 2), and models in the shared
// folder.

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
