// Whole programs in C: correct results, and safe reuse of memory.
#include "host/c_program.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "analytical/iteration_space.h"
#include "analytical/layout_rules.h"
#include "base/error.h"
#include "host/c_loops.h"
#include "host/c_prelude.h"
#include "host/compiled_library.h"
#include "host/run_kernels.h"
#include "host/workloads.h"
#include "hwdesc/device_yaml.h"
#include "ir/fusion/fusion.h"
#include "ir/kernels/kernel_sketch.h"
#include "ir/kernels/kernel_sources.h"
#include "ir/load_program.h"
#include "ir/text/hlo_parser.h"
#include "schedule/pipeline.h"
#include "schedule/text.h"
#include "schedule/tile_schedule.h"
#include "tests/host/array_bytes.h"
#include "tests/host/random_kernels.h"
#include "tests/host/rounding_bounds.h"
#include "tests/schedule/random_schedules.h"
#include "tests/support/folders.h"
#include "tests/support/texts.h"

namespace tilecast::host {
namespace {

using interpreter::Elements;
using ::testing::HasSubstr;

hwdesc::Device cpu() {
  return hwdesc::load_device(support::source_dir().string() + "/configs/devices/cpu_generic.yaml");
}

ir::Module parsed(const std::string& text) {
  return ir::parse_hlo(base::SourceText("test.hlo", text));
}

WiredProgram wired(const std::string& text) {
  auto made = wire_program(parsed(text));
  if (const auto* problem = std::get_if<Unsupported>(&made)) throw Error(problem->reason);
  return std::get<WiredProgram>(std::move(made));
}

std::string unsupported(const std::string& text) {
  const auto made = wire_program(parsed(text));
  const auto* problem = std::get_if<Unsupported>(&made);
  return problem == nullptr ? "" : problem->reason;
}

TEST(CProgramWiring, TakesNoLaunchForWhatCostsNothing) {
  const WiredProgram program = wired(R"(HloModule m
ENTRY e {
  p = (f32[8]{0}, f32[4,2]{1,0}) parameter(0)
  x = f32[8]{0} get-tuple-element(p), index=0
  y = f32[4,2]{1,0} get-tuple-element(p), index=1
  flat = f32[8]{0} bitcast(y)
  sum = f32[8]{0} add(x, flat)
  pair = (f32[8]{0}, f32[8]{0}) tuple(sum, x)
  again = f32[8]{0} get-tuple-element(pair), index=0
  ROOT twice = f32[8]{0} multiply(again, again)
})");
  ASSERT_EQ(program.inputs.size(), 2U);
  ASSERT_EQ(program.launches.size(), 2U);
  const Launch& sum = program.launches[0];
  ASSERT_EQ(sum.reads.size(), 2U);
  EXPECT_EQ(sum.reads[0].index, 0U);
  EXPECT_EQ(sum.reads[1].index, 1U);
  const Launch& twice = program.launches[1];
  ASSERT_EQ(twice.reads.size(), 1U);  // one array, read twice inside
  EXPECT_EQ(twice.reads[0].kind, ArrayRef::Kind::kArray);
  EXPECT_EQ(twice.reads[0].index, sum.writes[0]);
  EXPECT_EQ(program.arrays[twice.writes[0]].result, 0U);
  EXPECT_FALSE(program.arrays[sum.writes[0]].result);
  EXPECT_TRUE(program.copies.empty());
}

TEST(CProgramWiring, ConstantsThatAreReadAreInputsAfterTheParameters) {
  const WiredProgram program = wired(R"(HloModule m
ENTRY e {
  c = f32[3]{0} constant({1, 2, 3})
  unread = f32[3]{0} constant({4, 5, 6})
  half = f32[] constant(0.5)
  p = f32[3]{0} parameter(0)
  wide = f32[3]{0} broadcast(half), dimensions={}
  product = f32[3]{0} multiply(wide, c)
  ROOT sum = f32[3]{0} add(product, p)
})");
  ASSERT_EQ(program.inputs.size(), 2U);
  EXPECT_EQ(program.launches[1].reads.size(), 2U);
  EXPECT_EQ(program.launches[1].reads[1].index, 1U);
}

TEST(CProgramWiring, ResultsThatAreInputsOrTwiceTheSameAreCopied) {
  const WiredProgram program = wired(R"(HloModule m
ENTRY e {
  p = f32[8]{0} parameter(0)
  n = f32[8]{0} negate(p)
  ROOT r = (f32[8]{0}, f32[8]{0}, f32[8]{0}) tuple(n, p, n)
})");
  EXPECT_EQ(program.results.size(), 3U);
  EXPECT_EQ(program.arrays[0].result, 0U);
  ASSERT_EQ(program.copies.size(), 2U);
  EXPECT_EQ(program.copies[0].first.kind, ArrayRef::Kind::kInput);
  EXPECT_EQ(program.copies[0].second, 1U);
  EXPECT_EQ(program.copies[1].first.kind, ArrayRef::Kind::kArray);
  EXPECT_EQ(program.copies[1].second, 2U);
}

TEST(CProgramWiring, NamesWhatItCannotCall) {
  EXPECT_THAT(unsupported(R"(HloModule m
twice {
  x = f32[8]{0} parameter(0)
  ROOT s = f32[8]{0} add(x, x)
}
ENTRY e {
  p = f32[8]{0} parameter(0)
  ROOT c = f32[8]{0} call(p), to_apply=twice
})"),
              HasSubstr("c: call is not launched"));
}

// A chain of `length` sums of 256 bytes, each read only by the next one.
std::string chain(int length) {
  std::string text = "HloModule m\nENTRY e {\n  v0 = f32[64]{0} parameter(0)\n";
  for (int i = 1; i <= length; ++i) {
    text += (i == length ? "  ROOT v" : "  v") + std::to_string(i) + " = f32[64]{0} negate(v" +
            std::to_string(i - 1) + ")\n";
  }
  return text + "}\n";
}

TEST(CProgramHeap, AChainNeedsTwoArraysHoweverLong) {
  for (const int length : {3, 4, 20}) {
    EXPECT_EQ(plan_heap(wired(chain(length))).bytes, 2 * 256) << length;
  }
}

bool overlap(std::int64_t a, std::int64_t a_bytes, std::int64_t b, std::int64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

// Arrays that are live at the same time (including while written) do not overlap.
void expect_apart(const WiredProgram& program) {
  const HeapPlan plan = plan_heap(program);
  for (std::size_t i = 0; i < program.arrays.size(); ++i) {
    const ProgramArray& a = program.arrays[i];
    if (a.result) continue;
    EXPECT_GE(plan.offsets[i], 0);
    EXPECT_EQ(plan.offsets[i] % 64, 0);
    EXPECT_LE(plan.offsets[i] + a.bytes, plan.bytes);
    for (std::size_t j = i + 1; j < program.arrays.size(); ++j) {
      const ProgramArray& b = program.arrays[j];
      const bool together = a.made_by <= b.last_read_by && b.made_by <= a.last_read_by;
      if (b.result || !together) continue;
      EXPECT_FALSE(overlap(plan.offsets[i], a.bytes, plan.offsets[j], b.bytes)) << i << ", " << j;
    }
  }
}

TEST(CProgramHeap, ArraysInUseTogetherLieApart) {
  for (const char* file : {"mlp_train.hlo", "transformer_block_train.hlo"}) {
    const ir::Module program =
        ir::read_hlo_file(support::source_dir().string() + "/configs/programs/" + file);
    for (std::size_t number = 0; number < 6; ++number) {
      const auto made =
          wire_program(laid_out(fused(program, fusion_configuration(1, number)), cpu()));
      ASSERT_TRUE(std::holds_alternative<WiredProgram>(made)) << number;
      const auto& found = std::get<WiredProgram>(made);
      expect_apart(found);
      std::int64_t all = 0;
      for (const ProgramArray& array : found.arrays) all += array.result ? 0 : array.bytes;
      EXPECT_LT(plan_heap(found).bytes, all) << "no memory was used twice in " << number;
    }
  }
}

// A random kernel's fused computation as a separate program: one launch per op before fusion.
ir::Module as_program(const RandomKernel& made) {
  ir::Module module = parsed(made.text);
  const ir::Instruction fusion = module.entry_computation().root_instruction();
  module.computations.pop_back();  // the entry; callees come first
  module.entry = fusion.called[0];
  module.entry_parameter_layouts.clear();
  module.entry_result_layout.reset();
  return module;
}

// The kernel's elements for every input of the program, as bytes.
std::vector<std::vector<std::byte>> inputs_of(const CProgram& program, const ir::Module& module,
                                              const RandomKernel& made,
                                              const std::vector<interpreter::Elements>& elements) {
  const ir::Module whole = parsed(made.text);
  const ir::Computation& entry = whole.entry_computation();
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    by_name[made.kernel.name_of(made.kernel.parameters()[i])] = i;
  }
  std::vector<std::vector<std::byte>> inputs;
  for (const ProgramInput& input : program.inputs) {
    const ir::Instruction& instruction = module.entry_computation().at(input.instruction);
    if (instruction.opcode == ir::Opcode::kConstant) {
      ir::KernelBuilder builder("constant", ir::Opcode::kConstant);
      ir::Op op;
      op.opcode = ir::Opcode::kConstant;
      op.shape = instruction.shape;
      op.attrs = instruction.attrs;
      const ir::OpId id = builder.add(std::move(op));
      inputs.push_back(to_bytes(input.shape, interpreter::evaluate(builder.build({id}), {})[0]));
      continue;
    }
    const auto number = static_cast<std::size_t>(instruction.as<ir::ParameterAttrs>().number);
    const std::string& name = entry.at(entry.root_instruction().operands[number]).name;
    const auto known = by_name.find(name);
    inputs.push_back(to_bytes(
        input.shape, known != by_name.end()
                         ? elements[known->second]
                         : interpreter::Elements(std::size_t(ir::element_count(input.shape)), 0)));
  }
  return inputs;
}

struct Trial {
  std::uint64_t seed = 0;
  RandomKernel made;
  ir::Module module;
  CProgram program;
};

void expect_right(const Trial& trial, const std::string& library) {
  std::mt19937_64 random(trial.seed);
  const std::vector<interpreter::Elements> elements = random_inputs(trial.made, random);
  const std::vector<Bounded> expected = evaluate_with_bounds(trial.made.kernel, elements);
  const auto inputs = inputs_of(trial.program, trial.module, trial.made, elements);
  const auto outputs = run_once(library, whole_job(trial.program), inputs);
  ASSERT_EQ(outputs.size(), expected.size());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const interpreter::Elements got = from_bytes(trial.program.outputs[k], outputs[k]);
    ASSERT_EQ(got.size(), expected[k].value.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_TRUE(agrees(got[i], expected[k].value[i], expected[k].bound[i]))
          << "seed " << trial.seed << ", result " << k << ", element " << i << ": got " << got[i]
          << ", expected " << expected[k].value[i] << " +- " << expected[k].bound[i] << "\n"
          << trial.made.text;
    }
  }
}

TEST(CProgram, ComputesWhatItsOpsComputeInOneKernel) {
  const hwdesc::Device device = cpu();
  const Compiler compiler;
  constexpr std::uint64_t kPrograms = 48;
  std::vector<Trial> trials;
  std::vector<std::string> sources;
  std::map<std::string, int> not_generated;
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    Trial trial{seed, random_kernel(seed + 5000), {}, {}};
    trial.module =
        ir::assign_layouts(fused(as_program(trial.made), fusion_configuration(seed, seed % 8)),
                           analytical::layout_rules(device));
    auto program = make_c_program(trial.module, device);
    if (const auto* problem = std::get_if<Unsupported>(&program)) {
      ++not_generated[problem->reason];
      continue;
    }
    trial.program = std::get<CProgram>(std::move(program));
    std::string& source = sources.emplace_back(c_prelude());
    for (const PartKernel& part : trial.program.parts) source += part.code.source;
    source += trial.program.caller;
    trials.push_back(std::move(trial));
  }
  EXPECT_GE(trials.size(), kPrograms * 3 / 4) << ::testing::PrintToString(not_generated);
  const std::vector<Compilation> compiled = compiler.compile(sources, 2);
  std::size_t launches = 0;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    ASSERT_TRUE(compiled[i].library) << compiled[i].error;
    launches += trials[i].program.calls.size();
    expect_right(trials[i], compiled[i].library->path());
  }
  EXPECT_GE(launches, 2 * trials.size()) << "programs of one kernel show little";
}

