// The steps of a Schedule that change what is computed where: inlining and matrix units.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "schedule/box.h"
#include "schedule/primitives.h"

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

ElementwiseNest take_elementwise_nest(LoopProgram& program, const std::string& buffer) {
  const auto writers = std::count_if(
      program.body.begin(), program.body.end(),
      [&](const Statement& statement) { return touches(statement, buffer, Use::kWrite); });
  if (writers != 1) {
    throw Error(fmt::format("inline {}: {} nests write it, a sum", buffer, writers));
  }
  for (auto place = program.body.begin(); place != program.body.end(); ++place) {
    const SingleNest nest = single_nest(*place);
    if (nest.assign == nullptr || nest.assign->to.buffer != buffer) continue;
    ElementwiseNest made{buffer, {}, nest.assign->value};
    const bool plain = !nest.assign->combine && nest.assign->where.empty() &&
                       nest.loops.size() == nest.assign->to.at.size();
    for (std::size_t d = 0; plain && d < nest.loops.size(); ++d) {
      if (!(nest.assign->to.at[d] == Index::of(nest.loops[d]->variable))) break;
      made.variables.push_back(nest.loops[d]->variable);
    }
    if (!plain || made.variables.size() != nest.loops.size()) break;
    program.body.erase(place);
    return made;
  }
  throw Error(fmt::format("inline {}: no plain elementwise nest computes it", buffer));
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

  // Case 1: the copy becomes a computation. Gives the number of statements it takes.
  std::size_t compute_in_place(Body& body, std::size_t place, const Copy& copy) {
    Assign assign{copy.to, {}, {}, {}};
    std::vector<Loop> loops;
    std::vector<Index> from;
    for (std::size_t d = 0; d < copy.extents.size(); ++d) {
      const std::string variable = fmt::format("{}.{}", copy.to.buffer, d);
      loops.push_back({variable, copy.extents[d], LoopKind::kSequential, {}});
      assign.to.at[d] = copy.to.at[d] + Index::of(variable);
      from.push_back(copy.from.at[d] + Index::of(variable));
      if (copy.padded) {
        assign.where.push_back({from[d], program_.buffer(producer_.buffer).dims[d]});
      }
    }
    assign.value = producer_.at(from);
    const auto wrapped = [&loops](Statement statement) {
      for (std::size_t d = loops.size(); d-- > 0;) {
        Loop loop = loops[d];
        loop.body.push_back(std::move(statement));
        statement = Statement{std::move(loop)};
      }
      return statement;
    };
    Body made;
    if (copy.padded) {
      Assign clear{assign.to, Value::of(0.0, producer_.value.dtype), {}, {}};
      made.push_back(wrapped({clear}));
    }
    made.push_back(wrapped({assign}));
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(place));
    body.insert(body.begin() + static_cast<std::ptrdiff_t>(place), made.begin(), made.end());
    return made.size();
  }

  // Case 2: what the producer reads is copied, and the producer applied where the copy is read.
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
    const std::string tail = buffer.substr(buffer.rfind('.'));
    std::string name = source_ + tail;
    for (int n = 2; program_.find(name) != nullptr; ++n)
      name = fmt::format("{}{}{}", source_, tail, n);
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

// a[.., x, z] of a product, through a conversion.
const Access* matrix_read(const Value& value) {
  if (value.kind == Value::Kind::kApply && value.opcode == ir::Opcode::kConvert) {
    return matrix_read(value.operands[0]);
  }
  const bool matrix = value.kind == Value::Kind::kRead && value.read.at.size() >= 2;
  return matrix ? &value.read : nullptr;
}

// Do the last two indices run along these variables, and nothing else along any of the three?
bool runs_along(const Access& access, const std::string& row, const std::string& column,
                const std::vector<std::string>& all) {
  const std::size_t rank = access.at.size();
  for (std::size_t d = 0; d < rank; ++d) {
    Index rest = access.at[d];
    if (d + 2 == rank) rest = rest - Index::of(row);
    if (d + 1 == rank) rest = rest - Index::of(column);
    for (const std::string& variable : all) {
      if (rest.uses(variable)) return false;
    }
  }
  return true;
}

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

void Schedule::multiply(const std::string& loop) {
  LoopProgram program = program_;
  const LoopPlace place = find_loop(program, loop);
  const SingleNest nest = single_nest((*place.body)[place.position]);
  const auto refuse = [&](const std::string& why) {
    throw Error(fmt::format("multiply at {}: {}", loop, why));
  };
  if (nest.assign == nullptr || nest.loops.size() != 3) refuse("expected three loops and a sum");
  const Assign& sum = *nest.assign;
  const bool products = sum.combine == ir::Opcode::kAdd && sum.value.kind == Value::Kind::kApply &&
                        sum.value.opcode == ir::Opcode::kMultiply && sum.to.at.size() >= 2;
  if (!products) refuse("expected c[i, j] add= multiply(a[i, k], b[k, j])");
  if (!sum.where.empty()) refuse("a bound guards the sum: split into equal pieces");
  const Access* reads[] = {matrix_read(sum.value.operands[0]), matrix_read(sum.value.operands[1])};
  if (reads[0] == nullptr || reads[1] == nullptr) refuse("expected two matrices");
  std::vector<const Loop*> order = nest.loops;
  std::sort(order.begin(), order.end());
  const std::vector<std::string> all{order[0]->variable, order[1]->variable, order[2]->variable};
  do {
    const auto& [i, j, k] = std::tie(*order[0], *order[1], *order[2]);
    for (const std::size_t left : {0, 1}) {
      const Access &a = *reads[left], &b = *reads[1 - left];
      if (!runs_along(sum.to, i.variable, j.variable, all) ||
          !runs_along(a, i.variable, k.variable, all) ||
          !runs_along(b, k.variable, j.variable, all)) {
        continue;
      }
      for (const Access* access : {&sum.to, &a, &b}) {
        if (program.buffer(access->buffer).scope == Scope::kMain) {
          refuse(fmt::format("{} is in main memory: cache it first", access->buffer));
        }
      }
      Multiply made{sum.to, a, b, i.extent, j.extent, k.extent};
      const Replacements start{{all[0], Index(0)}, {all[1], Index(0)}, {all[2], Index(0)}};
      (*place.body)[place.position] = with(Body{Statement{std::move(made)}}, start)[0];
      program_ = std::move(program);
      return;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  refuse("the innermost two dimensions are not c[i, j], a[i, k] and b[k, j]");
}

}  // namespace tilecast::schedule
