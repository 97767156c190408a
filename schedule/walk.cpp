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

}  // namespace tilecast::schedule
