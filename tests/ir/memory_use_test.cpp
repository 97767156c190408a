#include "ir/memory/memory_use.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "ir/layout_assignment.h"
#include "ir/text/hlo_parser.h"

namespace tilecast::ir {
namespace {

constexpr double kArray = 1024 * 4;  // f32[1024]

Module module_of(const std::string& text) {
  return parse_hlo(base::SourceText("m.hlo", text));
}

// Memory use of an entry computation with these lines, after the other computations.
MemoryUse use_of(const std::string& entry, const std::string& others = "",
                 const std::string& header = "") {
  return memory_use(
      module_of(fmt::format("HloModule m{}\n\n{}\nENTRY e {{\n{}}}\n", header, others, entry)));
}

TEST(MemoryUse, AnOpThatReadsOtherElementsHoldsOperandAndResult) {
  const MemoryUse use = use_of(
      "  p = f32[1024] parameter(0)\n"
      "  a = f32[1024] reverse(p), dimensions={0}\n"
      "  b = f32[1024] reverse(a), dimensions={0}\n"
      "  ROOT c = f32[1024] reverse(b), dimensions={0}\n");
  EXPECT_EQ(use.peak.arguments, kArray);
  EXPECT_EQ(use.peak.outputs, kArray);  // a lies in the buffer of c, which is there all the time
  EXPECT_EQ(use.peak.temporaries, kArray);  // b
  EXPECT_EQ(use.at, "b");
  EXPECT_EQ(use.whole.outputs, kArray);
}

TEST(MemoryUse, AnElementwiseOpWritesOverAnOperandThatNothingReadsLater) {
  const std::string head =
      "  p = f32[1024] parameter(0)\n"
      "  a = f32[1024] reverse(p), dimensions={0}\n"
      "  b = f32[1024] negate(a)\n";
  EXPECT_EQ(use_of(head + "  ROOT c = f32[1024] abs(b)\n").peak.total(), 2 * kArray);
  EXPECT_EQ(use_of(head + "  ROOT c = f32[1024] add(a, b)\n").peak.total(), 3 * kArray);
}

// As in XLA's heap simulator: copies, and arrays that reach the op under another name, are
// separate.
TEST(MemoryUse, AnElementwiseOpWritesOverNoArrayThatItsOperandOnlyNames) {
  EXPECT_EQ(use_of("  p = f32[1024] parameter(0)\n"
                   "  a = f32[32,32] custom-call(p), custom_call_target=\"t\"\n"
                   "  b = f32[1024] bitcast(a)\n"
                   "  c = f32[1024] negate(b)\n"
                   "  ROOT d = f32[1] custom-call(c), custom_call_target=\"t\"\n")
                .peak.total(),
            3 * kArray + sizeof(float));
  EXPECT_EQ(use_of("  p = f32[1024] parameter(0)\n"
                   "  a = f32[1024] reverse(p), dimensions={0}\n"
                   "  ROOT c = f32[1024] copy(a)\n")
                .peak.total(),
            3 * kArray);
}

// As in XLA's buffer assigner: an output has a buffer of its own from the start, where arrays lie
// that fit and are dead when it is written, also those that its op only names.
TEST(MemoryUse, AnOutputHasItsBufferFromTheStart) {
  EXPECT_EQ(use_of("  p = f32[1024] parameter(0)\n"
                   "  a = f32[4096] custom-call(p), custom_call_target=\"t\"\n"
                   "  b = f32[1] custom-call(a), custom_call_target=\"t\"\n"
                   "  ROOT c = f32[1024] custom-call(b), custom_call_target=\"t\"\n")
                .peak.total(),
            (1 + 4 + 1) * kArray + sizeof(float));  // a is too large for the buffer of c
  EXPECT_EQ(use_of("  p = f32[1024] parameter(0)\n"
                   "  a = f32[32,32] custom-call(p), custom_call_target=\"t\"\n"
                   "  b = f32[1024] bitcast(a)\n"
                   "  ROOT c = f32[1024] negate(b)\n")
                .peak.total(),
            2 * kArray);
}

TEST(MemoryUse, ArgumentsAreNotWrittenOverUnlessTheyAreGivenAway) {
  const std::string text =
      "  p = f32[1024] parameter(0)\n"
      "  ROOT a = f32[1024] negate(p)\n";
  EXPECT_EQ(use_of(text).peak.total(), 2 * kArray);
  const MemoryUse given = use_of(text, "", ", input_output_alias={ {}: (0, {}, may-alias) }");
  EXPECT_EQ(given.peak.total(), kArray);
  EXPECT_EQ(given.aliased, kArray);
}

TEST(MemoryUse, AnUpdateTakesThePlaceOfItsTarget) {
  const std::string text =
      "  p = f32[1024] parameter(0)\n"
      "  u = f32[1] parameter(1)\n"
      "  i = s32[] parameter(2)\n"
      "  a = f32[1024] reverse(p), dimensions={0}\n"
      "  ROOT d = f32[1024] dynamic-update-slice(a, u, i)\n";
  EXPECT_EQ(use_of(text).peak.total(), 2 * kArray + 4 + 4);
}

TEST(MemoryUse, UpdatesOneAfterTheOtherTakeThePlaceOfTheFirstTarget) {
  const std::string fused =
      "f {\n"
      "  x = f32[1024] parameter(0)\n"
      "  y = f32[1] parameter(1)\n"
      "  j = s32[] parameter(2)\n"
      "  d = f32[1024] dynamic-update-slice(x, y, j)\n"
      "  ROOT e = f32[1024] dynamic-update-slice(d, y, j)\n"
      "}\n";
  const std::string made =
      "  p = f32[1024] parameter(0)\n"
      "  u = f32[1] parameter(1)\n"
      "  i = s32[] parameter(2)\n"
      "  a = f32[1024] reverse(p), dimensions={0}\n";
  const std::string fusion = "  ROOT r = f32[1024] fusion(a, u, i), kind=kLoop, calls=f\n";
  EXPECT_EQ(use_of(made + fusion, fused).peak.total(), 2 * kArray + 4 + 4);
  const std::string started =
      "  s = ((f32[1024], f32[1], s32[]), f32[1024], u32[]) fusion-start(a, u, i), kind=kLoop, "
      "calls=f\n"
      "  ROOT r = f32[1024] fusion-done(s)\n";
  constexpr double kContext = 4;
  EXPECT_EQ(use_of(made + started, fused).peak.total(), 2 * kArray + 4 + 4 + kContext);
}

TEST(MemoryUse, AFusionOverwritesTheOperandThatItReadsElementByElement) {
  const std::string fused =
      "f {\n"
      "  x = f32[1024] parameter(0)\n"
      "  y = f32[1024] parameter(1)\n"
      "  r = f32[1024] reverse(y), dimensions={0}\n"
      "  ROOT s = f32[1024] add(x, r)\n"
      "}\n";
  const auto peak_of = [&](const char* operands) {
    return use_of(fmt::format("  p = f32[1024] parameter(0)\n"
                              "  a = f32[1024] reverse(p), dimensions={{0}}\n"
                              "  ROOT b = f32[1024] fusion({}), kind=kLoop, calls=f\n",
                              operands),
                  fused)
        .peak.total();
  };
  EXPECT_EQ(peak_of("a, p"), 2 * kArray);
  EXPECT_EQ(peak_of("p, a"), 3 * kArray);
}

TEST(MemoryUse, TuplesElementsAndBitcastsNameTheSameArray) {
  const MemoryUse use = use_of(
      "  p = f32[1024] parameter(0)\n"
      "  a = f32[1024] reverse(p), dimensions={0}\n"
      "  t = (f32[1024], f32[1024]) tuple(a, p)\n"
      "  g = f32[1024] get-tuple-element(t), index=0\n"
      "  ROOT b = f32[32,32] bitcast(g)\n");
  EXPECT_EQ(use.peak.total(), 2 * kArray);
  EXPECT_EQ(use.peak.outputs, kArray);
}

TEST(MemoryUse, TransposesThatTheirLayoutsUndoMoveNothing) {
  const auto peak_of = [](const char* layout) {
    return use_of(fmt::format("  p = f32[16,64]{{1,0}} parameter(0)\n"
                              "  a = f32[64,16]{} transpose(p), dimensions={{1,0}}\n"
                              "  ROOT c = f32[2048] custom-call(a), custom_call_target=\"t\"\n",
                              layout))
        .peak.total();
  };
  EXPECT_EQ(peak_of("{0,1}"), 3 * kArray);
  EXPECT_EQ(peak_of("{1,0}"), 4 * kArray);
}

// The loop carries a, which it changes, and w, which it only reads.
const char* const kLoop =
    "c {\n"
    "  s = (s32[], f32[1024], f32[1024]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0\n"
    "  n = s32[] constant(8)\n"
    "  ROOT l = pred[] compare(i, n), direction=LT\n"
    "}\n"
    "b {\n"
    "  s = (s32[], f32[1024], f32[1024]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0\n"
    "  o = s32[] constant(1)\n"
    "  j = s32[] add(i, o)\n"
    "  a = f32[1024] get-tuple-element(s), index=1\n"
    "  w = f32[1024] get-tuple-element(s), index=2\n"
    "  x = f32[1024] reverse(a), dimensions={0}\n"
    "  y = f32[1024] multiply(x, w)\n"
    "  ROOT t = (s32[], f32[1024], f32[1024]) tuple(j, y, w)\n"
    "}\n";

TEST(MemoryUse, ALoopHoldsItsStateOnceAndWhatItsBodyMakes) {
  const MemoryUse use = use_of(
      "  p = f32[1024] parameter(0)\n"
      "  q = f32[1024] parameter(1)\n"
      "  z = s32[] constant(0)\n"
      "  a = f32[1024] reverse(p), dimensions={0}\n"
      "  t = (s32[], f32[1024], f32[1024]) tuple(z, a, q)\n"
      "  w = (s32[], f32[1024], f32[1024]) while(t), condition=c, body=b\n"
      "  ROOT r = f32[1024] get-tuple-element(w), index=1\n",
      kLoop);
  EXPECT_EQ(use.peak.arguments, 2 * kArray);  // q is passed through
  // a and x; the counter, its next value and constants are scalars.
  EXPECT_GE(use.peak.total(), 4 * kArray);
  EXPECT_LE(use.peak.total(), 4 * kArray + 8 * 4);
  EXPECT_EQ(use.at, "x");
}

TEST(MemoryUse, BranchesDoNotAddUp) {
  const std::string branches =
      "f {\n"
      "  x = f32[1024] parameter(0)\n"
      "  a = f32[4096] concatenate(x, x, x, x), dimensions={0}\n"
      "  ROOT r = f32[1024] slice(a), slice={[0:1024]}\n"
      "}\n"
      "g {\n"
      "  x = f32[1024] parameter(0)\n"
      "  a = f32[2048] concatenate(x, x), dimensions={0}\n"
      "  ROOT r = f32[1024] slice(a), slice={[0:1024]}\n"
      "}\n";
  const MemoryUse use = use_of(
      "  p = f32[1024] parameter(0)\n"
      "  k = pred[] parameter(1)\n"
      "  ROOT r = f32[1024] conditional(k, p, p), true_computation=f, false_computation=g\n",
      branches);
  EXPECT_EQ(use.peak.total(), 1 + kArray + 4 * kArray + kArray);
}

TEST(MemoryUse, OperandsOfAsynchronousOpsLiveUntilTheyAreDone) {
  const auto peak_of = [](const char* middle, const char* end) {
    return use_of(fmt::format("  p = f32[1024] parameter(0)\n"
                              "  a = f32[1024] reverse(p), dimensions={{0}}\n"
                              "  s = (f32[1024], f32[1024], u32[]) copy-start(a)\n{}"
                              "  d = f32[1024] copy-done(s)\n{}",
                              middle, end))
        .peak.total();
  };
  const char* const other = "  b = f32[1024] reverse(p), dimensions={0}\n";
  const char* const sum = "  ROOT r = f32[1024] add(b, d)\n";
  EXPECT_EQ(peak_of(other, sum), 4 * kArray + 4);  // p, a, its copy, b and the context
}

TEST(MemoryUse, SizesAreThoseOfTheDevicesLayout) {
  const std::string text =
      "HloModule m\n\nENTRY e {\n"
      "  p = f32[3,100] parameter(0)\n"
      "  ROOT a = f32[3,100] negate(p)\n}\n";
  const Module tiled = assign_layouts(module_of(text), {});
  double padded = 0;
  for (const Instruction& op : tiled.entry_computation().instructions) {
    padded += static_cast<double>(padded_bytes(op.shape));
  }
  EXPECT_GT(padded, 2 * 3 * 100 * 4.0);
  EXPECT_EQ(memory_use(tiled).peak.total(), padded);
}

// At the worst point 8 arrays are live: b and c of 3, d of 2. c lies where a of 4 lay, so that d
// fits neither below b nor beside it.
TEST(MemoryUse, InScheduledModulesGapsOfTheHeapCount) {
  const std::string text =
      "  p = f32[1] parameter(0)\n"
      "  a = f32[4096] custom-call(p), custom_call_target=\"t\"\n"
      "  b = f32[3072] custom-call(a), custom_call_target=\"t\"\n"
      "  c = f32[3072] custom-call(b), custom_call_target=\"t\"\n"
      "  d = f32[2048] custom-call(b), custom_call_target=\"t\"\n"
      "  e = f32[1] custom-call(c), custom_call_target=\"t\"\n"
      "  ROOT r = f32[1] custom-call(d, e), custom_call_target=\"t\"\n";
  const MemoryUse open = use_of(text), scheduled = use_of(text, "", ", is_scheduled=true");
  EXPECT_EQ(open.peak.gaps, 0);
  EXPECT_EQ(open.peak.total(), 8 * kArray + 2 * sizeof(float));
  EXPECT_EQ(scheduled.peak.gaps, kArray);
  EXPECT_EQ(scheduled.peak.total(), open.peak.total() + kArray);
}

TEST(MemoryUse, AnUpdateThroughAViewTakesThePlaceOfItsTarget) {
  const std::string fused =
      "v {\n  q = f32[1024] parameter(0)\n  ROOT k = f32[1024] copy(q)\n}\n"
      "f {\n"
      "  x = f32[1024] parameter(0)\n"
      "  y = f32[1] parameter(1)\n"
      "  j = s32[] parameter(2)\n"
      "  w = f32[1024] fusion(x), kind=kLoop, output_to_operand_aliasing={{}: (0, {})}, calls=v\n"
      "  ROOT d = f32[1024] dynamic-update-slice(w, y, j)\n"
      "}\n";
  EXPECT_EQ(use_of("  p = f32[1024] parameter(0)\n"
                   "  u = f32[1] parameter(1)\n"
                   "  i = s32[] parameter(2)\n"
                   "  a = f32[1024] reverse(p), dimensions={0}\n"
                   "  ROOT r = f32[1024] fusion(a, u, i), kind=kLoop, calls=f\n",
                   fused)
                .peak.total(),
            2 * kArray + 4 + 4);
}

TEST(MemoryUse, ArraysOfTheHostCountThere) {
  const MemoryUse use = use_of(
      "  p = f32[1024] parameter(0)\n"
      "  a = f32[1024]{0:S(5)} copy(p)\n"
      "  b = f32[1024]{0:S(5)} reverse(a), dimensions={0}\n"
      "  ROOT c = f32[1024] copy(b)\n");
  EXPECT_EQ(use.host, 2 * kArray);
  EXPECT_EQ(use.peak.total(), 2 * kArray);
}

TEST(MemoryUse, OtherMemorySpacesCountNothing) {
  const MemoryUse use = use_of(
      "  p = f32[1024]{0:T(1024)S(5)} parameter(0)\n"
      "  a = f32[1024]{0:T(1024)S(1)} reverse(p), dimensions={0}\n"
      "  ROOT b = f32[1024]{0:T(1024)} reverse(a), dimensions={0}\n");
  EXPECT_EQ(use.peak.total(), kArray);
}

TEST(MemoryUse, ReturnedArgumentsAreCopied) {
  EXPECT_EQ(use_of("  ROOT p = f32[1024] parameter(0)\n").peak.total(), 2 * kArray);
}

TEST(MemoryUse, WhatFillsThePeakIsListedLargestFirstAndAddsUp) {
  const MemoryUse use = use_of(
      "  p = f32[1024] parameter(0)\n"
      "  a = f32[2048] concatenate(p, p), dimensions={0}\n"
      "  ROOT c = f32[4096] concatenate(a, a), dimensions={0}\n");
  ASSERT_EQ(use.live.size(), 3U);
  EXPECT_EQ(use.live[0].name, "c");
  EXPECT_EQ(use.live[1].name, "a");
  EXPECT_EQ(use.live[2].name, "p");
  EXPECT_EQ(use.live[1].made_at, "a");
  EXPECT_EQ(use.live[1].last_read_at, "c");
  EXPECT_EQ(use.live[0].last_read_at, "");
  EXPECT_EQ(use.peak.total(), (1 + 2 + 4) * kArray);
}

// --- random straight-line programs ---------------------------------------------------------------

struct Line {
  int size = 1;               // f32[size]
  std::vector<int> operands;  // earlier lines; none: a parameter
};

struct RandomProgram {
  std::vector<Line> lines;

