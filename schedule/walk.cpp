#include "schedule/walk.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace tilecast::schedule {

namespace {

void visit_reads(Value& value, const std::function<void(Access&, Use)>& visit) {
  if (value.kind == Value::Kind::kRead) visit(value.read, Use::kRead);
  for (Value& operand : value.operands) visit_reads(operand, visit);
}

void replace(Access& access, const std::map<std::string, Index, std::less<>>& by) {
  if (access.slot) access.slot = access.slot->with(by);
  for (Index& index : access.at) index = index.with(by);
}

void replace(std::vector<Bound>& where, const std::map<std::string, Index, std::less<>>& by) {
  for (Bound& bound : where) bound.index = bound.index.with(by);
}

const std::vector<Bound>* bounds_of(const Statement& statement) {
  if (const auto* assign = statement.get<Assign>()) return &assign->where;
  if (const auto* guard = statement.get<Guard>()) return &guard->where;
  return nullptr;
}

bool find(Body& body, std::string_view variable, LoopPlace& place) {
  for (std::size_t i = 0; i < body.size(); ++i) {
    const auto* loop = body[i].get<Loop>();
    if (loop != nullptr && loop->variable == variable) {
      place.body = &body;
      place.position = i;
      return true;
    }
    Body* inner = body[i].body();
    if (inner == nullptr) continue;
    if (loop != nullptr) place.around.push_back(loop);
    if (find(*inner, variable, place)) return true;
    if (loop != nullptr) place.around.pop_back();
  }
  return false;
}

}  // namespace

void for_each_access(Body& body, const std::function<void(Access&, Use)>& visit) {
  for (Statement& statement : body) {
    if (Body* inner = statement.body()) for_each_access(*inner, visit);
    if (auto* assign = statement.get<Assign>()) {
      visit_reads(assign->value, visit);
      visit(assign->to, Use::kWrite);
    } else if (auto* copy = statement.get<Copy>()) {
      visit(copy->from, Use::kRead);
      visit(copy->to, Use::kWrite);
    } else if (auto* multiply = statement.get<Multiply>()) {
      visit(multiply->a, Use::kRead);
      visit(multiply->b, Use::kRead);
      visit(multiply->c, Use::kRead);
      visit(multiply->c, Use::kWrite);
    }
  }
}

void for_each_access(const Body& body, const std::function<void(const Access&, Use)>& visit) {
  for_each_access(const_cast<Body&>(body),
                  [&visit](Access& access, Use use) { visit(access, use); });
}

void for_each_statement(const Body& body, const std::function<void(const Statement&)>& visit) {
  for (const Statement& statement : body) {
    visit(statement);
    if (const Body* inner = statement.body()) for_each_statement(*inner, visit);
  }
}

bool touches(const Statement& statement, std::string_view buffer, Use use) {
  bool found = false;
  for_each_access(Body{statement}, [&](const Access& access, Use how) {
    found = found || (how == use && access.buffer == buffer);
  });
  return found;
}

bool mentions(const Statement& statement, std::string_view variable) {
  bool found = false;
  const auto uses = [&](const Index& index) { found = found || index.uses(variable); };
  const Body body{statement};
  for_each_access(body, [&](const Access& access, Use) {
    if (access.slot) uses(*access.slot);
    for (const Index& index : access.at) uses(index);
  });
  for_each_statement(body, [&](const Statement& inner) {
    const std::vector<Bound>* where = bounds_of(inner);
    if (where == nullptr) return;
    for (const Bound& bound : *where) uses(bound.index);
  });
  return found;
}

Body with(Body body, const std::map<std::string, Index, std::less<>>& replacements) {
  for_each_access(body, [&](Access& access, Use use) {
    // c of a Multiply is visited twice: replace it once
    if (use == Use::kRead) replace(access, replacements);
  });
  const std::function<void(Body&)> rest = [&](Body& statements) {
    for (Statement& statement : statements) {
      if (auto* assign = statement.get<Assign>()) {
        replace(assign->to, replacements);
        replace(assign->where, replacements);
      } else if (auto* copy = statement.get<Copy>()) {
        replace(copy->to, replacements);
      } else if (auto* guard = statement.get<Guard>()) {
        replace(guard->where, replacements);
      }
      if (Body* inner = statement.body()) rest(*inner);
    }
  };
  rest(body);
  return body;
}

LoopPlace find_loop(LoopProgram& program, std::string_view variable) {
  LoopPlace place;
  if (!find(program.body, variable, place)) {
    throw Error(fmt::format("no loop runs {} in {}", variable, program.name));
  }
  return place;
}

