// Random programs of elementwise ops, broadcasts, reductions, dots, reshapes and updates: fusion
// does not change what they compute.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include "base/error.h"
#include "ir/canonical_hash.h"
#include "ir/fusion/fusion_space.h"
#include "ir/fusion/kernel_maker.h"
#include "ir/program.h"
#include "ir/read_module.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"
#include "ir/verify/verifier.h"
#include "tests/interpreter/evaluate.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::ir {
namespace {

// Writes a module over f32[16,16], f32[16] and f32[] values.
class RandomModule {
 public:
  explicit RandomModule(std::uint32_t seed) : random_(seed) {}

  std::string text() {
    body_ = " zero = f32[] constant(0)\n i = s32[] parameter(2)\n";
    add("f32[16,16]", "parameter(0)", squares_);
    add("f32[16]", "parameter(1)", rows_);
    const int ops = pick(3, 40);
    for (int n = 0; n < ops; ++n) add_op();
    std::string results, types;
    for (int n = pick(1, 4); n > 0; --n) {
      const bool square = pick(0, 2) > 0;
      results += (results.empty() ? "" : ", ") + (square ? any(squares_) : any(rows_));
      types += std::string(types.empty() ? "" : ", ") + (square ? "f32[16,16]" : "f32[16]");
    }
    return "HloModule m\nsum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
           " ROOT s = f32[] add(a, b) }\nENTRY main {\n" +
           body_ + " ROOT t = (" + types + ") tuple(" + results + ") }\n";
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  const std::string& any(const std::vector<std::string>& values) {
    return values[static_cast<std::size_t>(pick(0, static_cast<int>(values.size()) - 1))];
  }
  void add(const std::string& type, const std::string& call, std::vector<std::string>& to) {
    const std::string name = "v" + std::to_string(count_++);
    body_ += " " + name + " = " + type + " " + call + "\n";
    to.push_back(name);
  }
  void add_op() {
    static const std::vector<std::string> kUnary = {"negate", "exponential", "tanh", "abs"};
    static const std::vector<std::string> kBinary = {"add", "multiply", "maximum", "divide"};
    const bool square = pick(0, 2) > 0;
    auto& values = square ? squares_ : rows_;
    const std::string type = square ? "f32[16,16]" : "f32[16]";
    switch (pick(0, 8)) {
      case 0:
      case 1:
        return add(type, any(kUnary) + "(" + any(values) + ")", values);
      case 2:
      case 3:
      case 4:
        return add(type, any(kBinary) + "(" + any(values) + ", " + any(values) + ")", values);
      case 5:
        return add("f32[16,16]",
                   "broadcast(" + any(rows_) + "), dimensions={" + std::to_string(pick(0, 1)) + "}",
                   squares_);
      case 6:
        return add("f32[16]",
                   "reduce(" + any(squares_) + ", zero), dimensions={" +
                       std::to_string(pick(0, 1)) + "}, to_apply=sum",
                   rows_);
      case 7:
        return add("f32[16,16]",
                   "dot(" + any(squares_) + ", " + any(squares_) +
                       "), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
                   squares_);
      default:
        return add("f32[16]", "dynamic-update-slice(" + any(rows_) + ", " + any(rows_) + ", i)",
                   rows_);
    }
  }

  std::mt19937 random_;
  std::string body_;
  std::vector<std::string> squares_, rows_;
  int count_ = 0;
};

// Every value of a module as the expression that it computes, with fusions expanded; equal
// expressions get equal numbers.
class Expressions {
 public:
  std::vector<int> of(const Module& module, const Computation& computation,
                      const std::vector<std::vector<int>>& arguments) {
    std::vector<std::vector<int>> values(computation.instructions.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = of_instruction(module, computation, i, values, arguments);
    }
    return values[computation.root.index()];
  }

