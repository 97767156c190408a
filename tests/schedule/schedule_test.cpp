// Schedules of small kernels: ALCOP's examples, errors of each rule and step, and the text.
#include <gmock/gmock.h>

#include "ir/kernels/kernel_sketch.h"
#include "schedule/from_kernel.h"
#include "schedule/pipeline.h"
#include "schedule/primitives.h"
#include "schedule/text.h"
#include "schedule/walk.h"
#include "tests/schedule/random_schedules.h"
#include "tests/schedule/run_loops.h"
#include "tests/support/errors.h"

namespace tilecast::schedule {
namespace {

using ::testing::HasSubstr;

LoopProgram loops(const std::string& text) {
  return parse_loops(base::SourceText("test.loops", text));
}

template <class Step>
std::string refusal(const Step& step) {
  return support::error_of([&] { step(); }, "accepted");
}

// The input of ALCOP's Fig. 7, one block: tiles of a and b in shared memory, parts of them in
// registers.
constexpr const char* kTwoLevels = R"(program product
  input main a f32[16,128]
  input main b f32[128,16]
  output main c f32[16,16]
  temporary shared a.shared f32[16,32] stages 3
  temporary shared b.shared f32[32,16] stages 3
  temporary register a.register f32[16,8] stages 2
  temporary register b.register f32[8,16] stages 2
{
  loop i < 16 {
    loop j < 16 {
      c[i, j] = 0:f32
    }
  }
  loop ko < 4 {
    copy a.shared[0, 0] = a[0, 32 * ko] size 16x32 async
    copy b.shared[0, 0] = b[32 * ko, 0] size 32x16 async
    loop ki < 4 {
      copy a.register[0, 0] = a.shared[0, 8 * ki] size 16x8 async
      copy b.register[0, 0] = b.shared[8 * ki, 0] size 8x16 async
      multiply c[0, 0] += a.register[0, 0] * b.register[0, 0] size 16x16x8
    }
  }
}
)";

TEST(Pipelined, GivesTheLoopsOfAlcopsFigure7) {
  const std::string text = to_text(pipelined(loops(kTwoLevels)));
  const std::string body = text.substr(text.find("  loop ko.first"));
  EXPECT_EQ(body, R"(  loop ko.first < 2 {
    producer_acquire shared@ko
    copy a.shared[ko.first][0, 0] = a[0, 32 * (ko.first % 4)] size 16x32 async
    copy b.shared[ko.first][0, 0] = b[32 * (ko.first % 4), 0] size 32x16 async
    producer_commit shared@ko
  }
  consumer_wait shared@ko
  loop ki.first < 1 {
    producer_acquire register@ki
    copy a.register[ki.first][0, 0] = a.shared[0][0, 8 * ki.first] size 16x8 async
    copy b.register[ki.first][0, 0] = b.shared[0][8 * ki.first, 0] size 8x16 async
    producer_commit register@ki
  }
  loop ko < 4 {
    producer_acquire shared@ko
    copy a.shared[(ko + 2) % 3][0, 0] = a[0, 32 * ((ko + 2) % 4)] size 16x32 async
    copy b.shared[(ko + 2) % 3][0, 0] = b[32 * ((ko + 2) % 4), 0] size 32x16 async
    producer_commit shared@ko
    loop ki < 4 {
      guard 0 <= ki - 3 < 1 {
        consumer_wait shared@ko
      }
      producer_acquire register@ki
      copy a.register[(ki + 1) % 2][0, 0] = a.shared[(((ki + 1) / 4) + ko) % 3][0, 8 * ((ki + 1) % 4)] size 16x8 async
      copy b.register[(ki + 1) % 2][0, 0] = b.shared[(((ki + 1) / 4) + ko) % 3][8 * ((ki + 1) % 4), 0] size 8x16 async
      producer_commit register@ki
      consumer_wait register@ki
      multiply c[0, 0] += a.register[ki % 2][0, 0] * b.register[ki % 2][0, 0] size 16x16x8
      consumer_release register@ki
    }
    consumer_release shared@ko
  }
  loop ki.last < 1 {
    consumer_wait register@ki
  }
  loop ki.last < 1 {
    consumer_release register@ki
  }
  loop ko.last < 1 {
    consumer_wait shared@ko
  }
  loop ko.last < 2 {
    consumer_release shared@ko
  }
}
)");
}

TEST(Pipelined, IsTheProgramItselfWithoutStages) {
  const LoopProgram plain = random_schedule(1).program;
  LoopProgram unstaged = plain;
  for (Buffer& buffer : unstaged.buffers) buffer.stages = 1;
  EXPECT_EQ(to_text(pipelined(unstaged)), to_text(unstaged));
}

// --- detection (II-A)

