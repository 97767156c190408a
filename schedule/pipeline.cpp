#include "schedule/pipeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "schedule/walk.h"

namespace tilecast::schedule {
namespace {

using Replacements = std::map<std::string, Index, std::less<>>;

bool belongs(const Pipeline& pipeline, const std::string& buffer) {
  return std::find(pipeline.buffers.begin(), pipeline.buffers.end(), buffer) !=
         pipeline.buffers.end();
}

const Loop* child_loop(const Body& body, std::string_view variable) {
  for (const Statement& statement : body) {
    const auto* loop = statement.get<Loop>();
    if (loop != nullptr && loop->variable == variable) return loop;
  }
  return nullptr;
}

// Inner-pipeline fusion: applies if the inner loop is directly in the outer one, its loads read the
// outer pipeline, and its first loads fit into one iteration of the outer loop.
void fuse(LoopProgram& program, std::vector<Pipeline>& pipelines,
          const std::vector<LoadUseLoop>& sites) {
  for (Pipeline& inner : pipelines) {
    for (const Pipeline& outer : pipelines) {
      const bool feeds = std::any_of(sites.begin(), sites.end(), [&](const LoadUseLoop& site) {
        return belongs(inner, site.buffer) && belongs(outer, site.producer);
      });
      if (!feeds) continue;
      const Loop* loop = child_loop(find_loop(program, outer.loop).loop().body, inner.loop);
      if (loop != nullptr && inner.stages - 1 <= loop->extent) inner.outer = outer.name;
    }
  }
}

// The statements of a loop's body: those that only load the pipeline's buffers, and the rest.
struct Parts {
  Body loads, uses;
};
Parts parts_of(const Loop& loop, const Pipeline& pipeline) {
  Parts parts;
  for (const Statement& statement : loop.body) {
    bool loads = false, other = false;
    for_each_access(Body{statement}, [&](const Access& access, Use use) {
      if (use == Use::kWrite) (belongs(pipeline, access.buffer) ? loads : other) = true;
    });
    if (loads && other) {
      throw Error(fmt::format("loop {}: a statement fills {} and writes other buffers too",
                              loop.variable, pipeline.buffers.front()));
    }
    (loads ? parts.loads : parts.uses).push_back(statement);
  }
  return parts;
}

Statement sync(Sync::Kind kind, const Pipeline& pipeline) {
  return {Sync{kind, pipeline.name}};
}

// Appends a loop that runs `repeated` `count` times.
void repeat(Body& body, int count, const std::string& variable, Body repeated) {
  if (count < 1) return;
  body.push_back({Loop{variable, count, LoopKind::kSequential, std::move(repeated)}});
}

void append(Body& body, Body more) {
  for (Statement& statement : more) body.push_back(std::move(statement));
}

// Sets the slot of accesses with that use to the pipeline's buffers.
void set_slots(Body& body, const Pipeline& pipeline, Use use, const Index& slot) {
  for_each_access(body, [&](Access& access, Use how) {
    if (how == use && belongs(pipeline, access.buffer)) access.slot = slot;
  });
}

class Transformer {
 public:
  explicit Transformer(std::vector<Pipeline> pipelines) : pipelines_(std::move(pipelines)) {}

  Body transformed(const Body& body) {
    Body made;
    for (const Statement& statement : body) {
      const auto* loop = statement.get<Loop>();
      const Pipeline* pipeline = loop != nullptr ? of_loop(loop->variable) : nullptr;
      if (pipeline != nullptr) {
        append(made, expanded(*loop, *pipeline));
        continue;
      }
      made.push_back(statement);
      if (Body* inner = made.back().body()) *inner = transformed(Body(*inner));
    }
    return made;
  }

