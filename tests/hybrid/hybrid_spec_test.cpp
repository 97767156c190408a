#include "hybrid/hybrid_spec.h"

#include <gmock/gmock.h>

#include "hwdesc/config_reader.h"
#include "tests/support/errors.h"

namespace tilecast::hybrid {
namespace {

using learned::FeatureGroup;
using testing::ElementsAre;
using testing::HasSubstr;

HybridSpec read(const std::string& text) {
  return read_hybrid(hwdesc::read_config(text, "h.yaml"));
}

std::string message_of(const std::string& text) {
  return support::error_of([&] { return read(text); });
}

TEST(HybridSpec, ReadsEveryKey) {
  const HybridSpec spec =
      read("{name: mine, features: [prior, tile], trial_by: row, members: 4, guard: no, seed: 7}");
  EXPECT_EQ(spec.name, "mine");
  EXPECT_THAT(spec.features.value(), ElementsAre(FeatureGroup::kPrior, FeatureGroup::kTile));
  EXPECT_EQ(spec.trial_by, learned::ValidateBy::kRow);
  EXPECT_EQ(spec.members, 4U);
  EXPECT_EQ(spec.belief, Belief::kEverything);
  EXPECT_EQ(spec.seed, 7U);
}

TEST(HybridSpec, ANameIsEnough) {
  const HybridSpec spec = read("{name: mine}");
  EXPECT_FALSE(spec.features.has_value());
  EXPECT_EQ(spec.trial_by, learned::ValidateBy::kKernel);
  EXPECT_EQ(spec.members, BagSpec{}.members);
  EXPECT_EQ(spec.belief, Belief::kRules);
  EXPECT_EQ(read("{name: mine, guard: yes}").belief, Belief::kRules);
}

TEST(HybridSpec, NamesTheKeyThatIsWrong) {
  EXPECT_THAT(message_of("[mine]"), HasSubstr("h.yaml:1:1: expected {name: ...}"));
  EXPECT_THAT(message_of("{seed: 1}"), HasSubstr("name is missing"));
  EXPECT_THAT(message_of("{name: ''}"), HasSubstr("h.yaml:1:2: name: expected a text"));
  EXPECT_THAT(message_of("{name: h, member: 5}"), HasSubstr("did you mean 'members'?"));
  EXPECT_THAT(message_of("{name: h, guard: maybe}"), HasSubstr("got 'maybe', expected no, yes"));
  EXPECT_THAT(message_of("{name: h, trial_by: moon}"),
              HasSubstr("got 'moon', expected family, kernel, row"));
  for (const char* members : {"3", "33", "nan", "1e300", "-4"}) {
    EXPECT_THAT(message_of(std::string("{name: h, members: ") + members + "}"),
                HasSubstr("expected a whole number from 4 to 32"));
  }
}

// Columns describe whole kernels, and are the same for every measurement set.
TEST(HybridSpec, RefusesGroupsThatAreNoColumnsOfKernels) {
  for (const char* group : {"node", "tokens", "parameters", "trees"}) {
    EXPECT_THAT(message_of(std::string("{name: h, features: [prior, ") + group + "]}"),
                HasSubstr(std::string("h.yaml:1:29: got '") + group));
  }
  EXPECT_THAT(message_of("{name: h, features: []}"), HasSubstr("features: expected a list"));
}

}  // namespace
}  // namespace tilecast::hybrid