 private:
  std::vector<int> of_instruction(const Module& module, const Computation& computation,
                                  std::size_t i, const std::vector<std::vector<int>>& values,
                                  const std::vector<std::vector<int>>& arguments) {
    const Instruction& op = computation.instructions[i];
    std::vector<std::vector<int>> operands;
    for (const InstrId id : op.operands) operands.push_back(values[id.index()]);
    switch (op.opcode) {
      case Opcode::kParameter: {
        const auto number = static_cast<std::size_t>(op.as<ParameterAttrs>().number);
        if (!arguments.empty()) return arguments[number];
        return {numbered("parameter " + std::to_string(number))};
      }
      case Opcode::kTuple: {
        std::vector<int> all;
        for (const auto& operand : operands) all.insert(all.end(), operand.begin(), operand.end());
        return all;
      }
      case Opcode::kGetTupleElement:
        return {operands[0][static_cast<std::size_t>(op.as<IndexAttrs>().index)]};
      case Opcode::kFusion:
        return of(module, module.at(op.called[0]), operands);
      default:
        break;
    }
    std::string key = std::string(name(op.opcode)) + to_string(op.shape, false);
    for (const std::int64_t dim : op.dimensions) key += " d" + std::to_string(dim);
    for (const auto& operand : operands) key += " " + std::to_string(operand[0]);
    return {numbered(key)};
  }
  int numbered(const std::string& key) {
    return numbers_.try_emplace(key, static_cast<int>(numbers_.size())).first->second;
  }
  std::map<std::string, int> numbers_;
};

double total_flops(const Module& module) {
  double sum = 0;
  const Program program = make_program(module);
  for (const ScheduledKernel& kernel : program.kernels()) {
    sum += static_cast<double>(kernel.kernel.work().flops);
  }
  return sum;
}

class FusedRandomModules : public ::testing::TestWithParam<std::tuple<bool, Compiler>> {};

TEST_P(FusedRandomModules, ComputeTheSameInFewerKernels) {
  const auto [recomputes, compiler] = GetParam();
  const FusionOptions options{.compiler = compiler, .recompute_to_save_bytes = recomputes};
  std::size_t before = 0, after = 0;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    const std::string text = RandomModule(seed).text();
    SCOPED_TRACE(text);
    const Module module = with_copies(parse_hlo(base::SourceText("random.hlo", text)));
    const Module result = fuse(module, options);
    verify(result);

    Expressions expressions;
    ASSERT_EQ(expressions.of(module, module.entry_computation(), {}),
              expressions.of(result, result.entry_computation(), {}))
        << print_hlo(result);
    ASSERT_EQ(module.entry_computation().parameters.size(),
              result.entry_computation().parameters.size());

    const Module alone = fuse(module, {.max_ops = 1});
    ASSERT_GE(total_flops(result), total_flops(alone)) << "work of live ops is never lost";
    before += make_program(alone).kernels().size();
    const Program program = make_program(result);
    after += program.kernels().size();
    for (const ScheduledKernel& kernel : program.kernels()) {
      int matrix_ops = 0;
      for (const Op& op : kernel.kernel.ops())
        matrix_ops += op_class(op.opcode) == OpClass::kMatrix;
      ASSERT_LE(matrix_ops, 1) << print_hlo(result);
    }
  }
  EXPECT_LT(after, before * (compiler == Compiler::kXlaCpu ? 8 : 6) /
                       10);  // copies before updates are not fused
}

INSTANTIATE_TEST_SUITE_P(Fusion, FusedRandomModules,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(Compiler::kXlaTpu, Compiler::kXlaGpu,
                                                              Compiler::kXlaCpu)));

TEST(Fusion, ComputesTheSameUnderEveryRandomConfiguration) {
  std::size_t different = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Module module =
        with_copies(parse_hlo(base::SourceText("random.hlo", RandomModule(seed).text())));
    Expressions expressions;
    const std::vector<int> expected = expressions.of(module, module.entry_computation(), {});
    const std::string by_rules = print_hlo(fuse(module));
    for (std::uint64_t configuration = 0; configuration < 8; ++configuration) {
      const FusionOptions options{.max_parameters = configuration % 2 == 0 ? 64 : 4,
                                  .max_ops = configuration < 4 ? 512 : 6};
      const double share = 0.15 + 0.1 * static_cast<double>(configuration);
      const Module result = fuse_at_random(module, share, configuration, options);
      verify(result);
      ASSERT_EQ(expressions.of(result, result.entry_computation(), {}), expected)
          << print_hlo(result);
      different += print_hlo(result) != by_rules;
    }
  }
  EXPECT_GT(different, 300u * 8u / 3u);
}

