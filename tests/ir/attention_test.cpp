// What attention computes, and its natural form as a call.
#include "ir/attention.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "ir/backend_config.h"
#include "ir/fusion/attention_form.h"
#include "ir/kernel.h"
#include "ir/text/hlo_parser.h"

namespace tilecast::ir {
namespace {

using ::testing::HasSubstr;

double counted_pairs(const Attention& of) {
  double pairs = 0;
  for (std::int64_t query = 0; query < of.queries; ++query) {
    const std::int64_t beside = query + of.keys - of.queries;
    for (std::int64_t key = 0; key < of.keys; ++key) {
      const bool behind = of.causal && key > beside;
      const bool too_old = of.window > 0 && key <= beside - of.window;
      pairs += behind || too_old ? 0 : 1;
    }
  }
  return pairs;
}

TEST(Attention, CountsThePairsThatMasksLeave) {
  for (const std::int64_t queries : {1, 2, 7, 16}) {
    for (const std::int64_t keys : {16, 17, 40}) {
      for (const std::int64_t window : {0, 1, 5, 16, 39, 100}) {
        for (const bool causal : {false, true}) {
          const Attention of{.queries = queries, .keys = keys, .causal = causal, .window = window};
          EXPECT_EQ(visible_scores(of), counted_pairs(of))
              << queries << " x " << keys << " window " << window << " causal " << causal;
        }
      }
    }
  }
}

TEST(Attention, MultipliesTwiceForwardAndFiveTimesBackward) {
  Attention of{.batch = 2,
               .heads = 8,
               .kv_heads = 2,
               .queries = 32,
               .keys = 64,
               .width = 16,
               .value_width = 24};
  const double scores = 2.0 * 8 * 32 * 64;
  EXPECT_EQ(cost_of(of).flops, 2 * scores * (16 + 24));
  EXPECT_EQ(cost_of(of).transcendentals, scores);
  EXPECT_EQ(bytes_of(of).read, 2.0 * (2 * 8 * 32 * 16 + 2 * 2 * 64 * (16 + 24)));
  EXPECT_EQ(bytes_of(of).written, 2.0 * 2 * 8 * 32 * 24);
  of.backward = true;
  EXPECT_EQ(cost_of(of).flops, 2 * scores * (3 * 16 + 2 * 24));
}

TEST(Attention, ReadsNarrowKeysAndOnlyThoseOfTheWindow) {
  Attention of{.heads = 4, .kv_heads = 4, .keys = 1000, .width = 64, .value_width = 64};
  of.kv_dtype = DType::kF8E4M3FN;
  const double query = 2.0 * 4 * 64;
  EXPECT_EQ(bytes_of(of).read, query + 4 * 1000 * 128);
  of.window = 100;
  EXPECT_EQ(bytes_of(of).read, query + 4 * 100 * 128);
}

TEST(Attention, SaysWhatIsWrong) {
  EXPECT_THAT(misfit({.heads = 8, .kv_heads = 3}), HasSubstr("kv_heads: got 3"));
  EXPECT_THAT(misfit({.queries = 9, .keys = 8, .causal = true}), HasSubstr("q_len: got 9"));
  EXPECT_EQ(misfit({.heads = 8, .kv_heads = 4}), "");
}

TEST(Attention, ItsCallSaysItAll) {
  const Attention of{.batch = 2,
                     .heads = 8,
                     .kv_heads = 4,
                     .queries = 3,
                     .keys = 9,
                     .width = 64,
                     .value_width = 32,
                     .causal = true,
                     .window = 5,
                     .backward = true,
                     .kv_dtype = DType::kF8E4M3FN};
  EXPECT_EQ(read_attention_call(attention_config(of)), of);
}

// Grouped heads: 2 x 4 heads of queries on 2 of keys, scores of 64 x 64.
std::string written(const std::string& dtype, const std::string& mask,
                    const std::string& result = "out") {
  const std::string q = dtype + "[2,4,64,32]", k = dtype + "[2,64,32]", s = "f32[2,4,64,64]";
  return "HloModule m\nmax { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
         " ROOT c = f32[] maximum(a, b) }\nsum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
         " ROOT c = f32[] add(a, b) }\nENTRY main {\n q = " +
         q + " parameter(0)\n k = " + k + " parameter(1)\n v = " + k +
         " parameter(2)\n"
         " raw = " +
         s +
         " dot(q, k), lhs_batch_dims={0}, lhs_contracting_dims={3}, "
         "rhs_batch_dims={0}, rhs_contracting_dims={2}\n" +
         mask +
         " low = f32[] constant(-inf)\n zero = f32[] constant(0)\n"
         " top = f32[2,4,64] reduce(scores, low), dimensions={3}, to_apply=max\n"
         " tops = " +
         s +
         " broadcast(top), dimensions={0,1,2}\n"
         " less = " +
         s + " subtract(scores, tops)\n powers = " + s +
         " exponential(less)\n"
         " total = f32[2,4,64] reduce(powers, zero), dimensions={3}, to_apply=sum\n"
         " totals = " +
         s +
         " broadcast(total), dimensions={0,1,2}\n"
         " shares = " +
         s +
         " divide(powers, totals)\n"
         " narrow = " +
         dtype +
         "[2,4,64,64] convert(shares)\n"
         " out = " +
         q +
         " dot(narrow, v), lhs_batch_dims={0}, lhs_contracting_dims={3}, "
         "rhs_batch_dims={0}, rhs_contracting_dims={1}\n"
         " other = " +
         q + " negate(out)\n ROOT r = (" + q + ") tuple(" + result + ")\n}\n";
}

const std::string kNoMask = " scores = f32[2,4,64,64] copy(raw)\n";

std::string causal(const std::string& direction) {
  return " row = s32[64,64] iota(), iota_dimension=0\n column = s32[64,64] iota(), "
         "iota_dimension=1\n seen = pred[64,64] compare(row, column), direction=" +
         direction +
         "\n all = pred[2,4,64,64] broadcast(seen), dimensions={2,3}\n"
         " far = f32[] constant(-1e+30)\n hidden = f32[2,4,64,64] broadcast(far), dimensions={}\n"
         " scores = f32[2,4,64,64] select(all, raw, hidden)\n";
}

struct Called {
  int calls = 0;
  std::optional<Attention> what;
};

Called called(const std::string& text, AttentionCalls which = AttentionCalls::kAlone) {
  Module module = with_calls_inlined(parse_hlo(base::SourceText("test.hlo", text)));
  Called result{.calls = call_attention(module, which), .what = {}};
  for (const Instruction& op : module.entry_computation().instructions) {
    if (op.opcode == Opcode::kCustomCall) result.what = read_attention_call(*op.backend_config);
  }
  return result;
}

TEST(AttentionForm, AProgramThatIsNothingElseIsACall) {
  const Called found = called(written("bf16", kNoMask));
  EXPECT_EQ(found.calls, 1);
  const Attention expected{
      .heads = 8, .kv_heads = 2, .queries = 64, .keys = 64, .width = 32, .value_width = 32};
  EXPECT_EQ(found.what, expected);
}

TEST(AttentionForm, ReadsMasksOfPositions) {
  EXPECT_TRUE(called(written("bf16", causal("GE"))).what->causal);
  const Called ahead = called(written("bf16", causal("LE")));
  EXPECT_FALSE(ahead.what->causal);
  EXPECT_TRUE(ahead.what->unread_mask);
}

TEST(AttentionForm, StaysWhereNoLibraryHasIt) {
  EXPECT_EQ(called(written("f32", kNoMask)).calls, 0);            // no kernel of f32
  EXPECT_EQ(called(written("bf16", kNoMask, "other")).calls, 0);  // not alone
  EXPECT_EQ(called(written("bf16", kNoMask, "other"), AttentionCalls::kAll).calls, 1);
  EXPECT_EQ(called(written("bf16", kNoMask), AttentionCalls::kNone).calls, 0);
}

}  // namespace
}  // namespace tilecast::ir
