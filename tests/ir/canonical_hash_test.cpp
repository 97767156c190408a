// Kernels with equal computations have equal hashes; any change of the computation changes the
// hash.
#include "ir/canonical_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "base/error.h"
#include "ir/kernels/kernel_module.h"
#include "ir/layout_assignment.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"
#include "program_kernels.h"
#include "tests/support/folders.h"

namespace tilecast::ir {
namespace {

using Random = std::mt19937;

std::size_t pick(Random& random, std::size_t count) {
  return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
}

std::vector<Kernel> kernels_of(const Module& module) {
  std::vector<Kernel> kernels;
  WorkCounter counter(module);
  for (const KernelPlace& place : kernel_places(module)) {
    kernels.push_back(make_kernel(module, place.computation, place.instruction, counter));
  }
  return kernels;
}

const std::vector<Kernel>& shipped_kernels() {
  static const std::vector<Kernel> kKernels = [] {
    std::vector<Kernel> all;
    for (const Module& module : shipped_programs()) {
      for (Kernel& kernel : kernels_of(module)) all.push_back(std::move(kernel));
    }
    return all;
  }();
  return kKernels;
}

// The parts of a kernel, for building it in another order.
struct Parts {
  explicit Parts(const Kernel& whole) : kernel(whole), ops(whole.ops().begin(), whole.ops().end()) {
    order.resize(ops.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
  }
  // A random topological order; parameters are numbered in that order.
  void shuffle(Random& random) {
    std::vector<std::size_t> waiting(ops.size());
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      waiting[i] = ops[i].operands.size();
      if (waiting[i] == 0) ready.push_back(i);
    }
    order.clear();
    while (!ready.empty()) {
      std::swap(ready[pick(random, ready.size())], ready.back());
      const std::size_t next = ready.back();
      ready.pop_back();
      order.push_back(next);
      for (const OpId user : kernel.users(OpId(next))) {
        const auto& operands = ops[user.index()].operands;
        waiting[user.index()] -=
            static_cast<std::size_t>(std::count(operands.begin(), operands.end(), OpId(next)));
        if (waiting[user.index()] == 0) ready.push_back(user.index());
      }
    }
  }
  Kernel build(const std::string& suffix = {}) const {
    KernelBuilder builder(kernel.name() + suffix, kernel.opcode());
    std::vector<OpId> moved(ops.size());
    std::map<OpId, std::size_t> parameter;
    for (const std::size_t i : order) {
      Op op = ops[i];
      std::string name = kernel.name_of(OpId(i)) + suffix;
      for (OpId& operand : op.operands) operand = moved[operand.index()];
      if (op.opcode == Opcode::kParameter) {
        parameter[OpId(i)] = builder.parameters().size();
        moved[i] = builder.parameter(op.shape, std::move(name));
      } else {
        moved[i] = builder.add(std::move(op), std::move(name));
      }
    }
    for (const auto& [output, buffer] : kernel.in_place()) {
      builder.add_in_place(output, parameter.at(kernel.parameters()[buffer]));
    }
    builder.set_group_size(kernel.group_size());
    std::vector<OpId> outputs;
    for (const OpId id : kernel.outputs()) outputs.push_back(moved[id.index()]);
    return builder.build(std::move(outputs));
  }
  const Kernel& kernel;
  std::vector<Op> ops;
  std::vector<std::size_t> order;
};

// Changes one number or text of the attributes; false if there is none.
struct AttributeChange {
  Random& random;