TEST(CProgram, EqualKernelsShareAFunction) {
  auto made = make_c_program(parsed(chain(5)), cpu());
  ASSERT_TRUE(std::holds_alternative<CProgram>(made));
  const auto& program = std::get<CProgram>(made);
  ASSERT_EQ(program.parts.size(), 1U);
  EXPECT_EQ(program.calls.size(), 5U);
}

// --- Runs loop programs as C: their elements equal the kernel's, with and without stages.

struct Case {
  ir::Kernel kernel;
  schedule::LoopProgram program;
};

// Compiled together; inputs are small integers, so that sums are exact.
void expect_right(const std::vector<Case>& cases) {
  std::string source(c_prelude());
  std::vector<CKernel> made;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    auto c = c_of_loops(cases[i].program, fmt::format("f{}", i));
    ASSERT_TRUE(std::holds_alternative<CKernel>(c)) << std::get<Unsupported>(c).reason;
    made.push_back(std::get<CKernel>(c));
    source += made.back().source;
  }
  const std::vector<Compilation> built = Compiler("-O1").compile(std::vector{source}, 1);
  ASSERT_TRUE(built[0].library) << built[0].error;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ir::Kernel& kernel = cases[i].kernel;
    const std::vector<Elements> inputs = schedule::whole_inputs(kernel, i);
    RunJob job{.function = made[i].function,
               .inputs = {},
               .outputs = {},
               .scratch_bytes = made[i].scratch_bytes};
    std::vector<std::vector<std::byte>> bytes;
    for (std::size_t p = 0; p < inputs.size(); ++p) {
      job.inputs.push_back(kernel.op(kernel.parameters()[p]).shape);
      bytes.push_back(to_bytes(job.inputs[p], inputs[p]));
    }
    for (const ir::OpId id : kernel.outputs()) job.outputs.push_back(kernel.op(id).shape);
    const auto got = run_once(built[0].library->path(), job, bytes);
    const std::vector<Elements> expected = interpreter::evaluate(kernel, inputs);
    for (std::size_t o = 0; o < expected.size(); ++o) {
      EXPECT_EQ(from_bytes(job.outputs[o], got[o]), expected[o])
          << i << "\n"
          << schedule::to_text(cases[i].program) << made[i].source;
    }
  }
}