LoopProgram one_level(const std::string& loop, const std::string& fill) {
  return loops(
      "program p\n input main a f32[64]\n output main c f32[8]\n"
      "temporary shared s f32[8]\n{\n" +
      loop + " i < 8 {\n" + fill + "loop j < 8 { c[j] = s[j] }\n}\n}\n");
}

TEST(Detection, TakesACopyInASequentialLoop) {
  const Detection found = detect_pipeline(one_level("loop", "copy s[0] = a[8*i] size 8\n"), "s", 3);
  ASSERT_TRUE(found.found) << found.refusal;
  EXPECT_EQ(found.found->loop, "i");
  EXPECT_EQ(found.found->producer, "a");
}

TEST(Detection, Rule1RefusesWhatIsComputedAndWhatTheMachineCannotCopy) {
  const LoopProgram computed = one_level("loop", "loop k < 8 { s[k] = negate.f32(a[8*i + k]) }\n");
  EXPECT_THAT(detect_pipeline(computed, "s", 3).refusal, HasSubstr("rule 1: s is computed"));
  const LoopProgram copied = one_level("loop", "copy s[0] = a[8*i] size 8\n");
  EXPECT_THAT(detect_pipeline(copied, "s", 3, {.to_shared = false}).refusal,
              HasSubstr("no asynchronous copies to shared memory"));
  EXPECT_THAT(detect_pipeline(copied, "c", 3).refusal, HasSubstr("main memory"));
}

TEST(Detection, Rule2RefusesLoopsThatAreNotSequentialOrFillOnce) {
  for (const char* kind : {"parallel", "unroll"}) {
    EXPECT_THAT(detect_pipeline(one_level(kind, "copy s[0] = a[8*i] size 8\n"), "s", 3).refusal,
                HasSubstr("rule 2: loop i that fills s anew is no sequential loop"));
  }
  const LoopProgram once = loops(
      "program p input main a f32[8] output main c f32[8] temporary shared s f32[8] {"
      "loop i < 8 { copy s[i] = a[i] size 1 } loop j < 8 { c[j] = s[j] } }");
  EXPECT_THAT(detect_pipeline(once, "s", 3).refusal, HasSubstr("rule 2: s is filled once"));
}

TEST(Detection, Rule3RefusesBarriersThatDoNotMatch) {
  LoopProgram two = loops(
      "program p input main a f32[64] output main c f32[8]"
      "temporary shared s f32[8] stages 3 temporary shared t f32[2] {"
      "loop i < 8 { copy s[0] = a[8 * i] size 8"
      "  loop j < 4 { copy t[0] = a[8 * i + 2 * j] size 2"
      "    loop k < 2 { c[2 * j + k] = add.f32(s[2 * j + k], t[k]) } } } }");
  EXPECT_THAT(detect_pipeline(two, "t", 3).refusal, HasSubstr("wait in different loops, j and i"));
  EXPECT_TRUE(detect_pipeline(two, "t", 3, {.waits_for_scope = false}).found);
  EXPECT_THAT(refusal([&] {
                two.buffer("t").stages = 3;
                (void)pipelined(two);
              }),
              HasSubstr("rule 3"));
}

// --- order (II-B, Fig. 5): s1 -> s2 = f(s1) -> s3 = s2 x w

ir::Kernel negated_product() {
  ir::KernelSketch sketch("fig5", ir::Opcode::kFusion, {.tiled = false});
  const ir::OpId s1 = sketch.row_major_parameter(ir::DType::kF32, {8, 24});
  const ir::OpId w = sketch.row_major_parameter(ir::DType::kF32, {24, 8});
  const ir::OpId s2 = sketch.elementwise(ir::Opcode::kNegate, {s1});
  return sketch.build({sketch.dot(s2, w, {.lhs_contracting = {1}, .rhs_contracting = {0}}, {8, 8},
                                  ir::DType::kF32)});
}

Schedule tiled_product(const ir::Kernel& kernel) {
  Schedule made(read_loops(kernel));
  made.split("k_2", 6);
  made.reorder({"k_2o", "i_2", "j_2"});
  made.cache_read("k_2o", "negate.2", Scope::kShared);
  return made;
}

TEST(Order, InliningBeforePipeliningTakesTheCopyAway) {
  const ir::Kernel kernel = negated_product();
  Schedule made = tiled_product(kernel);
  made.inline_value("negate.2");
  EXPECT_THAT(refusal([&] { made.pipeline("negate.2.shared", 3); }),
              HasSubstr("rule 1: negate.2.shared is computed, not copied; inline after"));
  const auto inputs = whole_inputs(kernel, 1);
  EXPECT_EQ(run_loops(made.program(), inputs), interpreter::evaluate(kernel, inputs));
}

