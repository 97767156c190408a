#include "base/strong_id.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace tilecast {
namespace {

using RowId = StrongId<struct RowTag>;
using ColumnId = StrongId<struct ColumnTag>;

TEST(StrongId, IdsOfDifferentKindsDoNotMix) {
  EXPECT_FALSE((std::is_convertible_v<RowId, ColumnId>));
  EXPECT_FALSE((std::is_convertible_v<std::size_t, RowId>));
}

TEST(StrongId, IsInvalidUntilItNamesAnIndex) {
  EXPECT_FALSE(RowId().valid());
  EXPECT_TRUE(RowId(0).valid());
  EXPECT_EQ(RowId(7).index(), 7u);
  EXPECT_LT(RowId(3), RowId(4));
}

}  // namespace
}  // namespace tilecast