  bool operator()(ConstantAttrs& a) const {
    a.literal.text += "1";
    return true;
  }
  bool operator()(IndexAttrs& a) const { return ++a.index > 0; }
  bool operator()(DotAttrs& a) const {
    a.dims.lhs_contracting.push_back(7);
    return true;
  }
  bool operator()(ConvAttrs& a) const {
    WindowDim& dim = a.window[pick(random, a.window.size())];
    std::int64_t* const numbers[] = {
        &dim.size,          &dim.stride,          &dim.pad_low,           &dim.pad_high,
        &dim.base_dilation, &dim.window_dilation, &a.feature_group_count, &a.batch_group_count};
    ++*numbers[pick(random, std::size(numbers))];
    return true;
  }
  bool operator()(WindowAttrs& a) const {
    ++a.window[pick(random, a.window.size())].stride;
    return true;
  }
  bool operator()(SliceAttrs& a) const { return ++a.dims[pick(random, a.dims.size())].start != 0; }
  bool operator()(PadAttrs& a) const {
    ++a.dims[pick(random, a.dims.size())].interior;
    return true;
  }
  bool operator()(CompareAttrs& a) const {
    a.direction = a.direction == "LT" ? "LE" : "LT";
    return true;
  }
  template <class Other>
  bool operator()(Other&) const {
    return false;
  }
};

bool change_shape(Random& random, Shape& shape) {
  if (!shape.is_array()) return false;
  switch (pick(random, 4)) {
    case 0:
      shape.dtype = shape.dtype == DType::kF32 ? DType::kBF16 : DType::kF32;
      return true;
    case 1:
      if (shape.dims.empty()) return false;
      ++shape.dims[pick(random, shape.dims.size())];
      return true;
    case 2:
      if (!shape.layout || shape.rank() < 2) return false;
      std::swap(shape.layout.edit().minor_to_major[0], shape.layout.edit().minor_to_major[1]);
      return true;
    default:
      if (!shape.layout) return false;
      shape.layout.edit().tiles.push_back({8, 128});
      return true;
  }
}

// Changes one part of the op's computation; false if this op has no such part.
bool change(Random& random, Op& op) {
  switch (pick(random, 5)) {
    case 0:
    case 1:
      return change_shape(random, op.shape);
    case 2:
      if (op_class(op.opcode) != OpClass::kElementwise) return false;
      op.opcode = op.opcode == Opcode::kAdd ? Opcode::kSubtract : Opcode::kAdd;
      return true;
    case 3:
      if (!op.dimensions.empty()) {
        ++op.dimensions[pick(random, op.dimensions.size())];
        return true;
      }
      if (!op.applied) return false;
      op.applied = *op.applied == Opcode::kMinimum ? Opcode::kOr : Opcode::kMinimum;
      return true;
    default:
      return op.attrs.visit([&](auto attrs) {
        const bool changed = AttributeChange{random}(attrs);
        if constexpr (!std::is_same_v<decltype(attrs), std::monostate>) op.attrs = attrs;
        return changed;
      });
  }
}

std::vector<bool> needed_ops(const Kernel& kernel) {
  std::vector<bool> needed(kernel.ops().size(), false);
  for (const OpId id : kernel.outputs()) needed[id.index()] = true;
  for (std::size_t i = needed.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const OpId operand : kernel.op(OpId(i)).operands) needed[operand.index()] = true;
  }
  return needed;
}

TEST(CanonicalHash, IsThirtyTwoHexDigits) {
  for (const Kernel& kernel : shipped_kernels()) {
    const std::string hash = canonical_hash(kernel);
    EXPECT_EQ(hash.size(), 32u);
    EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), std::string::npos);
  }
}

TEST(CanonicalHash, IgnoresNamesOrderOfOpsAndNumbersOfParameters) {
  Random random(1);
  std::size_t moved = 0;
  for (const Kernel& kernel : shipped_kernels()) {
    const std::string hash = canonical_hash(kernel);
    for (int trial = 0; trial < 20; ++trial) {
      Parts parts(kernel);
      parts.shuffle(random);
      ASSERT_EQ(parts.order.size(), parts.ops.size());
      moved += !std::is_sorted(parts.order.begin(), parts.order.end());
      ASSERT_EQ(canonical_hash(parts.build(".again")), hash) << kernel.name();
    }
  }
  EXPECT_GT(moved, shipped_kernels().size() * 5) << "orders were not shuffled";
}

