// Elements touched by loops, counted by touched.h and one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "base/error.h"
#include "schedule/pipeline.h"
#include "schedule/text.h"
#include "schedule/touched.h"
#include "tests/schedule/random_schedules.h"

namespace tilecast::schedule {
namespace {

// A set of positions in a buffer: the slot, and one number per dimension.
class Positions {
 public:
  explicit Positions(const Buffer& buffer) : buffer_(buffer) {}

  void add(const std::vector<std::int64_t>& position) {
    constexpr unsigned kBits = 18;  // bits per number; seven numbers fit
    if (position.size() * kBits > 128) throw Error("a buffer of too many dimensions for this test");
    unsigned __int128 packed = 0;
    for (std::size_t i = 0; i < position.size(); ++i) {
      const std::int64_t shifted = position[i] + (std::int64_t{1} << (kBits - 1));
      if (shifted < 0 || shifted >> kBits != 0) throw Error("a position too far off for this test");
      packed = packed << kBits | static_cast<unsigned __int128>(shifted);
      inside_ &= i == 0 || (position[i] >= 0 && position[i] < buffer_.dims[i - 1]);
    }
    packed_.push_back(packed);
  }
  [[nodiscard]] bool inside() const { return inside_; }
  [[nodiscard]] double count() {
    std::sort(packed_.begin(), packed_.end());
    const auto end = std::unique(packed_.begin(), packed_.end());
    return static_cast<double>(end - packed_.begin());
  }

 private:
  const Buffer& buffer_;
  std::vector<unsigned __int128> packed_;
  bool inside_ = true;
};

// Adds the box starting at `at`, in the dimensions from `next` on.
void add_box(std::vector<std::int64_t>& at, const ir::Dims& box, std::size_t next, Positions& to) {
  if (next == box.size()) return to.add(at);
  std::int64_t& along = at[at.size() - box.size() + next];
  for (std::int64_t i = 0; i < box[next]; ++i, ++along) add_box(at, box, next + 1, to);
  along -= box[next];
}

void enumerate(const LoopAccess& access, std::size_t next, std::size_t depth, Environment& at,
               Positions& to) {
  if (next < access.loops.size()) {
    const Loop& loop = *access.loops[next];
    const std::int64_t end = next < depth ? 1 : loop.extent;
    for (std::int64_t i = 0; i < end; ++i) {
      at[loop.variable] = i;
      enumerate(access, next + 1, depth, at, to);
    }
    return;
  }
  std::vector<std::int64_t> position;
  position.reserve(access.access->at.size() + 1);
  position.push_back(access.access->slot ? access.access->slot->value(at) : 0);
  for (const Index& index : access.access->at) position.push_back(index.value(at));
  add_box(position, access.box, 0, to);
}

struct Checked {
  int loops = 0, ragged = 0, inexact = 0;
};

// Every loop, and every buffer touched in it.
void check(const LoopProgram& program, Checked& checked) {
  std::map<std::pair<const Loop*, std::string>, std::vector<LoopAccess>> by_loop;
  std::map<const Loop*, std::size_t> depth_of;
  for (const LoopAccess& access : accesses_in(program.body, {})) {
    for (std::size_t d = 0; d < access.loops.size(); ++d) {
      by_loop[{access.loops[d], access.access->buffer}].push_back(access);
      depth_of[access.loops[d]] = d;
    }
  }
  for (const auto& [key, accesses] : by_loop) {
    const Buffer& buffer = program.buffer(key.second);
    const std::size_t depth = depth_of.at(key.first);
    Positions positions(buffer);
    for (const LoopAccess& access : accesses) {
      Environment at;
      enumerate(access, 0, depth, at, positions);
    }
    const TouchedElements touched = touched_elements(buffer, accesses, depth);
    const double expected = positions.count();
    ++checked.loops;
    const std::string where = key.first->variable + " " + key.second + "\n" + to_text(program);
    if (!positions.inside()) {
      ++checked.ragged;
      ASSERT_LE(touched.elements, expected) << where;
    } else if (touched.exact) {
      ASSERT_EQ(touched.elements, expected) << where;
    } else {
      ++checked.inexact;
      ASSERT_GE(touched.elements, expected) << where;
    }
  }
}

TEST(TouchedProperty, ElementsOfRandomSchedulesAreThoseEnumerated) {
  Checked checked;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const RandomSchedule made = random_schedule(seed);
    check(made.program, checked);
    check(pipelined(made.program), checked);
    check(random_convolution(seed).program, checked);
    ASSERT_FALSE(HasFatalFailure()) << seed;
  }
  EXPECT_LT(checked.inexact, checked.loops / 100);
  EXPECT_LT(checked.ragged, checked.loops / 2);
}

// A nest of up to four loops and up to three accesses with random indices: sums, quotients,
// remainders, loops used in several dimensions.
LoopProgram random_program(std::mt19937_64& random) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  std::vector<Loop> loops;
  const std::int64_t depth = draw(1, 4);
  for (std::int64_t i = 0; i < depth; ++i) {
    loops.push_back({"v" + std::to_string(i), draw(1, 6), LoopKind::kSequential, {}});
  }
  constexpr std::int64_t kSize = 400;  // above 4 x 5 x 6 x 2 + 120
  LoopProgram program{"random", {{.name = "x", .dims = {kSize, kSize}}}, {}};
  const auto index = [&] {
    Index sum = draw(0, 2);
    for (const Loop& loop : loops) {
      if (draw(0, 1) == 1) sum = sum + Index::of(loop.variable) * draw(1, 12);
    }
    const std::int64_t form = draw(0, 5);
    return form == 0 ? sum / draw(2, 5) : form == 1 ? sum % draw(2, 9) : sum;
  };
  Body body;
  const std::int64_t accesses = draw(1, 3);
  for (std::int64_t i = 0; i < accesses; ++i) {
    body.push_back({Assign{{"x", {}, {index(), index()}}, Value::of(0, ir::DType::kF32), {}, {}}});
  }
  for (std::size_t i = loops.size(); i-- > 0;) {
    Loop loop = loops[i];
    loop.body = std::move(body);
    body = {Statement{std::move(loop)}};
  }
  program.body = std::move(body);
  return program;
}

TEST(TouchedProperty, ElementsOfRandomIndicesAreThoseEnumerated) {
  std::mt19937_64 random(1);
  Checked checked;
  for (int i = 0; i < 500; ++i) {
    check(random_program(random), checked);
    ASSERT_FALSE(HasFatalFailure()) << i;
  }
  EXPECT_EQ(checked.inexact, 0);
  EXPECT_EQ(checked.ragged, 0);
}

}  // namespace
}  // namespace tilecast::schedule
