// Universal Binary JSON is read as by the usual library.
#include "learned/ubjson.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "tests/support/errors.h"

namespace tilecast::learned {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

// With arrays of one type expanded, as in the library.
Json unpacked(const Json& value) {
  if (value.is_binary()) return numbers_of(value);
  Json result = value;
  if (value.is_structured()) {
    for (Json& each : result) each = unpacked(each);
  }
  return result;
}

Json random_document(std::mt19937_64& random, int depth) {
  const auto number = [&]() -> Json {
    const auto any = static_cast<std::int64_t>(random());
    switch (random() % 3) {
      case 0:
        return any >> (random() % 63);  // of any width
      case 1:
        return static_cast<double>(static_cast<float>(any) / 7);
      default:
        return static_cast<double>(any) / 7;
    }
  };
  const std::uint64_t size = random() % 5;
  Json value;
  switch (depth == 0 ? random() % 2 : random() % 5) {
    case 0:
      return number();
    case 1:
      return std::string(size * 60, 'N');
    case 2:
      value = Json::array();
      for (std::uint64_t i = 0; i < size; ++i) value.push_back(number());
      return value;
    case 3:
      value = Json::array();
      for (std::uint64_t i = 0; i < size; ++i) value.push_back(random_document(random, depth - 1));
      return value;
    default:
      value = Json::object();
      for (std::uint64_t i = 0; i < size; ++i) {
        value["key " + std::to_string(i)] = random_document(random, depth - 1);
      }
      return value;
  }
}

std::string written(const Json& document, bool sizes, bool types) {
  std::string bytes;
  Json::to_ubjson(document, bytes, sizes, types);
  return bytes;
}

TEST(Ubjson, ReadsWhatTheLibraryWrites) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 3000; ++i) {
    const Json document = random_document(random, 4);
    for (const auto& [sizes, types] :
         {std::pair{false, false}, std::pair{true, false}, std::pair{true, true}}) {
      EXPECT_EQ(unpacked(parse_ubjson(written(document, sizes, types))), document) << document;
    }
  }
}

// The types that the library only writes for values that need them, at their limits.
TEST(Ubjson, ReadsNumbersOfEveryType) {
  using namespace std::string_literals;
  const auto numbers = [](const std::string& bytes) { return numbers_of(parse_ubjson(bytes)); };
  EXPECT_THAT(numbers("[$i#i\x02\x80\x7f"), ElementsAre(-128, 127));
  EXPECT_THAT(numbers("[$U#U\x02\x00\xff"s), ElementsAre(0, 255));
  EXPECT_THAT(numbers("[$I#I\x00\x02\x80\x00\x7f\xff"s), ElementsAre(-32768, 32767));
  EXPECT_THAT(numbers("[$l#l\x00\x00\x00\x01\x80\x00\x00\x00"s), ElementsAre(-2147483648.0));
  EXPECT_THAT(numbers("[$d#i\x01\x3f\xc0\x00\x00"s), ElementsAre(1.5));
  EXPECT_THAT(numbers("[$L#i\x01\xff\xff\xff\xff\xff\xff\xff\xfe"s), ElementsAre(-2));
  EXPECT_THAT(numbers("[$D#i\x01\xbf\xf8\x00\x00\x00\x00\x00\x00"s), ElementsAre(-1.5));
  EXPECT_THAT(numbers("[Ni\x01NU\x02N]"), ElementsAre(1, 2));
  EXPECT_THAT(numbers("[]"), ElementsAre());
}

TEST(Ubjson, RefusesWhatIsNoModelsValue) {
  const auto refusal = [](const std::string& bytes) -> std::string {
    return support::error_of([&] { return parse_ubjson(bytes); }, "accepted");
  };
  EXPECT_THAT(refusal(""), HasSubstr("parse error at byte 0: got 0 bytes, expected 1"));
  EXPECT_THAT(refusal("T"), HasSubstr("got 0x54, expected a number"));
  EXPECT_THAT(refusal("[Z]"), HasSubstr("parse error at byte 1: got 0x5a"));
  EXPECT_THAT(refusal("[$N#i\x7f"), HasSubstr("elements that take bytes"));
  EXPECT_THAT(refusal("[$d]"), HasSubstr("expected a count"));
  EXPECT_THAT(refusal("Si\xff"), HasSubstr("got the size -1"));
  EXPECT_THAT(refusal("Si\x02x"), HasSubstr("at most the 1 bytes left"));
  EXPECT_THAT(refusal("[$D#i\x02" + std::string(15, 'x')), HasSubstr("got 15 bytes, expected 16"));
  EXPECT_THAT(refusal("Sd"), HasSubstr("whole number for a size"));
  EXPECT_THAT(refusal("i\x01i"), HasSubstr("expected end of input"));
}

}  // namespace
}  // namespace tilecast::learned
