// Runs random schedules of random kernels: pipelining does not change results, and faults in a
// pipeline are detected.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "schedule/pipeline.h"
#include "schedule/text.h"
#include "schedule/walk.h"
#include "tests/schedule/random_schedules.h"
#include "tests/schedule/run_loops.h"

namespace tilecast::schedule {
namespace {

using interpreter::Elements;

constexpr std::uint64_t kSchedules = 1000;

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
  for (std::uint64_t seed = 0; seed < kSchedules && planted < 60; ++seed) {
    const RandomSchedule made = random_schedule(seed);
    if (made.pipelined == 0) continue;
    const std::vector<Elements> inputs = whole_inputs(made.kernel, seed);
    const std::vector<Elements> expected = interpreter::evaluate(made.kernel, inputs);
    LoopProgram code = pipelined(made.program);
    if (!GetParam().plant(code, made.program)) continue;
    ++planted;
    EXPECT_TRUE(caught(code, inputs, expected)) << seed << "\n" << to_text(code);
  }
  EXPECT_GE(planted, 40);
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

}  // namespace
}  // namespace tilecast::schedule
