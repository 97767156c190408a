#include "schedule/primitives.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/math.h"
#include "schedule/box.h"
#include "schedule/walk.h"

namespace tilecast::schedule {
namespace {

// Guards statements that use the variable of a ragged split, so that they stay in the old extent.
void guard_pieces(Body& body, const std::string& outer, const Index& whole, std::int64_t extent) {
  for (Statement& statement : body) {
    if (Body* inner = statement.body()) {
      guard_pieces(*inner, outer, whole, extent);
    } else if (mentions(statement, outer)) {
      auto* assign = statement.get<Assign>();
      if (assign != nullptr) assign->where.push_back({whole, extent});
      if (auto* copy = statement.get<Copy>()) copy->padded = true;
      if (statement.get<Multiply>() != nullptr) {
        throw Error("a loop around a matrix unit is split into equal pieces only");
      }
    }
  }
}

// The loops from `first` inwards while they form a perfect nest.
std::vector<Loop*> perfect_nest(Loop& first) {
  std::vector<Loop*> loops{&first};
  while (loops.back()->body.size() == 1) {
    Loop* next = loops.back()->body[0].get<Loop>();
    if (next == nullptr) break;
    loops.push_back(next);
  }
  return loops;
}

struct Header {
  std::string variable;
  std::int64_t extent;
  LoopKind kind;
};

}  // namespace

void Schedule::check_unpipelined(const std::string& loop, const std::string& step) const {
  for (const Buffer& buffer : program_.buffers) {
    if (buffer.stages < 2) continue;
    const Detection detection = detect_pipeline(program_, buffer.name, buffer.stages, machine_);
    if (detection.found && detection.found->loop == loop) {
      throw Error(fmt::format("{} of loop {}, in which {} is pipelined; {} comes before pipelining",
                              step, loop, buffer.name, step));
    }
  }
}

void Schedule::split(const std::string& loop, std::int64_t factor) {
  if (factor < 1) throw Error(fmt::format("split {}: got {}, expected 1 or more", loop, factor));
  check_unpipelined(loop, "tiling");
  LoopProgram program = program_;
  Loop& outer = find_loop(program, loop).loop();
  Loop inner{loop + "i", std::min(factor, outer.extent), outer.kind, {}};
  const std::int64_t extent = outer.extent;
  const Index whole = Index::of(loop + "o") * inner.extent + Index::of(inner.variable);
  inner.body = with(std::move(outer.body), {{loop, whole}});
  outer.extent = base::ceil_div(extent, inner.extent);
  outer.variable = loop + "o";
  if (extent % inner.extent != 0) guard_pieces(inner.body, outer.variable, whole, extent);
  outer.body = {Statement{std::move(inner)}};
  program_ = std::move(program);
}

void Schedule::tile(const std::vector<std::pair<std::string, std::int64_t>>& factors) {
  const LoopProgram before = program_;
  try {
    std::vector<std::string> order;
    for (const auto& [loop, factor] : factors) split(loop, factor);
    for (const auto& [loop, factor] : factors) order.push_back(loop + "o");
    for (const auto& [loop, factor] : factors) order.push_back(loop + "i");
    reorder(order);
  } catch (...) {
    program_ = before;
    throw;
  }
}

void Schedule::reorder(const std::vector<std::string>& loops) {
  for (const std::string& loop : loops) check_unpipelined(loop, "reordering");
  LoopProgram program = program_;
  Loop* outermost = nullptr;
  std::size_t depth = 0;
  for (const std::string& loop : loops) {
    const LoopPlace place = find_loop(program, loop);
    if (outermost == nullptr || place.around.size() < depth) outermost = &place.loop();
    if (outermost == &place.loop()) depth = place.around.size();
  }
  if (outermost == nullptr) return;
  const std::vector<Loop*> nest = perfect_nest(*outermost);
  std::vector<Loop*> places;
  std::vector<Header> headers;
  for (const std::string& loop : loops) {
    const auto found =
        std::find_if(nest.begin(), nest.end(), [&](const Loop* l) { return l->variable == loop; });
    if (found == nest.end()) {
      throw Error(
          fmt::format("reorder: {} is not in the perfect nest of {}; reorder before "
                      "anything is cached between them",
                      loop, outermost->variable));
    }
    headers.push_back({(*found)->variable, (*found)->extent, (*found)->kind});
  }
  std::copy_if(nest.begin(), nest.end(), std::back_inserter(places), [&](const Loop* l) {
    return std::find(loops.begin(), loops.end(), l->variable) != loops.end();
  });
  if (places.size() != headers.size()) throw Error("reorder: a loop is named twice");
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i]->variable = headers[i].variable;
    places[i]->extent = headers[i].extent;
    places[i]->kind = headers[i].kind;
  }
  program_ = std::move(program);
}

void Schedule::mark(const std::string& loop, LoopKind kind) {
  check_unpipelined(loop, std::string(name(kind)));
  find_loop(program_, loop).loop().kind = kind;
}