TEST(FusionSpace, ComputesTheSameWhateverIsChosen) {
  std::mt19937_64 random(7);
  std::size_t decisions = 0, recomputed = 0;
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    const Module module =
        with_copies(parse_hlo(base::SourceText("random.hlo", RandomModule(seed).text())));
    const FusionSpace space(module);
    ASSERT_EQ(print_hlo(space.fused(space.by_rules())), print_hlo(fuse(module)));
    FusionConfiguration chosen = space.by_rules();
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      chosen[i] = static_cast<FusionChoice>(random() % 3);
      recomputed += space.decisions()[i].may_recompute;
    }
    decisions += chosen.size();
    const Module result = space.fused(chosen);
    verify(result);
    Expressions expressions;
    ASSERT_EQ(expressions.of(module, module.entry_computation(), {}),
              expressions.of(result, result.entry_computation(), {}))
        << space.text_of(chosen) << print_hlo(result);
    EXPECT_EQ(space.read(base::SourceText("chosen", space.text_of(chosen))), chosen);
  }
  EXPECT_GT(decisions, 10'000u);
  EXPECT_GT(recomputed, 1000u);
}

// Kernels with several roots, far apart in the text, could create a cycle.
TEST(Fusion, NeverMakesKernelsWaitForEachOther) {
  const Module module = read_hlo_file(support::source_dir().string() +
                                      "/configs/programs/transformer_block_train.hlo");
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const double share = 0.1 + 0.8 * static_cast<double>(seed % 20) / 20;
    const Module result = fuse_at_random(module, share, seed);
    verify(result);
    EXPECT_EQ(result.entry_computation().root_instruction().shape,
              module.entry_computation().root_instruction().shape);
  }
}

// Unused instructions, as "computation.instruction".
std::vector<std::string> unread(const Module& module) {
  std::vector<std::string> names;
  for (const Computation& computation : module.computations) {
    std::vector<bool> read(computation.instructions.size(), false);
    read[computation.root.index()] = true;
    for (const Instruction& op : computation.instructions) {
      for (const InstrId operand : op.operands) read[operand.index()] = true;
    }
    for (std::size_t i = 0; i < read.size(); ++i) {
      const Instruction& op = computation.instructions[i];
      if (read[i] || op.opcode == Opcode::kParameter) continue;
      names.push_back(computation.name + "." + op.name);
    }
  }
  return names;
}

TEST(Fusion, ComputesNothingThatIsNotRead) {
  for (const char* name : {"small_decoder_train.hlo", "small_pointwise_train.hlo",
                           "small_diffusion.hlo", "mlp_train.hlo"}) {
    const Module module =
        read_hlo_file(support::source_dir().string() + "/configs/programs/" + name);
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const double share = 0.3 + 0.7 * static_cast<double>(seed % 10) / 10;
      const Module result = fuse_at_random(module, share, seed);
      EXPECT_THAT(unread(result), ::testing::IsEmpty()) << name << ", seed " << seed;
    }
  }
}

TEST(Fusion, GoesFromNothingFusedToTheRules) {
  const auto kernels = [](const Module& module) { return make_program(module).kernels().size(); };
  std::size_t none = 0, some = 0, most = 0, all = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const Module module =
        with_copies(parse_hlo(base::SourceText("random.hlo", RandomModule(seed).text())));
    EXPECT_EQ(print_hlo(fuse_at_random(module, 0, 0)), print_hlo(fuse(module, {.max_ops = 1})));
    EXPECT_EQ(print_hlo(fuse_at_random(module, 1, seed)), print_hlo(fuse(module)));
    none += kernels(fuse_at_random(module, 0, 0));
    some += kernels(fuse_at_random(module, 0.3, 0));
    most += kernels(fuse_at_random(module, 0.8, 0));
    all += kernels(fuse(module));
  }
  EXPECT_GT(none, some);
  EXPECT_GT(some, most);
  EXPECT_GT(most, all);
}

TEST(Fusion, SeedsGiveDifferentConfigurationsTheSameEveryTime) {
  std::size_t modules = 0, configurations = 0;
  for (std::uint32_t number = 0; number < 50; ++number) {
    const Module module =
        with_copies(parse_hlo(base::SourceText("random.hlo", RandomModule(number).text())));
    std::set<std::string> seen;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const std::string text = print_hlo(fuse_at_random(module, 0.5, seed));
      EXPECT_EQ(print_hlo(fuse_at_random(module, 0.5, seed)), text);
      seen.insert(text);
    }
    ++modules;
    configurations += seen.size();
  }
  EXPECT_GT(configurations, 5 * modules);
}