Statement nested(std::vector<Loop> loops, Statement innermost) {
  for (std::size_t i = loops.size(); i-- > 0;) {
    loops[i].body.push_back(std::move(innermost));
    innermost = Statement{std::move(loops[i])};
  }
  return innermost;
}

std::vector<const Loop*> nest_of(const LoopProgram& program, const std::string& buffer, bool sum) {
  for (const Statement& statement : program.body) {
    SingleNest nest = single_nest(statement);
    if (nest.assign != nullptr && nest.assign->to.buffer == buffer &&
        nest.assign->combine.has_value() == sum) {
      return std::move(nest.loops);
    }
  }
  throw Error(fmt::format("no nest of loops computes {}", buffer));
}

std::string free_name(const LoopProgram& program, const std::string& stem) {
  std::string made = stem;
  for (int n = 2; program.find(made) != nullptr; ++n) made = fmt::format("{}{}", stem, n);
  return made;
}

Extents extents_of(const std::vector<const Loop*>& loops) {
  Extents made;
  for (const Loop* loop : loops) made[loop->variable] = loop->extent;
  return made;
}

Extents extents_in(const Body& body) {
  Extents made;
  for_each_statement(body, [&](const Statement& statement) {
    if (const auto* loop = statement.get<Loop>()) made[loop->variable] = loop->extent;
  });
  return made;
}

namespace {

// An index without the inner variables, at their least value, and the number of values they add.
struct Spread {
  Index start;
  std::int64_t extent = 1;
};

Spread spread_of(const Index& index, const Extents& inner, std::string_view buffer) {
  std::map<std::string, Index, std::less<>> zero;
  Extents used;
  for (const auto& [variable, extent] : inner) {
    zero.emplace(variable, Index(0));
    if (index.uses(variable)) used.emplace(variable, extent);
  }
  const Index start = index.with(zero);
  const Index moving = index - start;
  if (!moving.is_affine()) {
    throw Error(fmt::format("what is read of {} is no box: index {}", buffer, index.text()));
  }
  const IndexRange range = moving.range(used);
  return {start + range.low, range.high - range.low + 1};
}

class Collector {
 public:
  Collector(const LoopProgram& program, const std::string& buffer, Use use)
      : program_(program), buffer_(buffer), use_(use) {}

  void collect(const Body& body, Extents inner) {
    for (const Statement& statement : body) {
      if (const Body* deeper = statement.body()) {
        Extents extents = inner;
        const auto* loop = statement.get<Loop>();
        if (loop != nullptr) extents[loop->variable] = loop->extent;
        collect(*deeper, extents);
      } else {
        add(statement, inner);
      }
    }
  }

  Box take() {
    if (box_.start.empty() && !program_.buffer(buffer_).dims.empty()) {
      throw Error(
          fmt::format("nothing here {} {}", use_ == Use::kRead ? "reads" : "writes", buffer_));
    }
    return std::move(box_);
  }

 private:
  // Whether its bounds only keep it inside the buffer: every existing element of the box is
  // written.
  [[nodiscard]] bool only_clips(const Assign& assign) const {
    const ir::Dims& dims = program_.buffer(buffer_).dims;
    return std::all_of(assign.where.begin(), assign.where.end(), [&](const Bound& bound) {
      for (std::size_t d = 0; d < dims.size(); ++d) {
        if (bound.limit == dims[d] && assign.to.at[d] == bound.index) return true;
      }
      return false;
    });
  }

  void add(const Statement& statement, const Extents& inner) {
    box_.writes = box_.writes || touches(statement, buffer_, Use::kWrite);
    if (const auto* copy = statement.get<Copy>()) {
      if (copy->to.buffer == buffer_ && use_ == Use::kWrite) add(copy->to, copy->extents, inner);
      if (copy->from.buffer == buffer_ && use_ == Use::kRead) add(copy->from, copy->extents, inner);
      return;
    }
    const auto* assign = statement.get<Assign>();
    if (assign != nullptr && assign->to.buffer == buffer_) {
      box_.combines = box_.combines || assign->combine;
      box_.partial = box_.partial || (!assign->combine && !only_clips(*assign));
    }
    if (statement.get<Multiply>() != nullptr && touches(statement, buffer_, use_)) {
      throw Error(fmt::format("a matrix unit uses {} already", buffer_));
    }
    for_each_access(Body{statement}, [&](const Access& access, Use use) {
      if (access.buffer == buffer_ && use == use_) {
        add(access, ir::Dims(access.at.size(), 1), inner);
      }
    });
  }