std::string Schedule::fresh_name(const std::string& buffer, Scope scope) const {
  const std::size_t dot = buffer.rfind('.');
  const std::string tail = dot == std::string::npos ? "" : buffer.substr(dot + 1);
  const bool cached = tail == name(Scope::kShared) || tail == name(Scope::kRegister);
  const std::string stem =
      fmt::format("{}.{}", cached ? buffer.substr(0, dot) : buffer, name(scope));
  std::string made = stem;
  for (int n = 2; program_.find(made) != nullptr; ++n) made = fmt::format("{}{}", stem, n);
  return made;
}

std::string Schedule::cache_read(const std::string& loop, const std::string& buffer, Scope scope) {
  LoopProgram program = program_;
  const LoopPlace place = find_loop(program, loop);
  Body& body = place.loop().body;
  const Buffer source = program.buffer(buffer);
  const Box box = box_of(program, body, buffer, Use::kRead);
  if (box.writes) throw Error(fmt::format("cache_read: loop {} writes {}", loop, buffer));
  Buffer cache{
      fresh_name(buffer, scope), source.dtype, box.extents, {}, scope, Role::kTemporary, 1};
  redirect(body, buffer, cache.name, box);
  std::vector<const Loop*> around = place.around;
  around.push_back(&place.loop());
  const bool padded = !inside(box, source, extents_of(around));
  Copy copy{{cache.name, {}, std::vector<Index>(box.extents.size(), Index(0))},
            {buffer, {}, box.start},
            box.extents,
            false,
            padded};
  const auto first = std::find_if(body.begin(), body.end(), [](const Statement& statement) {
    return statement.get<Copy>() == nullptr;
  });
  body.insert(first, Statement{std::move(copy)});
  program.buffers.push_back(cache);
  program_ = std::move(program);
  return cache.name;
}

std::string Schedule::cache_write(const std::string& loop, const std::string& buffer, Scope scope) {
  LoopProgram program = program_;
  const LoopPlace place = find_loop(program, loop);
  Body& body = place.loop().body;
  const Buffer target = program.buffer(buffer);
  const Box box = box_of(program, body, buffer, Use::kWrite);
  Buffer cache{
      fresh_name(buffer, scope), target.dtype, box.extents, {}, scope, Role::kTemporary, 1};
  redirect(body, buffer, cache.name, box);
  std::vector<const Loop*> around = place.around;
  around.push_back(&place.loop());
  if (box.partial || overlaps_itself(box, extents_of(around))) {
    throw Error(
        fmt::format("cache_write: iterations around loop {} share elements of {}; split its "
                    "loops into equal pieces",
                    loop, buffer));
  }
  const Access whole{cache.name, {}, std::vector<Index>(box.extents.size(), Index(0))};
  const bool padded = !inside(box, target, extents_of(around));
  const Copy back{{buffer, {}, box.start}, whole, box.extents, false, padded};
  const Copy forth{whole, back.to, box.extents, false, padded};
  // If every surrounding loop moves the box, each box is summed here from start to end.
  const bool complete = std::all_of(around.begin(), around.end(), [&](const Loop* l) {
    return std::any_of(box.start.begin(), box.start.end(),
                       [&](const Index& index) { return index.uses(l->variable); });
  });
  body.push_back(Statement{back});
  std::optional<Value> start;
  if (complete) start = take_clearing_nest(program, buffer);
  // The erased nest may have shifted the loop: look it up again.
  Body& found = find_loop(program, loop).loop().body;
  if (start) {
    found.insert(found.begin(), clearing_nest(cache, *start));
  } else if (box.combines) {
    found.insert(found.begin(), Statement{forth});
  }
  program.buffers.push_back(cache);
  program_ = std::move(program);
  return cache.name;
}

void Schedule::pad(const std::string& buffer, std::int64_t elements) {
  Buffer& padded = program_.buffer(buffer);
  if (padded.scope == Scope::kMain || padded.dims.size() < 2 || elements < 0) {
    throw Error(fmt::format("pad {}: expected a matrix in shared memory or registers", buffer));
  }
  padded.dims.back() += elements;
  const ir::Dims wider = strides(Buffer{padded.name, padded.dtype, padded.dims, {}});
  padded.dims.back() -= elements;
  padded.strides = wider;
}

void Schedule::pipeline(const std::string& buffer, int stages) {
  if (stages < 1)
    throw Error(fmt::format("pipeline {}: got {} stages, expected 1 or more", buffer, stages));
  const Detection detection = detect_pipeline(program_, buffer, stages, machine_);
  if (stages > 1 && !detection.found) {
    throw Error(fmt::format("pipeline {}: {}", buffer, detection.refusal));
  }
  program_.buffer(buffer).stages = stages;
  const std::function<void(Body&)> set = [&](Body& body) {
    for (Statement& statement : body) {
      if (Body* inner = statement.body()) set(*inner);
      auto* copy = statement.get<Copy>();
      if (copy != nullptr && copy->to.buffer == buffer) copy->async = stages > 1;
    }
  };
  set(program_.body);
}

}  // namespace tilecast::schedule