// The entry computation in a random topological order.
Module shuffled(Module module, std::uint32_t seed) {
  std::mt19937 random(seed);
  Computation& entry = module.computations[module.entry.index()];
  const std::size_t count = entry.instructions.size();
  std::vector<InstrId> place(count);
  std::vector<std::uint32_t> open(count);
  std::iota(open.begin(), open.end(), 0U);
  std::vector<Instruction> instructions;
  while (!open.empty()) {
    std::shuffle(open.begin(), open.end(), random);
    const auto next = std::ranges::find_if(open, [&](std::uint32_t id) {
      return std::ranges::all_of(entry.instructions[id].operands,
                                 [&](InstrId operand) { return place[operand.index()].valid(); });
    });
    place[*next] = InstrId(instructions.size());
    instructions.push_back(entry.instructions[*next]);
    instructions.back().offset = instructions.size();
    open.erase(next);
  }
  for (Instruction& op : instructions) {
    for (InstrId& operand : op.operands) operand = place[operand.index()];
  }
  for (InstrId& parameter : entry.parameters) parameter = place[parameter.index()];
  entry.root = place[entry.root.index()];
  entry.instructions = std::move(instructions);
  return module;
}

std::multiset<std::string> fused_kernels(const Module& fused) {
  std::multiset<std::string> hashes;
  const Program program = make_program(fused);
  for (const ScheduledKernel& kernel : program.kernels()) {
    hashes.insert(canonical_hash(kernel.kernel));
  }
  return hashes;
}

TEST(Fusion, DoesNotDependOnTheOrderOfTheText) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Module module =
        with_copies(parse_hlo(base::SourceText("random.hlo", RandomModule(seed).text())));
    const auto expected = fused_kernels(fuse(module));
    for (std::uint32_t order = 0; order < 3; ++order) {
      EXPECT_EQ(fused_kernels(fuse(shuffled(module, order))), expected) << "seed " << seed;
    }
    const Module read_again = parse_hlo(base::SourceText("again.hlo", print_hlo(module)));
    EXPECT_EQ(fused_kernels(fuse(read_again)), expected) << "seed " << seed;
  }
}

TEST(Fusion, GivesTheSameModuleEveryTime) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const Module module =
        with_copies(parse_hlo(base::SourceText("random.hlo", RandomModule(seed).text())));
    EXPECT_EQ(print_hlo(fuse(module)), print_hlo(fuse(module)));
  }
}

}  // namespace
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

// The kernel that computes the whole entry.
Kernel whole(const Module& module) {
  const Computation& entry = module.entry_computation();
  FusedKernel all;
  for (std::size_t i = 0; i < entry.instructions.size(); ++i) {
    const Instruction& op = entry.instructions[i];
    if (op.opcode != Opcode::kParameter && !is_scalar_constant(op)) all.members.emplace_back(i);
  }
  all.roots = {entry.root};
  return KernelMaker(module).make(module.entry, all);
}

TEST(BlockScans, ComputeTheSameRunningResults) {
  struct Case {
    std::string shape, window, combiner, initial;
  };
  for (const Case& c : {Case{"3,300", "1x300 pad=0_0x299_0", "add", "0"},
                        Case{"3,300", "1x300 pad=0_0x0_299", "add", "0"},
                        Case{"256,5", "256x1 pad=255_0x0_0", "maximum", "-inf"},
                        Case{"2,384,4,3", "1x384x1x1 pad=0_0x383_0x0_0x0_0", "minimum", "inf"},
                        Case{"129", "129 pad=128_0", "add", "0"}}) {
    const std::string type = "f32[" + c.shape + "]";
    const Module module = parse_hlo(base::SourceText(
        "scan.hlo",
        "HloModule m\ncombine { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
        " ROOT s = f32[] " +
            c.combiner + "(a, b) }\nENTRY main { x = " + type +
            " parameter(0)\n z = f32[] constant(" + c.initial + ")\n ROOT r = " + type +
            " reduce-window(x, z), window={size=" + c.window + "}, to_apply=combine }"));
    const Module blocks = with_block_scans(module);
    verify(blocks);
    EXPECT_GT(blocks.entry_computation().instructions.size(), 8U);
    const Kernel scan = whole(module);
    interpreter::Elements numbers(
        static_cast<std::size_t>(element_count(scan.op(scan.parameters()[0]).shape)));
    std::mt19937 random(7);  // whole numbers, whose sums are exact
    for (double& number : numbers) number = std::uniform_int_distribution<int>(-50, 50)(random);
    const std::vector<interpreter::Elements> inputs{numbers};
    EXPECT_EQ(interpreter::evaluate(scan, inputs), interpreter::evaluate(whole(blocks), inputs))
        << c.shape << " " << c.window;
  }
}

}  // namespace
}  // namespace tilecast::ir