TEST(CanonicalHash, ChangesWithEveryAttributeShapeAndLayout) {
  Random random(2);
  std::size_t changed = 0;
  for (const Kernel& kernel : shipped_kernels()) {
    const std::string hash = canonical_hash(kernel);
    const std::vector<bool> needed = needed_ops(kernel);
    for (int trial = 0; trial < 200; ++trial) {
      Parts parts(kernel);
      const std::size_t i = pick(random, parts.ops.size());
      if (!needed[i] || !change(random, parts.ops[i])) continue;
      ASSERT_NE(canonical_hash(parts.build()), hash)
          << kernel.name() << ": " << kernel.name_of(OpId(i));
      ++changed;
    }
  }
  EXPECT_GT(changed, 5000u);
}

std::string hash_of_root(const std::string& body, const std::string& combiner = "add") {
  const Module module = parse_hlo(base::SourceText(
      "test.hlo",
      "HloModule m\ncombine { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
      " ROOT s = f32[] " +
          combiner + "(a, b) }\nfused {" + body +
          " }\nENTRY main { x = f32[8,8] parameter(0)\n y = f32[8,8] parameter(1)\n"
          " ROOT f = f32[8,8] fusion(x, y), kind=kLoop, calls=fused }"));
  WorkCounter counter(module);
  return canonical_hash(
      make_kernel(module, module.entry, module.entry_computation().root, counter));
}

constexpr const char* kInputs = "x = f32[8,8] parameter(0)\n y = f32[8,8] parameter(1)\n";

TEST(CanonicalHash, TellsWhichOperandIsWhich) {
  const std::string inputs = kInputs;
  const std::string x_first = inputs + "e = f32[8,8] negate(x)\n d = f32[8,8] subtract(x, y)\n";
  const std::string y_first = inputs + "e = f32[8,8] negate(x)\n d = f32[8,8] subtract(y, x)\n";
  const std::string root = " ROOT r = f32[8,8] add(d, e)";
  EXPECT_NE(hash_of_root(x_first + root), hash_of_root(y_first + root));
  // The two only differ in the numbers of their parameters.
  EXPECT_EQ(hash_of_root(inputs + "ROOT d = f32[8,8] subtract(x, y)"),
            hash_of_root(inputs + "ROOT d = f32[8,8] subtract(y, x)"));
}

TEST(CanonicalHash, TellsAValueUsedTwiceFromTwoValues) {
  const std::string inputs = kInputs;
  EXPECT_NE(hash_of_root(inputs + "ROOT d = f32[8,8] add(x, x)"),
            hash_of_root(inputs + "ROOT d = f32[8,8] add(x, y)"));
  EXPECT_NE(hash_of_root(inputs + "e = f32[8,8] tanh(x)\n ROOT d = f32[8,8] add(e, e)"),
            hash_of_root(inputs + "e = f32[8,8] tanh(x)\n g = f32[8,8] tanh(x)\n"
                                  " ROOT d = f32[8,8] add(e, g)"));
}

TEST(CanonicalHash, TellsReductionsByTheirCombiner) {
  const std::string reduce = std::string(kInputs) +
                             "zero = f32[] constant(0)\n r = f32[8] reduce(x, zero), "
                             "dimensions={1}, to_apply=combine\n"
                             " ROOT b = f32[8,8] broadcast(r), dimensions={0}";
  EXPECT_NE(hash_of_root(reduce, "add"), hash_of_root(reduce, "maximum"));
  EXPECT_NE(hash_of_root(reduce, "add"), hash_of_root(reduce, "multiply"));
}

