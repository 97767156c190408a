// Runs random schedules of random kernels: pipelining does not change results, and faults in a
// pipeline are detected.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "base/error.h"
#include "schedule/pipeline.h"
#include "schedule/text.h"
#include "schedule/touched.h"
#include "schedule/walk.h"
#include "tests/schedule/parse_loops.h"
#include "tests/schedule/random_schedules.h"
#include "tests/schedule/run_loops.h"

namespace tilecast::schedule {
namespace {

using interpreter::Elements;

constexpr std::uint64_t kSchedules = 2000;

TEST(PipelineProperty, PipelinedLoopsComputeWhatTheKernelDoes) {
  int with_pipeline = 0, fused = 0, two_levels = 0;
  for (std::uint64_t seed = 0; seed < kSchedules; ++seed) {
    const RandomSchedule made = random_schedule(seed);
    const std::vector<Elements> inputs = whole_inputs(made.kernel, seed);
    const std::vector<Elements> expected = interpreter::evaluate(made.kernel, inputs);
    const LoopProgram code = pipelined(made.program);
    for (const LoopProgram* program : {&made.program, &code}) {
      try {
        ASSERT_EQ(run_loops(*program, inputs), expected) << seed << to_text(*program);
      } catch (const Error& error) {
        FAIL() << seed << ": " << error.what() << "\n" << to_text(*program);
      }
    }
    const std::vector<Pipeline> pipelines = analyse_pipelines(made.program);
    with_pipeline += pipelines.empty() ? 0 : 1;
    two_levels += pipelines.size() > 1 ? 1 : 0;
    fused += std::any_of(pipelines.begin(), pipelines.end(),
                         [](const Pipeline& p) { return !p.outer.empty(); })
                 ? 1
                 : 0;
  }
  RecordProperty("with_pipeline", with_pipeline);
  std::printf("%d of %d pipelined, %d of them on two levels, %d fused\n", with_pipeline,
              static_cast<int>(kSchedules), two_levels, fused);
  EXPECT_GT(with_pipeline, static_cast<int>(kSchedules) / 2);
  EXPECT_GT(fused, static_cast<int>(kSchedules) / 50);
}

TEST(PipelineProperty, TextIsReadAsItWasWritten) {
  for (std::uint64_t seed = 0; seed < kSchedules; seed += 10) {
    const std::string text = to_text(pipelined(random_schedule(seed).program));
    EXPECT_EQ(to_text(parse_loops(base::SourceText("random.loops", text))), text);
  }
}

// --- injected faults

void for_each_body(Body& body, const std::function<void(Body&)>& visit) {
  visit(body);
  for (Statement& statement : body) {
    if (Body* inner = statement.body()) for_each_body(*inner, visit);
  }
}

// One stage less for copies.
bool one_stage_too_few(LoopProgram& program) {
  bool found = false;
  for (Buffer& buffer : program.buffers) {
    if (buffer.stages < 2) continue;
    --buffer.stages;
    for_each_access(program.body, [&](Access& access, Use) {
      if (access.buffer == buffer.name && access.slot) *access.slot = *access.slot % buffer.stages;
    });
    found = true;
  }
  return found;
}

// Only in the loops, where every pipeline waits and releases.
bool remove_sync(LoopProgram& program, Sync::Kind kind) {
  bool removed = false;
  for_each_body(program.body, [&](Body& body) {
    const auto end = std::remove_if(body.begin(), body.end(), [&](const Statement& statement) {
      const auto* sync = statement.get<Sync>();
      return sync != nullptr && sync->kind == kind;
    });
    removed = removed || end != body.end();
    body.erase(end, body.end());
  });
  return removed;
}

// Reads the next slot.
bool wrong_slot(LoopProgram& program) {
  bool found = false;
  for_each_access(program.body, [&](Access& access, Use use) {
    if (use != Use::kRead || !access.slot) return;
    *access.slot = (*access.slot + 1) % program.buffer(access.buffer).stages;
    found = true;
  });
  return found;
}

// Copies the data of the next iteration.
bool shifted_by_one(LoopProgram& program, const LoopProgram& before) {
  bool found = false;
  for (const Pipeline& pipeline : analyse_pipelines(before)) {
    const LoopPlace place = find_loop(program, pipeline.loop);
    if (place.loop().extent < pipeline.stages) continue;  // the first loads contain everything
    for_each_body(place.loop().body, [&](Body& body) {
      for (Statement& statement : body) {
        auto* copy = statement.get<Copy>();
        if (copy == nullptr || !copy->async) continue;
        for (Index& index : copy->from.at) {
          const Index moved = index.with(pipeline.loop, Index::of(pipeline.loop) + 1);
          found = found || !(moved == index);
          index = moved;
        }
      }
    });
    if (found) return true;
  }
  return found;
}

using Fault = std::function<bool(LoopProgram&, const LoopProgram&)>;
struct Planted {
  const char* name;
  Fault plant;
};

bool caught(const LoopProgram& program, const std::vector<Elements>& inputs,
            const std::vector<Elements>& expected) {
  try {
    return run_loops(program, inputs) != expected;
  } catch (const Error&) {
    return true;
  }
}

class PlantedFault : public testing::TestWithParam<Planted> {};

TEST_P(PlantedFault, IsCaught) {
  int planted = 0;
  for (std::uint64_t seed = 0; seed < kSchedules && planted < 150; ++seed) {
    const RandomSchedule made = random_schedule(seed);
    if (made.pipelined == 0) continue;
    const std::vector<Elements> inputs = whole_inputs(made.kernel, seed);
    const std::vector<Elements> expected = interpreter::evaluate(made.kernel, inputs);
    LoopProgram code = pipelined(made.program);
    if (!GetParam().plant(code, made.program)) continue;
    ++planted;
    EXPECT_TRUE(caught(code, inputs, expected)) << seed << "\n" << to_text(code);
  }
  EXPECT_GE(planted, 100);
}

INSTANTIATE_TEST_SUITE_P(
    Pipelines, PlantedFault,
    testing::Values(Planted{"StageTooFew", [](LoopProgram& p,
                                              const LoopProgram&) { return one_stage_too_few(p); }},
                    Planted{"MissingWait",
                            [](LoopProgram& p, const LoopProgram&) {
                              return remove_sync(p, Sync::Kind::kConsumerWait);
                            }},
                    Planted{"MissingRelease",
                            [](LoopProgram& p, const LoopProgram&) {
                              return remove_sync(p, Sync::Kind::kConsumerRelease);
                            }},
                    Planted{"MissingAcquire",
                            [](LoopProgram& p, const LoopProgram&) {
                              return remove_sync(p, Sync::Kind::kProducerAcquire);
                            }},
                    Planted{"MissingCommit",
                            [](LoopProgram& p, const LoopProgram&) {
                              return remove_sync(p, Sync::Kind::kProducerCommit);
                            }},
                    Planted{"WrongSlot",
                            [](LoopProgram& p, const LoopProgram&) { return wrong_slot(p); }},
                    Planted{"WrongShift", shifted_by_one}),
    [](const testing::TestParamInfo<Planted>& parameter) {
      return std::string(parameter.param.name);
    });

// --- Elements touched by loops, counted by touched.h and one by one.

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
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
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
  for (int i = 0; i < 1000; ++i) {
    check(random_program(random), checked);
    ASSERT_FALSE(HasFatalFailure()) << i;
  }
  EXPECT_EQ(checked.inexact, 0);
  EXPECT_EQ(checked.ragged, 0);
}
}  // namespace
}  // namespace tilecast::schedule
