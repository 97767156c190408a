// Pallas kernels of tests/fixtures/pallas: what their code moves and computes, against the formulas
// of the kernels that make_kernels.py writes; and damaged code.
#include "ir/kernel_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/error.h"
#include "ir/backend_config.h"
#include "ir/library_calls.h"
#include "ir/load_program.h"
#include "ir/mosaic/read_kernel_body.h"
#include "tests/support/damage.h"
#include "tests/support/folders.h"
#include "tests/support/hlo_parts.h"

namespace tilecast::ir {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Module module_of(const std::string& name) {
  const auto path = support::source_dir() / "tests" / "fixtures" / "pallas" / (name + ".mlir");
  return load_module(path.string(), {}).module;
}

const Instruction& call_of(const Module& module) {
  for (const Computation& computation : module.computations) {
    for (const Instruction& op : computation.instructions) {
      if (op.opcode == Opcode::kCustomCall) return op;
    }
  }
  throw Error("no custom call");
}

std::string code_of(const std::string& name) {
  return read_backend_config(*call_of(module_of(name)).backend_config).body;
}

KernelBody body_of(const std::string& name, std::size_t operands) {
  return read_kernel_body(code_of(name), operands, 1);
}

CustomCallCost cost_of_call(const std::string& name) {
  const DeviceProgram loaded =
      program_as_dumped({.file = name, .module = module_of(name), .notes = {}}, {});
  for (const ScheduledKernel& each : loaded.program.kernels()) {
    if (const auto& cost = each.kernel.custom_call_cost()) return *cost;
  }
  return {};
}

// Times and elements of all operations of one kind.
std::pair<double, double> done(const KernelBody& body, Opcode opcode) {
  double times = 0, elements = 0;
  for (const KernelBody::Work& work : body.work) {
    if (work.opcode != opcode) continue;
    times += work.times;
    elements += work.times * static_cast<double>(element_count(work.result));
  }
  return {times, elements};
}

constexpr double kM = 1024, kN = 1024, kK = 2048;  // of matmul, in blocks of 512 x 256 x 512

TEST(KernelBody, AProductCountsItsMultiplicationsAndSums) {
  const KernelBody body = body_of("matmul", 2);
  EXPECT_THAT(body.grid, ElementsAre(2, 4, 4));
  EXPECT_THAT(body.notes, IsEmpty());
  EXPECT_DOUBLE_EQ(body.flops, 2 * kM * kN * kK + kM * kN * 4);  // a sum in each of four steps
  EXPECT_EQ(done(body, Opcode::kDot), std::pair(32.0, kM * kN * 4));
  EXPECT_EQ(done(body, Opcode::kConvert), std::pair(8.0, kM * kN));  // in the last of four steps
  // Sums: cleared once, stored in each step, and the result: 6 stores for four steps.
  EXPECT_EQ(done(body, Opcode::kDynamicUpdateSlice).second, kM * kN * 6);
  // Loads: sums in each step and once for the result; both operands; none that nobody needs.
  EXPECT_EQ(done(body, Opcode::kDynamicSlice).second,
            kM * kN * 5 + kM * kK * (kN / 256) + kN * kK * (kM / 512));
}

TEST(KernelBody, ABlockThatStaysIsNotLoadedAgain) {
  const KernelBody body = body_of("matmul", 2);
  ASSERT_EQ(body.windows.size(), 3U);
  EXPECT_THAT(body.windows[0].block, ElementsAre(512, 512));
  // Left operand (i, l): another block with every step of l, and where j or i advance, as l starts
  // again. Result (i, j): where j or i advance.
  EXPECT_THAT(body.windows[0].moves, ElementsAre(1, 6, 24));
  EXPECT_THAT(body.windows[1].moves, ElementsAre(1, 6, 24));
  EXPECT_THAT(body.windows[2].moves, ElementsAre(1, 6, 0));
  EXPECT_TRUE(body.windows[2].written);
  const KernelBody norm = body_of("layer_norm", 3);
  EXPECT_THAT(norm.windows[0].moves, ElementsAre(15));
  EXPECT_THAT(norm.windows[1].moves, ElementsAre(0));
}

TEST(KernelBody, AnActivationRunsOncePerResult) {
  const KernelBody body = body_of("matmul_gelu", 2);
  EXPECT_EQ(body.transcendentals, 1024.0 * 2048);  // tanh
  EXPECT_EQ(done(body, Opcode::kDot), std::pair(4.0 * 4 * 2, 1024.0 * 2048 * 2));
}

TEST(KernelBody, ANormReducesTwice) {
  const KernelBody body = body_of("layer_norm", 3);
  EXPECT_EQ(body.transcendentals, 4096);  // a square root a row
  EXPECT_EQ(done(body, Opcode::kReduce), std::pair(2.0 * 16, 2.0 * 4096));
  EXPECT_THAT(body.notes, IsEmpty());
}

TEST(KernelBody, ALoopRunsAsOftenAsItsBoundsSay) {
  const double all = 8.0 * 2048 * 2048;  // scores
  const KernelBody whole = body_of("attention", 3);
  EXPECT_DOUBLE_EQ(whole.scores.count, all);
  EXPECT_DOUBLE_EQ(whole.scores.products, 2);
  EXPECT_DOUBLE_EQ(whole.scores.width, 128);
  EXPECT_EQ(done(whole, Opcode::kDot).first, 2 * 8 * 4 * 4);
  // Block i of four queries meets i + 1 blocks of keys: 10 of 16.
  const KernelBody causal = body_of("attention_causal", 3);
  EXPECT_DOUBLE_EQ(causal.scores.count, all * 10 / 16);
  EXPECT_EQ(done(causal, Opcode::kDot).first, 2 * 8 * 10);
  EXPECT_DOUBLE_EQ(causal.scores.compares, 1);
}

TEST(KernelBody, ChainedProductsAreAttention) {
  const auto whole = cost_of_call("attention").attention;
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->heads, 8);
  EXPECT_EQ(whole->query_block, 512);
  EXPECT_EQ(whole->key_block, 512);
  EXPECT_FALSE(whole->causal || whole->backward || whole->unread_mask);
  const auto causal = cost_of_call("attention_causal").attention;
  ASSERT_TRUE(causal);
  EXPECT_TRUE(causal->causal);
  EXPECT_FALSE(causal->assumed_mask);
  EXPECT_FALSE(cost_of_call("matmul_gelu").attention);
}