TEST(CanonicalHash, TellsConstantsAndComparisonsApart) {
  const auto with = [](const std::string& constant, const std::string& direction) {
    return hash_of_root(std::string(kInputs) + "c = f32[] constant(" + constant +
                        ")\n b = f32[8,8] broadcast(c), dimensions={}\n"
                        " p = pred[8,8] compare(x, y), direction=" +
                        direction + "\n ROOT s = f32[8,8] select(p, x, b)");
  };
  EXPECT_EQ(with("0", "LT"), with("0", "LT"));
  EXPECT_NE(with("0", "LT"), with("1", "LT"));
  EXPECT_NE(with("0", "LT"), with("0", "GE"));
}

// Hashes are names in measurement sets on disk, so a change of the format must be deliberate.
TEST(CanonicalHash, StaysWhatItWas) {
  EXPECT_EQ(hash_of_root(std::string(kInputs) + "ROOT d = f32[8,8] add(x, y)"),
            "14d95eef4f4c11eb7d7d4fd6a631b5fa");
}

// --- A kernel isolated from its module is the same kernel, in memory and as text.

Module parse(const std::string& text) {
  return parse_hlo(base::SourceText("test.hlo", text));
}

InstrId find(const Computation& computation, const std::string& name) {
  for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
    if (computation.instructions[i].name == name) return InstrId(i);
  }
  throw Error("no " + name);
}

Kernel only_kernel(const Module& module) {
  const std::vector<KernelPlace> places = kernel_places(module);
  if (places.size() != 1)
    throw Error(std::to_string(places.size()) + " kernels:\n" + print_hlo(module));
  WorkCounter counter(module);
  return make_kernel(module, places[0].computation, places[0].instruction, counter);
}

// Isolates one kernel, prints it and reads it back.
void expect_same_kernel(const Module& module, const KernelPlace& place, WorkCounter& counter) {
  const Kernel kernel = make_kernel(module, place.computation, place.instruction, counter);
  const Module alone = isolate(module, place.computation, place.instruction, "kernel");
  const std::string text = print_hlo(alone);
  const Kernel kept = only_kernel(alone);
  ASSERT_EQ(canonical_hash(kept), canonical_hash(kernel)) << text;
  ASSERT_EQ(kept.parameters().size(), kernel.parameters().size()) << text;
  ASSERT_EQ(kept.work().flops, kernel.work().flops) << text;
  ASSERT_EQ(kept.work().bytes_accessed, kernel.work().bytes_accessed) << text;
  const Module read = parse(text);
  ASSERT_EQ(print_hlo(read), text);
  ASSERT_EQ(canonical_hash(only_kernel(read)), canonical_hash(kernel)) << text;
}

std::size_t expect_same_kernels(const Module& module) {
  WorkCounter counter(module);
  const std::vector<KernelPlace> places = kernel_places(module);
  for (const KernelPlace& place : places) {
    SCOPED_TRACE(module.name + " " + module.at(place.computation).at(place.instruction).name);
    expect_same_kernel(module, place, counter);
    if (::testing::Test::HasFatalFailure()) break;
  }
  return places.size();
}

TEST(Isolate, GivesAParameterPerArrayRead) {
  const Module module = parse(R"(HloModule m
fused { a = f32[8] parameter(0)
 b = (f32[8], f32[4]) parameter(1)
 c = f32[8] get-tuple-element(b), index=0
 ROOT s = f32[8] add(a, c) }
ENTRY main { x = f32[8] parameter(0)
 y = f32[4] parameter(1)
 e = f32[8] exponential(x)
 t = (f32[8], f32[4]) tuple(e, y)
 ROOT fusion.1 = f32[8] fusion(x, t), kind=kLoop, calls=fused })");
  const Module alone =
      isolate(module, module.entry, find(module.entry_computation(), "fusion.1"), "kernel");
  EXPECT_EQ(alone.name, "kernel");
  const Computation& entry = alone.entry_computation();
  ASSERT_EQ(entry.parameters.size(), 3u);
  EXPECT_EQ(entry.at(entry.parameters[0]).name, "x");
  EXPECT_EQ(entry.at(entry.parameters[1]).name, "t.0");
  EXPECT_EQ(entry.at(entry.parameters[2]).name, "t.1");
  EXPECT_EQ(entry.root_instruction().name, "fusion.1");
  EXPECT_EQ(alone.computations.size(), 2u);
  EXPECT_EQ(only_kernel(alone).parameters().size(), 2u) << "y is read by nothing";
  expect_same_kernels(module);
}