 private:
  // The pipeline of a loop, unless it is fused with one around it.
  [[nodiscard]] const Pipeline* of_loop(const std::string& variable) const {
    for (const Pipeline& pipeline : pipelines_) {
      if (pipeline.loop == variable && pipeline.outer.empty()) return &pipeline;
    }
    return nullptr;
  }
  [[nodiscard]] const Pipeline* fused_with(const Pipeline& outer) const {
    for (const Pipeline& pipeline : pipelines_) {
      if (pipeline.outer == outer.name) return &pipeline;
    }
    return nullptr;
  }

  // One batch: acquire, the loads at a position and slot, commit.
  static Body batch(const Pipeline& pipeline, const Body& loads, const Replacements& position,
                    const Index& slot) {
    Body made{sync(Sync::Kind::kProducerAcquire, pipeline)};
    Body moved = with(loads, position);
    set_slots(moved, pipeline, Use::kWrite, slot);
    append(made, std::move(moved));
    made.push_back(sync(Sync::Kind::kProducerCommit, pipeline));
    return made;
  }

  // One loop with its pipeline, including an inner loop that is fused into it.
  Body expanded(const Loop& loop, const Pipeline& pipeline) {
    const int ahead = pipeline.stages - 1;
    const Pipeline* inner = fused_with(pipeline);
    const Parts parts = parts_of(loop, pipeline);
    const Index v = Index::of(loop.variable);
    Body made;
    const std::string first = loop.variable + ".first";
    repeat(made, ahead, first,
           batch(pipeline, parts.loads, {{loop.variable, Index::of(first) % loop.extent}},
                 Index::of(first)));
    if (inner != nullptr) append(made, first_inner_loads(loop, parts, pipeline, *inner));

    Loop steady{loop.variable, loop.extent, loop.kind, {}};
    steady.body = batch(pipeline, parts.loads, {{loop.variable, (v + ahead) % loop.extent}},
                        (v + ahead) % pipeline.stages);
    if (inner == nullptr) steady.body.push_back(sync(Sync::Kind::kConsumerWait, pipeline));
    Body uses =
        inner == nullptr ? transformed(parts.uses) : with_fused(parts.uses, loop, pipeline, *inner);
    for_each_access(uses, [&](Access& access, Use use) {
      if (use == Use::kRead && belongs(pipeline, access.buffer) && !access.slot) {
        access.slot = v % pipeline.stages;
      }
    });
    append(steady.body, std::move(uses));
    steady.body.push_back(sync(Sync::Kind::kConsumerRelease, pipeline));
    made.push_back({std::move(steady)});

    // The inner pipeline first: its last loads still read the outer one's stages.
    if (inner != nullptr) drain(made, *inner, inner->stages - 1);
    drain(made, pipeline, inner == nullptr ? ahead : ahead - 1);
    return made;
  }

  // Waits for the loads issued beyond the last iteration and releases them.
  static void drain(Body& body, const Pipeline& pipeline, int waits) {
    const std::string last = pipeline.loop + ".last";
    repeat(body, waits, last, {sync(Sync::Kind::kConsumerWait, pipeline)});
    repeat(body, pipeline.stages - 1, last, {sync(Sync::Kind::kConsumerRelease, pipeline)});
  }

  // Before the outer loop: waits for the first tile of the outer pipeline, and issues the first
  // loads of the inner one.
  static Body first_inner_loads(const Loop& loop, const Parts& parts, const Pipeline& pipeline,
                                const Pipeline& inner) {
    const Loop& inner_loop = *child_loop(parts.uses, inner.loop);
    const Parts inner_parts = parts_of(inner_loop, inner);
    Body made{sync(Sync::Kind::kConsumerWait, pipeline)};
    const std::string first = inner.loop + ".first";
    Body loads = inner_parts.loads;
    set_slots(loads, pipeline, Use::kRead, Index(0));
    repeat(made, inner.stages - 1, first,
           batch(inner, loads, {{loop.variable, Index(0)}, {inner.loop, Index::of(first)}},
                 Index::of(first)));
    return made;
  }

