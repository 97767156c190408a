// Tests the random kernels: valid, varied, and with useful rounding bounds.
#include "tests/host/random_kernels.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "tests/host/rounding_bounds.h"

namespace tilecast::host {
namespace {

constexpr std::uint64_t kSeeds = 1000;

TEST(RandomKernels, AreTheSameForTheSameSeed) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(random_kernel(seed).text, random_kernel(seed).text);
  }
}

TEST(RandomKernels, CanBeEvaluatedAndCoverEveryFamilyOfOps) {
  std::map<ir::OpClass, int> classes;
  std::map<ir::Opcode, int> opcodes;
  std::map<ir::DType, int> types;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomKernel made = random_kernel(seed);
    EXPECT_EQ(interpreter::cannot_evaluate(made.kernel), "") << made.text;
    for (const ir::Op& op : made.kernel.ops()) {
      ++classes[ir::op_class(op.opcode)];
      ++opcodes[op.opcode];
      ++types[op.shape.dtype];
    }
  }
  for (const ir::OpClass work :
       {ir::OpClass::kElementwise, ir::OpClass::kTranscendental, ir::OpClass::kMatrix,
        ir::OpClass::kReduction, ir::OpClass::kDataMovement, ir::OpClass::kIndexed}) {
    EXPECT_GE(classes[work], static_cast<int>(kSeeds) / 100) << ir::name(work);
  }
  for (const ir::Opcode opcode :
       {ir::Opcode::kDot, ir::Opcode::kConvolution, ir::Opcode::kReduce, ir::Opcode::kReduceWindow,
        ir::Opcode::kGather, ir::Opcode::kDynamicSlice, ir::Opcode::kDynamicUpdateSlice,
        ir::Opcode::kPad, ir::Opcode::kConcatenate, ir::Opcode::kTranspose, ir::Opcode::kReshape,
        ir::Opcode::kBitcast, ir::Opcode::kReverse, ir::Opcode::kSlice, ir::Opcode::kIota}) {
    EXPECT_GE(opcodes[opcode], static_cast<int>(kSeeds) / 100) << ir::name(opcode);
  }
  for (const ir::DType dtype :
       {ir::DType::kF32, ir::DType::kBF16, ir::DType::kF16, ir::DType::kF64, ir::DType::kS32,
        ir::DType::kS8, ir::DType::kU8, ir::DType::kPred}) {
    EXPECT_GE(types[dtype], static_cast<int>(kSeeds) / 20) << ir::name(dtype);
  }
}

TEST(RandomKernels, RoundingCanBeBoundedTightlyForAlmostAllElements) {
  std::size_t elements = 0, unbounded = 0, loose = 0;
  for (std::uint64_t seed = 0; seed < kSeeds / 4; ++seed) {
    const RandomKernel made = random_kernel(seed);
    std::mt19937_64 random(seed);
    const std::vector<interpreter::Elements> inputs = random_inputs(made, random);
    const std::vector<interpreter::Elements> plain = interpreter::evaluate(made.kernel, inputs);
    const std::vector<Bounded> results = evaluate_with_bounds(made.kernel, inputs);
    for (std::size_t k = 0; k < results.size(); ++k) {
      const Bounded& result = results[k];
      const double u = unit_roundoff(made.kernel.op(made.kernel.outputs()[k]).shape.dtype);
      elements += result.value.size();
      for (std::size_t i = 0; i < result.value.size(); ++i) {
        EXPECT_TRUE(agrees(plain[k][i], result.value[i], 0)) << made.text;
        unbounded += std::isfinite(result.bound[i]) ? 0U : 1U;
        loose += result.bound[i] > 64 * u * std::abs(result.value[i]) + 64 * u ? 1U : 0U;
      }
    }
  }
  EXPECT_LE(unbounded, elements / 50);
  EXPECT_LE(loose, elements / 10);
}

}  // namespace
}  // namespace tilecast::host