TEST(Isolate, KeepsScalarConstantsAndOperandsUsedTwice) {
  const Module module = parse(R"(HloModule m
sum { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT s = f32[] add(a, b) }
ENTRY main { x = f32[8,4] parameter(0)
 e = f32[8,4] exponential(x)
 zero = f32[] constant(0)
 r = f32[8] reduce(e, zero), dimensions={1}, to_apply=sum
 ROOT m = f32[8] multiply(r, r) })");
  const Computation& entry = module.entry_computation();
  const Module reduce = isolate(module, module.entry, find(entry, "r"), "kernel");
  EXPECT_EQ(reduce.entry_computation().parameters.size(), 1u);
  EXPECT_EQ(reduce.entry_computation().instructions.size(), 3u);
  const Module square = isolate(module, module.entry, find(entry, "m"), "kernel");
  EXPECT_EQ(square.entry_computation().parameters.size(), 1u);
  EXPECT_EQ(square.computations.size(), 1u) << "nothing that the kernel does not call";
  expect_same_kernels(module);
}

TEST(Isolate, KeepsAsynchronousChainsWhole) {
  const Module module = parse(R"(HloModule m
ENTRY main { x = f32[8,128] parameter(0)
 start = (f32[8,128], f32[8,128], u32[]) copy-start(x)
 other = f32[8,128] negate(x)
 done = f32[8,128] copy-done(start)
 ROOT s = f32[8,128] add(done, other) })");
  const Computation& entry = module.entry_computation();
  const Module alone = isolate(module, module.entry, find(entry, "start"), "kernel");
  EXPECT_EQ(alone.entry_computation().instructions.size(), 3u);
  EXPECT_EQ(alone.entry_computation().root_instruction().name, "done");
  EXPECT_THROW((void)isolate(module, module.entry, find(entry, "done"), "kernel"), Error);
  expect_same_kernels(module);
}

TEST(Isolate, KeepsBuffersShared) {
  const Module module = parse(R"(HloModule m
fused { a = f32[8,4] parameter(0)
 b = f32[1,4] parameter(1)
 i = s32[] parameter(2)
 z = s32[] constant(0)
 ROOT u = f32[8,4] dynamic-update-slice(a, b, i, z) }
ENTRY main { x = f32[8,4] parameter(0)
 y = f32[1,4] parameter(1)
 i = s32[] parameter(2)
 ROOT f = f32[8,4] fusion(x, y, i), kind=kLoop, calls=fused, output_to_operand_aliasing={{}: (0, {})} })");
  const Module alone =
      isolate(module, module.entry, find(module.entry_computation(), "f"), "kernel");
  EXPECT_EQ(only_kernel(alone).in_place().size(), 1u);
  expect_same_kernels(module);
}

TEST(Isolate, KeepsEveryKernelOfTheShippedPrograms) {
  for (const Module& module : shipped_programs()) EXPECT_GT(expect_same_kernels(module), 0u);
}

TEST(Isolate, KeepsDeviceLayouts) {
  for (const Module& module : shipped_programs()) {
    expect_same_kernels(assign_layouts(module, LayoutRules{}));
  }
}

TEST(Isolate, KeepsEveryKernelOfThePublicModules) {
  const auto files = support::shared_files("hlo/public", ".hlo");
  if (files.empty()) GTEST_SKIP() << "no modules in " << support::shared_dir();
  std::size_t kernels = 0;
  for (const std::filesystem::path& file : files) {
    kernels += expect_same_kernels(read_hlo_file(file.string()));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(kernels, files.size());
  RecordProperty("kernels", static_cast<int>(kernels));
}
}  // namespace
}  // namespace tilecast::ir