  [[nodiscard]] std::string text(bool elementwise) const {
    std::string out;
    int parameters = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const Line& line = lines[i];
      out += i + 1 == lines.size() ? "  ROOT " : "  ";
      if (line.operands.empty()) {
        out += fmt::format("v{} = f32[{}] parameter({})\n", i, line.size, parameters++);
      } else if (elementwise && line.operands.size() == 1 &&
                 lines[static_cast<std::size_t>(line.operands[0])].size == line.size) {
        out += fmt::format("v{} = f32[{}] negate(v{})\n", i, line.size, line.operands[0]);
      } else {
        out += fmt::format("v{} = f32[{}] custom-call(", i, line.size);
        for (std::size_t k = 0; k < line.operands.size(); ++k) {
          out += fmt::format("{}v{}", k == 0 ? "" : ", ", line.operands[k]);
        }
        out += "), custom_call_target=\"t\"\n";
      }
    }
    return out;
  }

  [[nodiscard]] bool is_live(std::size_t v, std::size_t now) const {
    bool lives = v == now;
    for (std::size_t reader = now; reader < lines.size(); ++reader) {
      const auto& read = lines[reader].operands;
      lives |= v <= now && std::ranges::find(read, static_cast<int>(v)) != read.end();
    }
    return lives;
  }

