// Assumptions made when a program is loaded become notes.
#include "ir/load_program.h"

#include <gmock/gmock.h>

namespace tilecast::ir {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> notes(const std::string& text, const LayoutRules& rules) {
  LoadOptions options;
  const DeviceProgram built =
      program_for(load_module(base::SourceText("test.hlo", text), options), rules, options);
  std::vector<std::string> all;
  for (const Note& note : built.notes) all.push_back(note.what);
  return all;
}

const LayoutRules kTiled;
const LayoutRules kPlain{.tiled = false};

TEST(LoadProgram, SaysThatShardingsAreNotApplied) {
  const auto text = [](const std::string& sharding) {
    return "HloModule m, num_partitions=8\nENTRY e {\n  p = f32[64,64] parameter(0), sharding={" +
           sharding + "}\n  ROOT r = f32[64,64] negate(p)\n}\n";
  };
  EXPECT_THAT(notes(text("devices=[8,1]0,1,2,3,4,5,6,7"), kPlain),
              Contains(AllOf(HasSubstr("not partitioned"), HasSubstr("8 devices"))));
  EXPECT_THAT(notes(text("replicated"), kPlain), Not(Contains(HasSubstr("not partitioned"))));
}

TEST(LoadProgram, SaysForWhichMachineAModuleWasCompiled) {
  const std::string plain =
      "HloModule m, is_scheduled=true\nENTRY e {\n  p = f32[64,64]{1,0} parameter(0)\n"
      "  ROOT r = f32[64,64]{1,0} negate(p)\n}\n";
  EXPECT_THAT(notes(plain, kTiled), Contains(HasSubstr("compiled for a GPU")));
  EXPECT_THAT(notes(plain, kPlain), Not(Contains(HasSubstr("compiled for"))));
  const std::string tiled =
      "HloModule m\nENTRY e {\n  p = f32[64,128]{1,0:T(8,128)} parameter(0)\n"
      "  ROOT r = f32[64,128]{1,0:T(8,128)} negate(p)\n}\n";
  EXPECT_THAT(notes(tiled, kPlain), Contains(HasSubstr("compiled for a TPU")));
}

TEST(LoadProgram, SaysThatThereIsNoKernel) {
  EXPECT_THAT(notes("HloModule m\nENTRY e {\n  ROOT p = f32[8] parameter(0)\n}\n", kPlain),
              Contains(HasSubstr("no kernel")));
}

TEST(LoadProgram, NarrowTypesArePackedOnEveryMachine) {
  const std::string text =
      "HloModule m\nENTRY e {\n  w = s4[64,128] parameter(0)\n  ROOT c = bf16[64,128] "
      "convert(w)\n}\n";
  for (const LayoutRules& rules : {kTiled, kPlain}) {
    LoadOptions options;
    const DeviceProgram built =
        program_for(load_module(base::SourceText("test.hlo", text), options), rules, options);
    const Kernel& kernel = built.program.kernels()[0].kernel;
    EXPECT_EQ(unpadded_bytes(kernel.op(kernel.parameters()[0]).shape), 64 * 128 / 2);
  }
}

}  // namespace
}  // namespace tilecast::ir
