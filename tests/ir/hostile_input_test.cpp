// For any bytes, reading a module either succeeds or throws Error; it never crashes or hangs.
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "ir/text/hlo_parser.h"
#include "tests/support/damage.h"

namespace tilecast::ir {
namespace {

const std::string kModules[] = {
    R"(HloModule first, entry_computation_layout={(f32[8,16]{1,0}, f32[16,4]{1,0})->(f32[8,4]{1,0}, f32[])}, input_output_alias={ {0}: (1, {}, may-alias) }, frontend_attributes={k={a = b}}

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(f32[] %a, f32[] %b), metadata={op_type="add" op_name="x/y" source_line=3}
}

ENTRY %main (p: f32[8,16], q: f32[16,4]) -> (f32[8,4], f32[]) {
  %p = f32[8,16]{1,0:T(8,128)} parameter(0), sharding={devices=[2,1]<=[2]}
  %q = f32[16,4]{1,0} parameter(1), sharding={replicated}
  %d = f32[8,4]{1,0} dot(%p, %q), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,default}
  %z = f32[] constant(-1.5e-3)
  %r = f32[] reduce(%d, %z), dimensions={0,1}, to_apply=%sum, backend_config={"k":"}"}
  ROOT %t = (f32[8,4]{1,0}, /*index=1*/f32[]) tuple(%d, %r) // the end
}
)",
    R"(HloModule second
ENTRY e {
  x = bf16[1,8,8,3] parameter(0)
  w = bf16[3,3,3,4] parameter(1)
  c = bf16[1,8,8,4] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  k = s32[2,3] constant({{1,2,3},{4,5,6}})
  s = ((bf16[1,8,8,4]), bf16[1,8,8,4], u32[]) custom-call-start(c), custom_call_target="f\"g", literal=s32[2] {1,2}
  d = bf16[1,8,8,4] custom-call-done(s)
  g = bf16[4,8,8,4] all-gather(d), replica_groups=[1,4]<=[2,2]T(1,0), dimensions={0}, channel_id=3
  ROOT n = bf16[5,8,8,4] pad(g, bf16[] constant(nan)), padding=0_1x0_0x0_0x0_0
}
)"};

// Whether the text is accepted; exceptions other than Error escape and fail the test.
bool accepts(const std::string& text) {
  try {
    (void)parse_hlo(base::SourceText("hostile.hlo", text));
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string repeat(const std::string& part, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += part;
  return out;
}

TEST(HostileInput, EveryPrefixOfAModuleIsReadOrRefused) {
  for (const std::string& module : kModules) {
    ASSERT_NO_THROW((void)parse_hlo(base::SourceText("whole.hlo", module)));
    std::size_t refused = 0;
    for (std::size_t length = 0; length < module.size(); ++length) {
      refused += accepts(module.substr(0, length)) ? 0 : 1;
    }
    EXPECT_GT(refused, module.size() / 2);
  }
}

TEST(HostileInput, DamagedModulesAreReadOrRefused) {
  support::expect_answer_or_error(
      {std::begin(kModules), std::end(kModules)}, 5000, 20261120,
      [](const std::string& text) { (void)parse_hlo(base::SourceText("damaged.hlo", text)); });
}

TEST(HostileInput, RandomBytesAreRefused) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::string text(1 + random() % 200, ' ');
    for (char& c : text) c = static_cast<char>(random());
    EXPECT_FALSE(accepts(text));
  }
}

TEST(HostileInput, DeepNestingIsRefusedNotRecursedInto) {
  constexpr std::size_t kDeep = 200'000;
  for (const char* open : {"(", "{", "[", "b(", "f32[", "negate(", "ENTRY e {", "<=", "/*", "\""}) {
    EXPECT_FALSE(accepts(repeat(open, kDeep))) << open;
    EXPECT_FALSE(accepts("HloModule m\nENTRY e {\n x = " + repeat(open, kDeep))) << open;
    EXPECT_FALSE(accepts("HloModule m\nENTRY e {\n x = f32[] " + repeat(open, kDeep))) << open;
    EXPECT_FALSE(accepts("ENTRY e {\n c = f32[2] constant(" + repeat(open, kDeep))) << open;
    EXPECT_FALSE(accepts("ENTRY e {\n c = f32[] parameter(0), sharding=" + repeat(open, kDeep)))
        << open;
    EXPECT_FALSE(accepts("ENTRY e {\n c = f32[] parameter(0), origin=" + repeat(open, kDeep)))
        << open;
  }
  EXPECT_FALSE(accepts("ENTRY e { x = f32[2] parameter(0)\n r = " +
                       repeat("f32[2] negate(", kDeep) + "x" + repeat(")", kDeep) + "}"));
  EXPECT_FALSE(accepts("ENTRY e { x = f32[] parameter(0)\n" +
                       repeat("r = f32[] call(x), to_apply={", kDeep)));
}

TEST(HostileInput, LargeSizesAreRefusedBeforeTheyAreAllocated) {
  EXPECT_FALSE(
      accepts("f32[4] all-reduce(f32[4] x), replica_groups=[1000000,1000000]<=[1000000000000]"));
  EXPECT_FALSE(accepts("f32[" + repeat("2,", 40) + "2] negate(f32[2] x)"));
  EXPECT_FALSE(accepts("f32[9223372036854775807,2] negate(f32[2] x)"));
  EXPECT_FALSE(accepts("f32[2] parameter(9223372036854775807)"));
}

TEST(HostileInput, LongListsTakeLinearTime) {
  constexpr std::size_t kMany = 100'000;
  EXPECT_TRUE(accepts("s32[100000] constant({" + repeat("1,", kMany) + "})"));
  EXPECT_FALSE(
      accepts("ENTRY e { x = f32[] parameter(0), metadata={" + repeat("a=1 ", kMany) + "}"));
  std::string chain = "ENTRY e {\n x0 = f32[] parameter(0)\n";
  for (std::size_t i = 1; i < kMany; ++i) {
    chain += " x" + std::to_string(i) + " = f32[] negate(x" + std::to_string(i - 1) + ")\n";
  }
  EXPECT_TRUE(accepts(chain + "}\n"));
}

}  // namespace
}  // namespace tilecast::ir