  // Arrays that lie in the buffer of the output, the largest first: no two are live at one line.
  [[nodiscard]] std::vector<bool> in_output() const {
    std::vector<std::size_t> order;
    for (std::size_t v = 0; v + 1 < lines.size(); ++v) order.push_back(v);
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](auto v) { return lines[v].size; });
    std::vector<bool> there(lines.size(), false), taken(lines.size(), false);
    taken.back() = true;
    for (const std::size_t v : order) {
      bool fits = !lines[v].operands.empty() && lines[v].size <= lines.back().size;
      for (std::size_t now = 0; now < lines.size(); ++now) fits &= !(taken[now] && is_live(v, now));
      if (!fits) continue;
      there[v] = true;
      for (std::size_t now = 0; now < lines.size(); ++now) {
        taken[now] = taken[now] || is_live(v, now);
      }
    }
    return there;
  }

  // Sums the live arrays at every line, one by one.
  [[nodiscard]] double live_sets_peak() const {
    const std::vector<bool> there = in_output();
    double most = 0;
    for (std::size_t now = 0; now < lines.size(); ++now) {
      double held = 0;
      for (std::size_t v = 0; v < lines.size(); ++v) {
        const bool is_held = lines[v].operands.empty() || v + 1 == lines.size();
        if (is_held || (!there[v] && is_live(v, now))) held += 4.0 * lines[v].size;
      }
      most = std::max(most, held);
    }
    return most;
  }

  [[nodiscard]] double bytes(bool parameters_only) const {
    double sum = 0;
    for (const Line& line : lines) {
      if (!parameters_only || line.operands.empty()) sum += 4.0 * line.size;
    }
    return sum;
  }
};