  Body with_fused(const Body& uses, const Loop& outer, const Pipeline& pipeline,
                  const Pipeline& inner) {
    Body made;
    for (const Statement& statement : uses) {
      const auto* loop = statement.get<Loop>();
      if (loop != nullptr && loop->variable == inner.loop) {
        made.push_back({fused(*loop, outer, pipeline, inner)});
      } else {
        append(made, transformed({statement}));
      }
    }
    return made;
  }

  // The inner loop, which continues across iterations of the outer one: its iterations are counted
  // from the outer loop's start, and those beyond its extent belong to the next outer iteration.
  Loop fused(const Loop& loop, const Loop& outer, const Pipeline& pipeline, const Pipeline& inner) {
    const int ahead = inner.stages - 1;
    const Index v = Index::of(outer.variable), w = Index::of(loop.variable);
    const Index carry = (w + ahead) / loop.extent;
    const Index count = v * loop.extent + w;
    const Parts parts = parts_of(loop, inner);
    Body loads = parts.loads;
    set_slots(loads, pipeline, Use::kRead, (v + carry) % pipeline.stages);
    Loop made{loop.variable, loop.extent, loop.kind, {}};
    made.body.push_back(
        {Guard{{{w - (loop.extent - ahead), 1}}, {sync(Sync::Kind::kConsumerWait, pipeline)}}});
    Body moved = batch(inner, loads, {}, (count + ahead) % inner.stages);
    for_each_access(moved, [&](Access& access, Use) {  // slots keep counting, positions wrap
      for (Index& index : access.at) {
        index = index.with({{outer.variable, (v + carry) % outer.extent},
                            {loop.variable, (w + ahead) % loop.extent}});
      }
    });
    append(made.body, std::move(moved));
    made.body.push_back(sync(Sync::Kind::kConsumerWait, inner));
    Body uses = transformed(parts.uses);
    set_slots(uses, inner, Use::kRead, count % inner.stages);
    append(made.body, std::move(uses));
    made.body.push_back(sync(Sync::Kind::kConsumerRelease, inner));
    return made;
  }

  std::vector<Pipeline> pipelines_;
};

}  // namespace

std::vector<Pipeline> analyse_pipelines(const LoopProgram& program, const AsyncCopies& machine) {
  std::vector<Pipeline> pipelines;
  std::vector<LoadUseLoop> sites;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.stages < 2) continue;
    const Detection detection = detect_pipeline(program, buffer.name, buffer.stages, machine);
    if (!detection.found) {
      throw Error(fmt::format("pipeline {}: {}", buffer.name, detection.refusal));
    }
    const LoadUseLoop& site = *detection.found;
    const std::string name = fmt::format("{}@{}", schedule::name(site.scope), site.loop);
    const auto same = std::find_if(pipelines.begin(), pipelines.end(),
                                   [&](const Pipeline& p) { return p.name == name; });
    if (same == pipelines.end()) {
      pipelines.push_back({name, {buffer.name}, site.loop, buffer.stages, {}});
    } else {
      same->buffers.push_back(buffer.name);
    }
    sites.push_back(site);
  }
  LoopProgram copy = program;
  fuse(copy, pipelines, sites);
  for (const Pipeline& pipeline : pipelines) {
    (void)parts_of(find_loop(copy, pipeline.loop).loop(), pipeline);
    const auto shares = [&](const Pipeline& p) { return p.loop == pipeline.loop; };
    if (std::count_if(pipelines.begin(), pipelines.end(), shares) > 1) {
      throw Error(fmt::format("loop {}: two scopes are pipelined in it; split it", pipeline.loop));
    }
  }
  return pipelines;
}

LoopProgram pipelined(const LoopProgram& program, const AsyncCopies& machine) {
  LoopProgram made = program;
  made.body = Transformer(analyse_pipelines(program, machine)).transformed(program.body);
  return made;
}

}  // namespace tilecast::schedule
