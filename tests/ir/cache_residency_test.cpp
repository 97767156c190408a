#include "ir/cache_residency.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "ir/text/hlo_parser.h"

namespace tilecast::ir {
namespace {

constexpr double kArray = 4096;  // f32[1024]
constexpr double kHeld = 0.75;   // share of a cache that stays

Module found(const std::string& text, double large, double small) {
  Module module = parse_hlo(base::SourceText("m.hlo", "HloModule m\n" + text));
  find_in_caches(module, std::array{large, small});
  return module;
}

// "a=2 b=1 ": the arrays of the entry that are found in a cache, in the order of the text.
std::string levels(const Computation& computation) {
  std::string all;
  for (const Instruction& op : computation.instructions) {
    const int cache = op.shape.layout ? op.shape.layout->cache : 0;
    if (cache > 0) all += fmt::format("{}={} ", op.name, cache);
  }
  return all;
}

const std::string kChain = R"(
ENTRY e {
  p = f32[1024] parameter(0)
  a = f32[1024] negate(p)
  b = f32[1024] exponential(a)
  ROOT c = f32[1024] add(a, b)
}
)";

TEST(CacheResidency, AProgramThatFitsRunsFromTheCache) {
  EXPECT_EQ(levels(found(kChain, 4 * kArray / kHeld, 0).entry_computation()), "p=1 a=1 b=1 c=1 ");
}

TEST(CacheResidency, WhatIsReadSoonComesFromASmallerCache) {
  // b is read just after it was made and a was touched; p and c come again only in the next run.
  EXPECT_EQ(levels(found(kChain, 4 * kArray / kHeld, 2 * kArray / kHeld).entry_computation()),
            "p=1 a=2 b=2 c=1 ");
}

TEST(CacheResidency, AProgramThatDoesNotFitReadsItsArgumentsFromMemory) {
  EXPECT_EQ(levels(found(kChain, 2 * kArray / kHeld, 0).entry_computation()), "a=1 b=1 ");
  EXPECT_EQ(levels(found(kChain, 0, 0).entry_computation()), "");
}

TEST(CacheResidency, ASliceIsAsFarAwayAsItsArrayIsLarge) {
  const std::string text = R"(
ENTRY e {
  p = f32[4096] parameter(0)
  i = s32[] parameter(1)
  s = f32[16] dynamic-slice(p, i), dynamic_slice_sizes={16}
  ROOT r = f32[16] negate(s)
}
)";
  EXPECT_EQ(levels(found(text, 4 * kArray / kHeld, kArray / kHeld).entry_computation()),
            "p=1 i=2 s=2 r=2 ");
}

TEST(CacheResidency, AnUpdateInPlaceIsOneArray) {
  const std::string text = R"(
ENTRY e {
  p = f32[4096] parameter(0)
  u = f32[16] parameter(1)
  i = s32[] parameter(2)
  d = f32[4096] dynamic-update-slice(p, u, i)
  ROOT r = f32[4096] negate(d)
}
)";
  EXPECT_EQ(levels(found(text, 8.1 * kArray / kHeld, 0).entry_computation()),
            "p=1 u=1 i=1 d=1 r=1 ");
  // The update touches its slice only; r comes again after the whole of d and of itself.
  EXPECT_EQ(levels(found(text, 7 * kArray / kHeld, 0).entry_computation()), "p=1 u=1 i=1 d=1 ");
}

}  // namespace
}  // namespace tilecast::ir
