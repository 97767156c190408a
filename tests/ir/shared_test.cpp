#include "ir/shared.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "ir/op_attrs.h"

namespace tilecast::ir {
namespace {

TEST(Shared, CopiesAreOneValueUntilOneIsEdited) {
  Shared<Layout> a = default_layout(2), b = a;
  EXPECT_EQ(&*a, &*b);
  b.edit().memory_space = 1;
  EXPECT_EQ(a->memory_space, 0);
  EXPECT_EQ(b->memory_space, 1);
  EXPECT_FALSE(a == b);
  const Layout* const own = &*b;
  b.edit().memory_space = 0;
  EXPECT_EQ(&*b, own);  // not shared: edited in place
  EXPECT_TRUE(a == b);  // equal values, separate objects
}

TEST(Shared, HasNoValueUntilItIsGivenOne) {
  Shared<Layout> none;
  EXPECT_FALSE(none);
  EXPECT_TRUE(none == Shared<Layout>(std::nullopt));
  EXPECT_FALSE(none == Shared<Layout>(Layout{}));
  none = Layout{};
  EXPECT_TRUE(none.has_value());
  none.reset();
  EXPECT_FALSE(none);
}

TEST(Shared, IsEditedInOneThreadWhileOthersRead) {
  const Shared<std::vector<int>> first = std::vector<int>(64, 1);
  std::vector<std::thread> threads;
  std::vector<int> sums(4);
  for (std::size_t t = 0; t < sums.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 500; ++round) {
        Shared<std::vector<int>> own = first;
        own.edit()[0] = static_cast<int>(t);
        sums[t] = (*own)[0] + (*first)[0];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < sums.size(); ++t) EXPECT_EQ(sums[t], static_cast<int>(t) + 1);
}

TEST(SharedOrEmpty, ReadsAsEmptyUntilItIsGivenSomething) {
  SharedOrEmpty<std::vector<int>> a;
  EXPECT_TRUE(a->empty());
  EXPECT_TRUE(a == SharedOrEmpty<std::vector<int>>(std::vector<int>{}));
  a.edit().push_back(7);
  SharedOrEmpty<std::vector<int>> b = a;
  EXPECT_EQ(&*a, &*b);
  b.edit().push_back(8);
  EXPECT_EQ(*a, (std::vector{7}));
  EXPECT_EQ(*b, (std::vector{7, 8}));
  EXPECT_FALSE(a == b);
  b.reset();
  EXPECT_TRUE(b->empty());
}

TEST(OpAttrs, AreOfOneKindOrNone) {
  OpAttrs attrs;
  EXPECT_EQ(attrs.get<DotAttrs>(), nullptr);
  attrs = IndexAttrs{3};
  EXPECT_EQ(attrs.as<IndexAttrs>().index, 3);
  EXPECT_EQ(attrs.get<DotAttrs>(), nullptr);
  EXPECT_EQ(attrs.edit_if<DotAttrs>(), nullptr);
  EXPECT_THROW((void)attrs.as<DotAttrs>(), std::bad_variant_access);
  EXPECT_THROW((void)attrs.edit<DotAttrs>(), std::bad_variant_access);
}

TEST(OpAttrs, OfACopyAreEditedApart) {
  OpAttrs a = SliceAttrs{.dims = {{0, 8, 1}}}, b = a;
  EXPECT_EQ(a.get<SliceAttrs>(), b.get<SliceAttrs>());
  b.edit<SliceAttrs>().dims[0].limit = 4;
  EXPECT_EQ(a.as<SliceAttrs>().dims[0].limit, 8);
  EXPECT_EQ(b.as<SliceAttrs>().dims[0].limit, 4);
}

struct IndexOrLess {
  int operator()(const std::monostate&) const { return 0; }
  int operator()(const IndexAttrs& attrs) const { return static_cast<int>(attrs.index); }
  template <class Other>
  int operator()(const Other&) const {
    return -1;
  }
};

TEST(OpAttrs, AreVisitedAsWhatTheyAre) {
  EXPECT_EQ(OpAttrs().visit(IndexOrLess{}), 0);
  EXPECT_EQ(OpAttrs(IndexAttrs{7}).visit(IndexOrLess{}), 7);
  EXPECT_EQ(OpAttrs(PadAttrs{}).visit(IndexOrLess{}), -1);
}

}  // namespace
}  // namespace tilecast::ir
