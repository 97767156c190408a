// Steps of a Schedule that change where values are computed.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "schedule/primitives.h"
#include "schedule/text.h"
#include "schedule/walk.h"

namespace tilecast::schedule {
namespace {

using Replacements = std::map<std::string, Index, std::less<>>;

// An elementwise producer: buffer[v0, v1, ...] = value.
struct ElementwiseNest {
  std::string buffer;
  std::vector<std::string> variables;
  Value value;

  [[nodiscard]] Value at(const std::vector<Index>& position) const {
    Replacements by;
    for (std::size_t d = 0; d < variables.size(); ++d) by.emplace(variables[d], position[d]);
    Body moved = with(Body{Statement{Assign{{}, value, {}, {}}}}, by);
    return moved[0].get<Assign>()->value;
  }
};

void replace_reads(Value& value, const std::string& buffer,
                   const std::function<Value(const Access&)>& by) {
  if (value.kind == Value::Kind::kRead && value.read.buffer == buffer) {
    value = by(Access(value.read));
    return;
  }
  for (Value& operand : value.operands) replace_reads(operand, buffer, by);
}

// nullopt for other nests.
std::optional<ElementwiseNest> plain_nest(const Statement& statement) {
  const SingleNest nest = single_nest(statement);
  if (nest.assign == nullptr || nest.assign->combine || !nest.assign->where.empty() ||
      nest.loops.size() != nest.assign->to.at.size()) {
    return std::nullopt;
  }
  ElementwiseNest made{nest.assign->to.buffer, {}, nest.assign->value};
  for (std::size_t d = 0; d < nest.loops.size(); ++d) {
    if (!(nest.assign->to.at[d] == Index::of(nest.loops[d]->variable))) return std::nullopt;
    made.variables.push_back(nest.loops[d]->variable);
  }
  return made;
}

ElementwiseNest take_elementwise_nest(LoopProgram& program, const std::string& buffer) {
  const auto writers = std::count_if(
      program.body.begin(), program.body.end(),
      [&](const Statement& statement) { return touches(statement, buffer, Use::kWrite); });
  if (writers != 1) {
    throw Error(fmt::format("inline {}: {} nests write it, a sum", buffer, writers));
  }
  for (auto place = program.body.begin(); place != program.body.end(); ++place) {
    if (!touches(*place, buffer, Use::kWrite)) continue;
    std::optional<ElementwiseNest> made = plain_nest(*place);
    if (!made) break;
    program.body.erase(place);
    return std::move(*made);
  }
  throw Error(fmt::format("inline {}: no plain elementwise nest computes it", buffer));
}

// Loops over the elements of a copy, to replace it.
struct BoxLoops {
  explicit BoxLoops(const Copy& copy) {
    for (std::size_t d = 0; d < copy.extents.size(); ++d) {
      const std::string variable = fmt::format("{}.{}", copy.to.buffer, d);
      loops.push_back({variable, copy.extents[d], LoopKind::kSequential, {}});
      to.push_back(copy.to.at[d] + Index::of(variable));
      from.push_back(copy.from.at[d] + Index::of(variable));
    }
  }
  [[nodiscard]] Statement around(Statement statement) const {
    return nested(loops, std::move(statement));
  }
  static std::vector<Bound> inside(const std::vector<Index>& place, const Buffer& buffer) {
    std::vector<Bound> made;
    for (std::size_t d = 0; d < place.size(); ++d) made.push_back({place[d], buffer.dims[d]});
    return made;
  }

