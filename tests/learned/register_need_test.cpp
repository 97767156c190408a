// Registers of expressions against Sethi and Ullman's numbers.
#include "learned/register_need.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "hwdesc/device_yaml.h"
#include "ir/program.h"
#include "ir/text/hlo_parser.h"
#include "learned/table_features.h"
#include "tests/support/texts.h"

namespace tilecast::learned {
namespace {

constexpr const char* kShape = "f32[16,128]{1,0}";

ir::Kernel only_kernel(const std::string& text) {
  const ir::Module module = ir::parse_hlo(base::SourceText("test.hlo", text));
  return ir::make_program(module).kernels().front().kernel;
}

// A fusion of `parameters` arrays and `body`, whose last line is the root.
ir::Kernel fusion_of(int parameters, const std::string& body) {
  std::string inside, outside, names;
  for (int i = 0; i < parameters; ++i) {
    inside += fmt::format("  p{} = {} parameter({})\n", i, kShape, i);
    outside += fmt::format("  a{} = {} parameter({})\n", i, kShape, i);
    names += fmt::format("{}a{}", i > 0 ? ", " : "", i);
  }
  return only_kernel(
      fmt::format("HloModule m, is_scheduled=true\n\nfused {{\n{}{}}}\n\nENTRY main {{\n{}"
                  "  ROOT y = {} fusion({}), kind=kLoop, calls=fused\n}}\n",
                  inside, body, outside, kShape, names));
}

RegisterNeed need_of(const ir::Kernel& kernel) {
  return register_need(kernel, kernel.outputs().front());
}

// `lines` with $ replaced by the shape.
std::string ops(const std::string& lines) {
  return support::replaced_all(lines, "$", kShape);
}

TEST(RegisterNeed, AChainKeepsOneRegisterSinceTheOtherOperandIsInMemory) {
  const RegisterNeed need = need_of(fusion_of(3, ops("  s = $ add(p0, p1)\n"
                                                     "  ROOT r = $ add(s, p2)\n")));
  EXPECT_EQ(need.pressure, 1);
  EXPECT_EQ(need.streams, 3);
  EXPECT_EQ(need.ops, 2);
}

TEST(RegisterNeed, AProductOfMemoryAddedToMemoryTakesTwo) {
  // One of the three operands of a fused multiply-add is read from memory.
  const RegisterNeed need = need_of(fusion_of(3, ops("  s = $ multiply(p0, p1)\n"
                                                     "  ROOT r = $ add(s, p2)\n")));
  EXPECT_EQ(need.pressure, 2);
}

TEST(RegisterNeed, WhatDoesNotChangeAlongTheLoopIsAnInvariant) {
  const RegisterNeed need = need_of(
      fusion_of(1, ops("  c = f32[] constant(3)\n  b = $ broadcast(c), dimensions={}\n"
                       "  row = f32[16]{0} constant({0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15})\n"
                       "  d = $ broadcast(row), dimensions={0}\n"
                       "  s = $ multiply(p0, b)\n  ROOT r = $ add(s, d)\n")));
  EXPECT_EQ(need.pressure, 1);
  EXPECT_EQ(need.invariants, 2);
  EXPECT_EQ(need.streams, 1);
}

TEST(RegisterNeed, ATranspositionIsReadAcross) {
  const RegisterNeed need = need_of(only_kernel(
      "HloModule m, is_scheduled=true\n\nENTRY main {\n  p = f32[128,16]{1,0} parameter(0)\n"
      "  ROOT r = f32[16,128]{1,0} transpose(p), dimensions={1,0}\n}\n"));
  EXPECT_EQ(need.strided, 1);
  EXPECT_EQ(need.streams, 0);
}

// max(max(a, b), max(c, d)) etc.: 2^d arrays need d registers.
TEST(RegisterNeed, APerfectTreeOfDepthDTakesDRegisters) {
  for (int depth = 1; depth <= 6; ++depth) {
    std::string body;
    std::vector<std::string> level;
    for (int i = 0; i < 1 << depth; ++i) level.push_back(fmt::format("p{}", i));
    for (int name = 0; level.size() > 1;) {
      std::vector<std::string> next;
      for (std::size_t i = 0; i < level.size(); i += 2) {
        const bool root = level.size() == 2;
        next.push_back(fmt::format("t{}", name++));
        body += fmt::format("  {}{} = $ maximum({}, {})\n", root ? "ROOT " : "", next.back(),
                            level[i], level[i + 1]);
      }
      level = next;
    }
    EXPECT_EQ(need_of(fusion_of(1 << depth, ops(body))).pressure, depth);
  }
}

// A random tree of maxima, and its registers with the better of both orders at every op.
struct Tree {
  std::string body, name;
  int leaves = 0, ops = 0;
  int need = 0;  // 0: in memory
};

Tree random_tree(std::mt19937_64& random, int depth, int& parameters, int& names) {
  if (depth == 0 || random() % 4 == 0) {
    Tree leaf;
    leaf.name = fmt::format("p{}", parameters++);
    leaf.leaves = 1;
    return leaf;
  }
  const Tree a = random_tree(random, depth - 1, parameters, names);
  const Tree b = random_tree(random, depth - 1, parameters, names);
  Tree tree;
  tree.body = a.body + b.body;
  tree.name = fmt::format("t{}", names++);
  tree.body += fmt::format("  {} = $ maximum({}, {})\n", tree.name, a.name, b.name);
  tree.leaves = a.leaves + b.leaves;
  tree.ops = a.ops + b.ops + 1;
  // First x in a register (loaded if in memory), then y.
  const auto ordered = [](const Tree& x, const Tree& y) {
    return std::max(std::max(x.need, 1), y.need == 0 ? 1 : y.need + 1);
  };
  tree.need = std::min(ordered(a, b), ordered(b, a));
  return tree;
}

TEST(RegisterNeed, IsTheBetterOrderOfEveryOpOfRandomTrees) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 1000; ++i) {
    int parameters = 0, names = 0;
    Tree tree = random_tree(random, 5, parameters, names);
    if (tree.ops == 0) continue;
    tree.body.insert(tree.body.rfind("  " + tree.name + " = ") + 2, "ROOT ");
    const RegisterNeed need = need_of(fusion_of(parameters, ops(tree.body)));
    EXPECT_EQ(need.pressure, tree.need) << tree.body;
    EXPECT_EQ(need.streams, tree.leaves);
    EXPECT_EQ(need.ops, tree.ops);
  }
}