TEST(Order, InliningAfterPipeliningMovesTheComputationToTheUse) {
  const ir::Kernel kernel = negated_product();
  Schedule made = tiled_product(kernel);
  made.pipeline("negate.2.shared", 3);
  made.inline_value("negate.2");
  const LoopProgram code = pipelined(made.program());
  EXPECT_EQ(code.find("negate.2"), nullptr);
  EXPECT_EQ(code.buffer("parameter.0.shared").stages, 3);
  EXPECT_THAT(to_text(code), HasSubstr("negate.f32(parameter.0.shared[k_2o % 3][i_2, k_2i])"));
  const auto inputs = whole_inputs(kernel, 1);
  EXPECT_EQ(run_loops(code, inputs), interpreter::evaluate(kernel, inputs));
}

TEST(Order, TilingComesBeforePipelining) {
  Schedule made = tiled_product(negated_product());
  made.pipeline("negate.2.shared", 2);
  EXPECT_THAT(refusal([&] { made.split("k_2o", 2); }), HasSubstr("tiling comes before pipelining"));
  EXPECT_THAT(refusal([&] { made.unroll("k_2o"); }), HasSubstr("comes before pipelining"));
}

// --- steps and text

TEST(Steps, RefuseWhatDoesNotFitAndChangeNothing) {
  Schedule made(read_loops(negated_product()));
  const std::string before = to_text(made.program());
  EXPECT_THAT(refusal([&] { made.split("x", 2); }), HasSubstr("no loop runs x"));
  EXPECT_THAT(refusal([&] { made.split("k_2", 0); }), HasSubstr("expected 1 or more"));
  EXPECT_THAT(refusal([&] { made.reorder({"i", "k_2"}); }), HasSubstr("not in the perfect nest"));
  EXPECT_THAT(refusal([&] { made.multiply("i_2"); }), HasSubstr("in main memory"));
  EXPECT_THAT(refusal([&] { made.inline_value("dot.3"); }), HasSubstr("only a temporary"));
  EXPECT_EQ(to_text(made.program()), before);
}

TEST(Steps, SumsAreNotInlined) {
  ir::KernelSketch sketch("sum", ir::Opcode::kFusion, {.tiled = false});
  const ir::OpId x = sketch.row_major_parameter(ir::DType::kBF16, {8, 8});
  Schedule made(read_loops(sketch.build({sketch.reduce(x, ir::Opcode::kAdd, 1)})));
  const Buffer& sum = made.program().buffers.back();
  EXPECT_EQ(sum.dtype, ir::DType::kF32);  // rounded once, at the end
  EXPECT_THAT(refusal([&] { made.inline_value(sum.name); }), HasSubstr("2 nests write it"));
}

TEST(Text, SaysWhereItIsWrong) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"program p { x[0] = 1:f32 }", "test.loops:1:13: error: no buffer x"},
      {"program p input main a q9[3] {}", "q9 is no element type"},
      {"program p output main a f32[3] { a[i] = 1:f32 }", "no loop runs i here"},
      {"program p output main a f32[3] { a[0, 0] = 1:f32 }", "a has 1 dimensions, got 2 indices"},
      {"program p output main a f32[3] { loop i < 0 {} }", "expected a number above 0"},
      {"program p output main a f32[3] { a[0] = warp.f32(a[0]) }", "no op warp"},
      {"program p output main a f32[3] { a[1099511627776 * (1099511627776 * 2)] = 1:f32 }",
       "an index above 2^62"},
      {"program p temporary shared a f32[3] stages 9999 {}", "at most 1024 stages"},
      {"program p {", "expected"},
      {"", "expected `program`"},
  };
  for (const auto& [text, message] : kWrong) {
    EXPECT_THAT(refusal([t = text] { (void)loops(t); }), HasSubstr(message)) << text;
  }
  const std::string deep(10000, '(');
  EXPECT_THAT(refusal([&] { (void)loops("program p output main a f32[3] { a[" + deep); }),
              HasSubstr("nested deeper than 64"));
}

TEST(Index, QuotientsAndRemaindersAreExact) {
  const Index i = Index::of("i");
  for (std::int64_t v = -7; v < 30; ++v) {
    const Environment at{{"i", v}};
    for (const std::int64_t m : {1, 2, 3, 7}) {
      const std::int64_t quotient = ((i * 2 + 5) / m).value(at);
      const std::int64_t remainder = ((i * 2 + 5) % m).value(at);
      EXPECT_EQ(quotient * m + remainder, 2 * v + 5);
      EXPECT_GE(remainder, 0);
      EXPECT_LT(remainder, m);
    }
  }
  EXPECT_EQ(((i * 6 + 4) / 2).text(), "3 * i + 2");
  EXPECT_EQ(((i * 6 + 4) % 3).text(), "1");
}

}  // namespace
}  // namespace tilecast::schedule