  std::vector<Loop> loops;
  std::vector<Index> to, from;
};

// The statement that replaces the copy: `consumer` applied to the copied elements.
Statement computed_copy(const LoopProgram& program, const Copy& copy,
                        const ElementwiseNest& consumer) {
  const BoxLoops box(copy);
  Assign made{{consumer.buffer, {}, box.to}, consumer.at(box.to), {}, {}};
  replace_reads(made.value, copy.to.buffer, [&](const Access& read) {
    if (!(to_text(read) == to_text(Access{copy.to.buffer, {}, box.to}))) {
      throw Error(fmt::format("fuse_consumer {}: it is read at another place than the result's",
                              copy.to.buffer));
    }
    return Value::of(Access{copy.from.buffer, copy.from.slot, box.from},
                     program.buffer(copy.from.buffer).dtype);
  });
  if (copy.padded) made.where = BoxLoops::inside(box.to, program.buffer(copy.to.buffer));
  return box.around({made});
}

class Inliner {
 public:
  Inliner(LoopProgram& program, ElementwiseNest producer)
      : program_(program), producer_(std::move(producer)) {}

  void run() {
    visit(program_.body);
    for (const auto& [from, to] : renamed_) apply_where_read(program_.body, from, to);
  }

 private:
  void visit(Body& body) {
    for (std::size_t i = 0; i < body.size(); ++i) {
      Statement& statement = body[i];
      if (Body* inner = statement.body()) visit(*inner);
      if (auto* assign = statement.get<Assign>()) {
        replace_reads(assign->value, producer_.buffer,
                      [this](const Access& read) { return producer_.at(read.at); });
      }
      auto* copy = statement.get<Copy>();
      if (copy != nullptr && copy->from.buffer == producer_.buffer) {
        if (program_.buffer(copy->to.buffer).stages > 1) {
          copy_source(*copy);
        } else {
          i += compute_in_place(body, i, Copy(*copy)) - 1;
        }
      }
    }
  }

  // Case 1: the copy becomes a computation. Returns the number of statements it takes.
  std::size_t compute_in_place(Body& body, std::size_t place, const Copy& copy) {
    const BoxLoops box(copy);
    Assign assign{{copy.to.buffer, copy.to.slot, box.to}, producer_.at(box.from), {}, {}};
    Body made;
    if (copy.padded) {
      assign.where = box.inside(box.from, program_.buffer(producer_.buffer));
      Assign clear{assign.to, Value::of(0.0, producer_.value.dtype), {}, {}};
      made.push_back(box.around({clear}));
    }
    made.push_back(box.around({assign}));
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(place));
    body.insert(body.begin() + static_cast<std::ptrdiff_t>(place), made.begin(), made.end());
    return made.size();
  }

  // Case 2: copies the producer's source instead, and applies the producer where the copy is read.
  void copy_source(Copy& copy) {
    const Value* read = nullptr;
    const std::function<void(const Value&)> find = [&](const Value& value) {
      if (value.kind == Value::Kind::kRead) {
        const bool same =
            value.read.at.size() == producer_.variables.size() &&
            std::equal(value.read.at.begin(), value.read.at.end(), producer_.variables.begin(),
                       [](const Index& i, const std::string& v) { return i == Index::of(v); });
        if (read != nullptr || !same) {
          throw Error(
              fmt::format("inline {}: it is computed from more than one array at the same "
                          "place, so its pipelined copy cannot move",
                          producer_.buffer));
        }
        read = &value;
      }
      for (const Value& operand : value.operands) find(operand);
    };
    find(producer_.value);
    if (read == nullptr || copy.padded) {
      throw Error(
          fmt::format("inline {}: its copy is padded or copies no array", producer_.buffer));
    }
    copy.from.buffer = read->read.buffer;
    source_ = read->read.buffer;
    renamed_.emplace_back(copy.to.buffer, rename(copy.to.buffer, program_.buffer(source_).dtype));
    copy.to.buffer = renamed_.back().second;
  }

  std::string rename(const std::string& buffer, ir::DType dtype) {
    std::string name = free_name(program_, source_ + buffer.substr(buffer.rfind('.')));
    Buffer& renamed = program_.buffer(buffer);
    renamed.name = name;
    renamed.dtype = dtype;
    return name;
  }