TEST(CLoops, ComputeWhatTheKernelDoes) {
  constexpr std::uint64_t kSchedules = 200;
  std::vector<Case> cases;
  for (std::uint64_t seed = 0; seed < kSchedules; ++seed) {
    schedule::RandomSchedule made = schedule::random_schedule(seed);
    cases.push_back({std::move(made.kernel), std::move(made.program)});
    if (cases.size() < 50) continue;
    expect_right(cases);
    cases.clear();
  }
}

TEST(CLoops, ComputeConvolutionsByTheirTemplate) {
  constexpr std::uint64_t kSchedules = 100;
  std::vector<Case> cases;
  for (std::uint64_t seed = 0; seed < kSchedules; ++seed) {
    schedule::RandomSchedule made = schedule::random_convolution(seed);
    cases.push_back({std::move(made.kernel), std::move(made.program)});
  }
  expect_right(cases);
}

ir::Kernel product(std::int64_t m, std::int64_t n, std::int64_t k) {
  ir::KernelSketch sketch("product", ir::Opcode::kFusion, {.tiled = false});
  const ir::OpId a = sketch.row_major_parameter(ir::DType::kF32, {m, k});
  const ir::OpId b = sketch.row_major_parameter(ir::DType::kF32, {k, n});
  return sketch.build({sketch.dot(a, b, {.lhs_contracting = {1}, .rhs_contracting = {0}}, {m, n},
                                  ir::DType::kF32)});
}