RandomProgram random_program(std::mt19937& random) {
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  RandomProgram program;
  const int parameters = draw(1, 3), count = parameters + draw(1, 20);
  for (int i = 0; i < count; ++i) {
    Line line{.size = 1 << draw(0, 4)};
    for (int k = i < parameters ? 0 : draw(1, 3); k > 0; --k) {
      line.operands.push_back(draw(std::max(0, i - 6), i - 1));
    }
    program.lines.push_back(line);
  }
  return program;
}

TEST(MemoryUseProperty, AgreesWithLiveSetsCountedOneByOne) {
  std::mt19937 random(18);
  for (int i = 0; i < 2000; ++i) {
    const RandomProgram program = random_program(random);
    const std::string text = program.text(false);
    EXPECT_EQ(use_of(text).peak.total(), program.live_sets_peak()) << text;
  }
}

TEST(MemoryUseProperty, LiesBetweenWhatGoesInAndOutAndAllArrays) {
  std::mt19937 random(19);
  for (int i = 0; i < 2000; ++i) {
    const RandomProgram program = random_program(random);
    const std::string text = program.text(true);
    const MemoryUse use = use_of(text);
    EXPECT_GE(use.peak.total(), use.whole.arguments + use.whole.outputs) << text;
    EXPECT_EQ(use.whole.arguments, program.bytes(true)) << text;
    EXPECT_LE(use.peak.total(), program.bytes(false)) << text;
    // Arrays are placed one by one in the output's buffer: one that shares may keep out two others.
    EXPECT_LE(use.peak.total(),
              use_of(program.text(false)).peak.total() + 4.0 * program.lines.back().size)
        << text;
    double listed = 0;
    for (const LiveBuffer& buffer : use.live) listed += buffer.bytes;
    EXPECT_EQ(listed, use.peak.total()) << text;
  }
}