  void add(const Access& access, const ir::Dims& extents, const Extents& inner) {
    Box made;
    for (std::size_t d = 0; d < access.at.size(); ++d) {
      const Spread spread = spread_of(access.at[d], inner, buffer_);
      made.start.push_back(spread.start);
      made.extents.push_back(spread.extent + extents[d] - 1);
    }
    if (box_.start.empty()) {
      box_.start = made.start;
      box_.extents = made.extents;
      return;
    }
    for (std::size_t d = 0; d < made.start.size(); ++d) unite(made, d);
  }

  void unite(const Box& other, std::size_t d) {
    const Index gap = other.start[d] - box_.start[d];
    if (!gap.is_constant()) {
      throw Error(fmt::format("parts of {} that are used lie a varying distance apart", buffer_));
    }
    const std::int64_t low = std::min<std::int64_t>(gap.constant(), 0);
    const std::int64_t high = std::max(gap.constant() + other.extents[d], box_.extents[d]);
    box_.start[d] = box_.start[d] + low;
    box_.extents[d] = high - low;
  }

  const LoopProgram& program_;
  const std::string& buffer_;
  Use use_;
  Box box_;
};

bool sets_everything(const SingleNest& nest, const Buffer& buffer) {
  if (nest.assign == nullptr || nest.assign->to.buffer != buffer.name || nest.assign->combine ||
      !nest.assign->where.empty() || nest.loops.size() != buffer.dims.size()) {
    return false;
  }
  for (std::size_t d = 0; d < buffer.dims.size(); ++d) {
    if (nest.loops[d]->extent != buffer.dims[d] ||
        !(nest.assign->to.at[d] == Index::of(nest.loops[d]->variable))) {
      return false;
    }
  }
  const Value& value = nest.assign->value;
  return value.kind == Value::Kind::kNumber ||
         (value.kind == Value::Kind::kRead && value.read.at.empty());
}

}  // namespace

Box box_of(const LoopProgram& program, const Body& body, const std::string& buffer, Use use) {
  Collector collector(program, buffer, use);
  collector.collect(body, {});
  return collector.take();
}

bool inside(const Box& box, const Buffer& buffer, const Extents& around) {
  for (std::size_t d = 0; d < box.start.size(); ++d) {
    const IndexRange range = box.start[d].range(around);
    if (range.low < 0 || range.high + box.extents[d] > buffer.dims[d]) return false;
  }
  return true;
}

bool overlaps_itself(const Box& box, const Extents& around) {
  for (std::size_t d = 0; d < box.start.size(); ++d) {
    std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // step, count
    for (const auto& [variable, extent] : around) {
      if (extent < 2 || !box.start[d].uses(variable)) continue;
      const Index step = box.start[d].with(variable, 1) - box.start[d].with(variable, 0);
      if (!step.is_constant()) return true;
      steps.emplace_back(std::abs(step.constant()), extent);
    }
    std::sort(steps.begin(), steps.end());
    std::int64_t reach = box.extents[d];
    for (const auto& [step, count] : steps) {
      if (step < reach) return true;
      reach += step * (count - 1);
    }
  }
  return false;
}

void redirect(Body& body, std::string_view buffer, const std::string& cache, const Box& box) {
  for_each_access(body, [&](Access& access, Use) {
    if (access.buffer != buffer) return;
    access.buffer = cache;
    for (std::size_t d = 0; d < access.at.size(); ++d) access.at[d] = access.at[d] - box.start[d];
  });
}

SingleNest single_nest(const Statement& statement) {
  SingleNest nest;
  const Statement* inner = &statement;
  while (const auto* loop = inner->get<Loop>()) {
    nest.loops.push_back(loop);
    if (loop->body.size() != 1) return nest;
    inner = &loop->body[0];
  }
  nest.assign = inner->get<Assign>();
  return nest;
}

std::optional<Value> take_clearing_nest(LoopProgram& program, const std::string& buffer) {
  for (auto place = program.body.begin(); place != program.body.end(); ++place) {
    const SingleNest nest = single_nest(*place);
    if (!sets_everything(nest, program.buffer(buffer))) continue;
    Value value = nest.assign->value;
    program.body.erase(place);
    return value;
  }
  return std::nullopt;
}

Statement clearing_nest(const Buffer& buffer, const Value& value) {
  Assign clear{{buffer.name, {}, {}}, value, {}, {}};
  std::vector<Loop> loops;
  for (std::size_t d = 0; d < buffer.dims.size(); ++d) {
    loops.push_back(
        {fmt::format("{}.{}", buffer.name, d), buffer.dims[d], LoopKind::kSequential, {}});
    clear.to.at.push_back(Index::of(loops.back().variable));
  }
  return nested(std::move(loops), {std::move(clear)});
}

}  // namespace tilecast::schedule