TEST(RegisterNeed, OfAReductionIsThatOfWhatItReduces) {
  const ir::Kernel kernel = only_kernel(
      "HloModule m, is_scheduled=true\n\nplus {\n  x = f32[] parameter(0)\n"
      "  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y)\n}\n\nfused {\n"
      "  a = f32[16,128]{1,0} parameter(0)\n  b = f32[16,128]{1,0} parameter(1)\n"
      "  e = f32[16,128]{1,0} exponential(a)\n  m = f32[16,128]{1,0} maximum(e, b)\n"
      "  z = f32[] constant(0)\n"
      "  ROOT r = f32[16]{0} reduce(m, z), dimensions={1}, to_apply=plus\n}\n\nENTRY main {\n"
      "  a = f32[16,128]{1,0} parameter(0)\n  b = f32[16,128]{1,0} parameter(1)\n"
      "  ROOT y = f32[16]{0} fusion(a, b), kind=kInput, calls=fused\n}\n");
  const RegisterNeed need = need_of(kernel);
  EXPECT_EQ(need.ops, 2);
  EXPECT_EQ(need.functions, 1);
  EXPECT_EQ(need.selections, 1);

  // As columns: those of the output, which is a reduction, and of the reduction; no tile, no run.
  const TableFeatures features({.groups = {FeatureGroup::kCode}, .parameters = {}});
  std::vector<float> row(features.width());
  const analytical::KernelQuery query{.kernel = kernel};
  features.extract(std::span(&query, 1), hwdesc::load_device("cpu_generic"), {}, row);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string& name = features.schema().columns[i].name;
    if (name == "code.output.ops" || name == "code.reduction.ops") {
      EXPECT_EQ(row[i], 2) << name;
    } else if (name == "code.run") {
      EXPECT_TRUE(std::isnan(row[i]));
    }
  }
}

}  // namespace
}  // namespace tilecast::learned