TEST(MemoryUseProperty, AnotherOpThatNothingReadsNeverLowersIt) {
  std::mt19937 random(20);
  for (int i = 0; i < 2000; ++i) {
    RandomProgram program = random_program(random);
    const double before = use_of(program.text(true)).peak.total();
    const auto place = static_cast<std::ptrdiff_t>(program.lines.size()) - 1;
    const Line root = program.lines.back();
    program.lines.insert(program.lines.begin() + place, Line{8, {0}});
    program.lines.back() = root;
    EXPECT_GE(use_of(program.text(true)).peak.total(), before) << program.text(true);
  }
}

TEST(MemoryUseProperty, GivingAnArgumentAwayNeverRaisesIt) {
  std::mt19937 random(21);
  for (int i = 0; i < 2000; ++i) {
    RandomProgram program = random_program(random);
    program.lines.back().size = program.lines[0].size;
    const std::string text = program.text(true);
    const double kept = use_of(text).peak.total();
    const MemoryUse given = use_of(text, "", ", input_output_alias={ {}: (0, {}, may-alias) }");
    EXPECT_LE(given.peak.total(), kept) << text;
    EXPECT_GE(given.peak.total(), given.whole.arguments + given.whole.outputs - given.aliased);
  }
}

}  // namespace
}  // namespace tilecast::ir