// The code says which side of an array is a head's width, not the order of the sides.
TEST(KernelBody, QueriesAndKeysMayHoldTheWidthBeforeTheRows) {
  const Module module = module_of("attention");
  const Instruction& call = call_of(module);
  const BackendConfig config = read_backend_config(*call.backend_config);
  const Shape rows = support::parse_shape("bf16[8,2048,128]"),
              turned = support::parse_shape("bf16[8,128,2048]");
  const auto plain = library_cost(call, std::array{rows, rows, rows}, config);
  const auto other = library_cost(call, std::array{turned, turned, rows}, config);
  ASSERT_TRUE(plain && other && plain->attention && other->attention);
  EXPECT_EQ(other->attention->width, 128);
  EXPECT_EQ(other->attention->queries, 2048);
  EXPECT_EQ(*other->attention, *plain->attention);
}

TEST(KernelBody, DataThatChooseBlocksAreNoted) {
  const KernelBody body = body_of("pick_rows", 2);
  EXPECT_EQ(body.windows[0].array, 1U);  // after the indices
  EXPECT_THAT(body.windows[0].moves, ElementsAre(63));
  EXPECT_THAT(body.notes, ElementsAre("blocks that data choose count as another one each"));
  EXPECT_FALSE(body.by_data);
}

TEST(KernelBody, AStatedCostSaysHowOftenDataTakeABranch) {
  const KernelBody body = body_of("matmul_by_data", 3);
  EXPECT_TRUE(body.by_data);
  EXPECT_THAT(body.notes, Contains("branches that data decide count in full"));
  EXPECT_EQ(done(body, Opcode::kDot).first, 32);
  const CustomCallCost cost = cost_of_call("matmul_by_data");
  EXPECT_EQ(cost.flops, kM * kN * kK);
  ASSERT_TRUE(cost.body);
  EXPECT_NEAR(done(*cost.body, Opcode::kDot).first, 16, 0.1);
}

TEST(KernelBody, CopiesThatTheCodeStarts) {
  const double bytes = 4096.0 * 1024 * 4;
  const KernelBody waits = body_of("copies", 1);
  EXPECT_THAT(waits.windows, IsEmpty());
  EXPECT_EQ(waits.in_turn.count, 32);
  EXPECT_EQ(waits.in_turn.read_bytes, bytes);
  EXPECT_EQ(waits.in_turn.written_bytes, bytes);
  EXPECT_EQ(waits.beside.read_bytes, 0);
  // The first block has nothing to run beside.
  const KernelBody ahead = body_of("copies_ahead", 1);
  EXPECT_EQ(ahead.beside.read_bytes, bytes * 15 / 16);
  EXPECT_EQ(ahead.in_turn.read_bytes, bytes / 16);
  EXPECT_EQ(ahead.in_turn.written_bytes, bytes);
}

TEST(KernelBody, CodeThatCannotBeReadIsNoted) {
  Module module = module_of("matmul");
  for (Computation& computation : module.computations) {
    for (Instruction& op : computation.instructions) {
      if (op.opcode != Opcode::kCustomCall) continue;
      op.backend_config =
          std::string(R"({"custom_call_config":{"body":"TUzvUg1NTElS"}})");  // version 6
    }
  }
  const DeviceProgram loaded = program_as_dumped({.file = "m", .module = module, .notes = {}}, {});
  std::string note;
  for (const ScheduledKernel& each : loaded.program.kernels()) {
    if (const auto& cost = each.kernel.custom_call_cost()) note = cost->note;
  }
  EXPECT_THAT(note, HasSubstr("got version 6, expected 0"));
}

TEST(KernelBody, DamagedCodeIsReadOrRefused) {
  std::vector<std::string> sources;
  for (const char* name : {"matmul", "attention_causal", "pick_rows", "copies_ahead"}) {
    sources.push_back(code_of(name));
  }
  support::expect_answer_or_error(sources, 20'000, 47, [](const std::string& code) {
    for (const std::size_t operands : {1, 2, 3}) (void)read_kernel_body(code, operands, 1);
  });
}

}  // namespace
}  // namespace tilecast::ir
