#include "ir/text/hlo_lexer.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/support/errors.h"

namespace tilecast::ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Token> tokens(const base::SourceText& source) {
  Lexer lexer(source);
  std::vector<Token> all;
  for (Token token = lexer.next(); !token.is(Tok::kEof); token = lexer.next()) all.push_back(token);
  return all;
}

std::vector<Tok> kinds(const std::string& text) {
  const base::SourceText source("t.hlo", text);
  std::vector<Tok> out;
  for (const Token& token : tokens(source)) out.push_back(token.kind);
  return out;
}

std::string error_of(const std::string& text) {
  return support::error_of([&] { return kinds(text); });
}

TEST(HloLexer, WordBeforeColonOrEqualIsANameOrAnAttributeName) {
  EXPECT_THAT(kinds("p: p= p ="),
              ElementsAre(Tok::kName, Tok::kAttributeName, Tok::kIdentifier, Tok::kEqual));
}

TEST(HloLexer, PercentMakesANameEvenOfAKeywordOrAType) {
  EXPECT_THAT(kinds("%ROOT %f32 ROOT f32"),
              ElementsAre(Tok::kName, Tok::kName, Tok::kKeyword, Tok::kType));
  EXPECT_THAT(error_of("% x"), HasSubstr("expects a name after '%'"));
}

TEST(HloLexer, TupleAndBufferAreNotTypeTokens) {
  EXPECT_THAT(kinds("tuple buffer pred token"),
              ElementsAre(Tok::kIdentifier, Tok::kIdentifier, Tok::kType, Tok::kType));
}

TEST(HloLexer, NumberPatternsAreTriedFromTheMostSpecific) {
  EXPECT_THAT(kinds("1.5 2e-3 -.5 -7 3x3 0_1x-2_3 0_1_2 01bf_01io->01bf"),
              ElementsAre(Tok::kDecimal, Tok::kDecimal, Tok::kDecimal, Tok::kInteger, Tok::kSizes,
                          Tok::kPadding, Tok::kPadding, Tok::kDimLabels));
}

TEST(HloLexer, DimLabelsMayStartWithALetterOrAQuestionMark) {
  EXPECT_THAT(kinds("bf01_01io->bf01 ?bf_0io->?bf bf_io->bf"),
              ElementsAre(Tok::kDimLabels, Tok::kDimLabels, Tok::kDimLabels));
  EXPECT_THAT(kinds("?,784"), ElementsAre(Tok::kQuestion, Tok::kComma, Tok::kInteger));
}

TEST(HloLexer, UnsignedIntegersAboveInt64KeepTheirBits) {
  const base::SourceText source("t.hlo", "18446744073709551615 9223372036854775808");
  const std::vector<Token> all = tokens(source);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(static_cast<std::uint64_t>(all[0].integer), UINT64_MAX);
  EXPECT_EQ(all[1].integer, INT64_MIN);
  EXPECT_THAT(error_of("18446744073709551616"), HasSubstr("does not fit in 64 bits"));
  EXPECT_THAT(error_of("-9223372036854775809"), HasSubstr("does not fit in 64 bits"));
}

TEST(HloLexer, NonFiniteNumbersCarrySignAndPayload) {
  const base::SourceText source("t.hlo", "inf -inf -nan nan(0x7f)");
  const std::vector<Token> all = tokens(source);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_GT(all[0].number, 0);
  EXPECT_LT(all[1].number, 0);
  EXPECT_TRUE(std::isnan(all[2].number) && std::signbit(all[2].number));
  EXPECT_EQ(all[2].integer, -1);
  EXPECT_EQ(all[3].integer, 0x7f);
}

TEST(HloLexer, CommentsAreSpaceAndEndAtEitherLineEnd) {
  EXPECT_THAT(kinds("a/* , */b // , \rc // ,\r\nd"),
              ElementsAre(Tok::kIdentifier, Tok::kIdentifier, Tok::kIdentifier, Tok::kIdentifier));
  EXPECT_THAT(error_of("a /* b"), HasSubstr("t.hlo:1:3: was parsing 1:3: error: unterminated"));
}

TEST(HloLexer, DictionaryIsTakenRawUpToItsOwnBrace) {
  const base::SourceText source("t.hlo", R"({#sdy<["x"=2]> {"\"}"}} , x)");
  Lexer lexer(source);
  const Token open = lexer.next();
  EXPECT_EQ(lexer.take_json_dict(open.begin), R"({#sdy<["x"=2]> {"\"}"}})");
  EXPECT_TRUE(lexer.next().is(Tok::kComma));
  EXPECT_EQ(json_dict_end("{{}", 0), std::string_view::npos);
}

TEST(HloLexer, EscapesGoThereAndBack) {
  EXPECT_EQ(unescape(R"(a\"b\n\x41\101\\)"), "a\"b\nAA\\");
  for (int c = 0; c < 256; ++c) {
    const std::string text(1, static_cast<char>(c));
    EXPECT_EQ(unescape(escape(text)), text) << c;
  }
}

TEST(HloLexer, BytesOutsideTheAlphabetAreErrorsAtTheirPlace) {
  EXPECT_THAT(error_of("a\n  $"),
              HasSubstr("t.hlo:2:3: was parsing 2:3: error: unexpected character '$'"));
  EXPECT_THAT(error_of(std::string("a\0b", 3)), HasSubstr("unexpected byte 0x00"));
  EXPECT_THAT(error_of("\"abc"), HasSubstr("unterminated string"));
  EXPECT_THAT(error_of("\"abc\\"), HasSubstr("unterminated string"));
}

}  // namespace
}  // namespace tilecast::ir