  void apply_where_read(Body& body, const std::string& from, const std::string& to) {
    for (Statement& statement : body) {
      if (Body* inner = statement.body()) apply_where_read(*inner, from, to);
      if (auto* assign = statement.get<Assign>()) {
        replace_reads(assign->value, from, [&](const Access& read) {
          Value value = producer_.value;
          replace_reads(value, source_, [&](const Access&) {
            return Value::of(Access{to, read.slot, read.at}, program_.buffer(to).dtype);
          });
          return value;
        });
      } else if (touches(statement, from, Use::kRead)) {
        throw Error(
            fmt::format("inline {}: {} is copied on or multiplied, where nothing can be "
                        "computed; inline before that step",
                        producer_.buffer, from));
      }
    }
  }

  LoopProgram& program_;
  ElementwiseNest producer_;
  std::string source_;
  std::vector<std::pair<std::string, std::string>> renamed_;
};

}  // namespace

void Schedule::inline_value(const std::string& buffer) {
  LoopProgram program = program_;
  const Buffer& computed = program.buffer(buffer);
  if (computed.role != Role::kTemporary || computed.scope != Scope::kMain) {
    throw Error(fmt::format("inline {}: only a temporary in main memory can go", buffer));
  }
  Inliner(program, take_elementwise_nest(program, buffer)).run();
  if (std::any_of(program.body.begin(), program.body.end(), [&](const Statement& statement) {
        return touches(statement, buffer, Use::kRead);
      })) {
    throw Error(fmt::format("inline {}: a matrix unit reads it", buffer));
  }
  program.buffers.erase(std::remove_if(program.buffers.begin(), program.buffers.end(),
                                       [&](const Buffer& b) { return b.name == buffer; }),
                        program.buffers.end());
  program_ = std::move(program);
}

void Schedule::fuse_consumer(const std::string& buffer) {
  LoopProgram program = program_;
  const Buffer fused = program.buffer(buffer);
  const auto refuse = [&](const std::string& why) {
    throw Error(fmt::format("fuse_consumer {}: {}", buffer, why));
  };
  if (fused.role != Role::kTemporary || fused.scope != Scope::kMain) {
    refuse("only a temporary in main memory can go");
  }
  const auto consumer =
      std::find_if(program.body.begin(), program.body.end(), [&](const Statement& statement) {
        const SingleNest nest = single_nest(statement);
        return nest.assign != nullptr && touches(statement, buffer, Use::kRead);
      });
  if (consumer == program.body.end()) refuse("no nest reads it");
  const std::optional<ElementwiseNest> nest = plain_nest(*consumer);
  if (!nest || program.buffer(nest->buffer).dims != fused.dims) {
    refuse("its reader is not a plain elementwise nest");
  }
  const auto producer = std::find_if(
      program.body.begin(), consumer,
      [&](const Statement& statement) { return touches(statement, buffer, Use::kWrite); });
  for_each_access(Body{*consumer}, [&](const Access& access, Use use) {
    const bool later = std::any_of(producer, consumer, [&](const Statement& statement) {
      return touches(statement, access.buffer, Use::kWrite);
    });
    if (use == Use::kRead && access.buffer != buffer && later) {
      refuse(fmt::format("{} is computed after it", access.buffer));
    }
  });
  program.body.erase(consumer);
  int copies = 0, others = 0;
  const std::function<void(Body&)> visit = [&](Body& body) {
    for (Statement& statement : body) {
      const auto* copy = statement.get<Copy>();
      if (Body* inner = statement.body()) {
        visit(*inner);
      } else if (copy != nullptr && copy->to.buffer == buffer) {
        ++copies;
        statement = computed_copy(program, Copy(*copy), *nest);
      } else if (touches(statement, buffer, Use::kRead) ||
                 touches(statement, buffer, Use::kWrite)) {
        ++others;
      }
    }
  };
  visit(program.body);
  if (copies != 1 || others != 0) refuse("it is not written by one copy and read by one nest");
  std::erase_if(program.buffers, [&](const Buffer& b) { return b.name == buffer; });
  program_ = std::move(program);
}

}  // namespace tilecast::schedule
