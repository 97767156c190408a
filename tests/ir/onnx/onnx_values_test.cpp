// Results of graphs converted to HLO: ONNX's own operator tests (written by make_graphs.py),
// evaluated op by op and compared with their expected results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/error.h"
#include "ir/onnx/onnx.h"
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

}  // namespace
}  // namespace tilecast::ir