TEST(CLoops, TilesOfAProductPrefetchTheirStages) {
  std::vector<Case> cases;
  for (const char* tile : {"out=16x32 kernel=32x32 stages=1", "out=16x32 kernel=32x32 stages=3",
                           "out=64x96 kernel=64x96 stages=2", "out=24x40 kernel=24x40 stages=4"}) {
    ir::Kernel kernel = product(64, 96, 128);
    const auto tiled = schedule::tiled_loops(kernel, analytical::parse_tile(tile));
    cases.push_back({std::move(kernel), tiled.program});
  }
  expect_right(cases);
  const auto c = c_of_loops(cases[1].program, "f");
  EXPECT_THAT(std::get<CKernel>(c).source, testing::HasSubstr("__builtin_prefetch"));
  EXPECT_THAT(std::get<CKernel>(c).source, testing::HasSubstr("tc_mm_f(16, 32, 32"));
}

TEST(CLoops, RefuseWhatWaitsForBatches) {
  const ir::Kernel kernel = product(64, 96, 128);
  const auto tiled =
      schedule::tiled_loops(kernel, analytical::parse_tile("out=16x32 kernel=32x32 stages=3"));
  const auto c = c_of_loops(schedule::pipelined(tiled.program), "f");
  ASSERT_TRUE(std::holds_alternative<Unsupported>(c));
  EXPECT_THAT(std::get<Unsupported>(c).reason, testing::HasSubstr("before pipelining"));
}
}  // namespace
}  // namespace tilecast::host
