#include "ir/fusion/fusion_space.h"

#include <gmock/gmock.h>

#include <random>
#include <set>

#include "ir/canonical_hash.h"
#include "ir/fusion/kernel_maker.h"
#include "ir/program.h"
#include "ir/read_module.h"
#include "ir/text/hlo_parser.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::ir {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kTwoReaders = R"(HloModule two_readers
ENTRY main {
  a = f32[64,64] parameter(0)
  b = f32[64,64] parameter(1)
  both = f32[64,64] add(a, b)
  up = f32[64,64] negate(both)
  down = f32[64,64] abs(both)
  ROOT out = (f32[64,64], f32[64,64]) tuple(up, down)
})";

Module parsed(std::string_view text) {
  return parse_hlo(base::SourceText("two.hlo", std::string(text)));
}

Module shipped(const std::string& name) {
  return read_module(support::source_dir().string() + "/configs/programs/" + name);
}

std::size_t decision(const FusionSpace& space, FusionStep step, std::string_view array,
                     std::string_view reader) {
  const Computation& entry = space.module().entry_computation();
  for (std::size_t i = 0; i < space.decisions().size(); ++i) {
    const FusionDecision& one = space.decisions()[i];
    if (one.step == step && entry.at(one.array).name == array &&
        entry.at(one.reader).name == reader) {
      return i;
    }
  }
  ADD_FAILURE() << "no decision at " << array << " > " << reader;
  return 0;
}

std::size_t kernels(const Module& module) {
  return make_program(module).kernels().size();
}

TEST(FusionSpace, KeepsApartWhatIsKeptApart) {
  const FusionSpace space(parsed(kTwoReaders));
  FusionConfiguration chosen = space.by_rules();
  EXPECT_EQ(kernels(space.fused(chosen)), 1u);
  for (const std::string_view reader : {"up", "down"}) {
    chosen[decision(space, FusionStep::kInto, "both", reader)] = FusionChoice::kKeep;
  }
  EXPECT_EQ(kernels(space.fused(chosen)), 1u) << "one kernel of three results";
  for (const std::string_view reader : {"up", "down"}) {
    chosen[decision(space, FusionStep::kOutput, "both", reader)] = FusionChoice::kKeep;
  }
  EXPECT_EQ(kernels(space.fused(chosen)), 2u) << "the readers still stand beside each other";
  chosen[decision(space, FusionStep::kBeside, "both", "down")] = FusionChoice::kKeep;
  EXPECT_EQ(kernels(space.fused(chosen)), 3u);
}

TEST(FusionSpace, RecomputesWhereAskedTo) {
  std::string text(kTwoReaders);
  text.insert(text.find("  up ="), "  third = f32[64,64] negate(both)\n");
  const FusionSpace space(parsed(kTwoReaders), {.recompute_to_save_bytes = false});
  FusionConfiguration chosen(space.decisions().size(), FusionChoice::kKeep);
  const std::size_t into_up = decision(space, FusionStep::kInto, "both", "up");
  const std::size_t into_down = decision(space, FusionStep::kInto, "both", "down");
  ASSERT_TRUE(space.decisions()[into_up].may_recompute);
  chosen[into_up] = chosen[into_down] = FusionChoice::kRule;
  EXPECT_EQ(kernels(space.fused(chosen)), 3u) << "the rules write it once";
  chosen[into_up] = FusionChoice::kFuse;
  EXPECT_EQ(kernels(space.fused(chosen)), 2u) << "each reader computes it";
}

TEST(FusionSpace, IsTheSameUnderOtherNames) {
  const FusionSpace space(shipped("small_decoder_train.hlo"));
  Module renamed = shipped("small_decoder_train.hlo");
  std::size_t number = 0;
  for (Computation& computation : renamed.computations) {
    computation.name = "c" + std::to_string(number++);
    for (Instruction& op : computation.instructions) op.name = "x" + std::to_string(number++);
  }
  const FusionSpace other(renamed);
  const FusionConfiguration chosen = space.random(0.5, 3);
  EXPECT_EQ(other.read(base::SourceText("chosen", space.text_of(chosen))), chosen);
  renamed.computations[renamed.entry.index()].instructions.front().shape.dims.front() += 1;
  EXPECT_NE(FusionSpace(renamed).program_hash(), space.program_hash());
}

TEST(FusionSpace, SaysWhatIsWrongInAFile) {
  const FusionSpace space(parsed(kTwoReaders));
  const std::string head = space.text_of(space.by_rules());
  const auto message = [&](const std::string& text) -> std::string {
    return support::error_of([&] { return space.read(base::SourceText("two.fusion", text)); });
  };
  EXPECT_THAT(message(""), HasSubstr("two.fusion: no fusion configuration; expected a first line"));
  EXPECT_THAT(message("tilecast.fusion/1 abc 3 decisions\n"),
              HasSubstr("two.fusion:1:1: error: made for another program; got abc, expected " +
                        space.program_hash()));
  EXPECT_THAT(message(head + "keep into\n"), HasSubstr("two.fusion:2:1: error: expected CHOICE"));
  EXPECT_THAT(message(head + "hold into 0:2>3\n"), HasSubstr("no choice is called 'hold'"));
  EXPECT_THAT(message(head + "keep into 0:0>9 # no\n"),
              HasSubstr("the program has no decision 'into 0:0>9'"));
  EXPECT_THAT(message(head + "keep into 0:2>3\nkeep into 0:2>3\n"),
              HasSubstr("two.fusion:3:1: error: this decision stands in the file twice"));
}

TEST(KernelMaker, MakesTheKernelsOfTheFusedProgram) {
  for (const char* name : {"small_transformer_train.hlo", "small_resnet.hlo",
                           "small_lstm_train.hlo", "small_adam.hlo", "mlp_train_loop.hlo"}) {
    const FusionSpace space(shipped(name));
    KernelMaker maker(space.module());
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const FusionConfiguration chosen = space.random(0.2 * static_cast<double>(seed + 1), seed);
      std::multiset<std::string> made, expected;
      const Program program = make_program(space.fused(chosen));
      for (const ScheduledKernel& kernel : program.kernels()) {
        expected.insert(canonical_hash(kernel.kernel));
      }
      for (std::size_t i = 0; i < space.module().computations.size(); ++i) {
        const ComputationId id(i);
        if (!space.is_sequential(id)) continue;
        for (const FusedKernel& kernel : space.plan(id, chosen)) {
          const Opcode root = space.module().at(id).at(kernel.roots.front()).opcode;
          if (kernel.members.size() == 1 && is_zero_cost(root)) continue;
          made.insert(canonical_hash(maker.make(id, kernel)));
        }
      }
      std::vector<std::string> strange;
      for (const std::string& hash : made) {
        if (!expected.contains(hash)) strange.push_back(hash);
      }
      EXPECT_THAT(strange, ::testing::IsEmpty()) << name << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace tilecast::ir
