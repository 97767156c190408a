// The step of a Schedule that maps loops to a matrix unit.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "schedule/box.h"
#include "schedule/primitives.h"

namespace tilecast::schedule {
namespace {

// The read a[.., x, z] of a factor, possibly through a conversion.
const Access* matrix_read(const Value& value) {
  if (value.kind == Value::Kind::kApply && value.opcode == ir::Opcode::kConvert) {
    return matrix_read(value.operands[0]);
  }
  const bool matrix = value.kind == Value::Kind::kRead && value.read.at.size() >= 2;
  return matrix ? &value.read : nullptr;
}

// Whether the last two indices run along these variables, and no index uses `all` otherwise.
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

// The only copy to or from a buffer; null if there are several or other accesses of that kind.
const Copy* only_copy(const LoopProgram& program, const std::string& buffer, Use use) {
  const Copy* found = nullptr;
  int others = 0;
  for_each_statement(program.body, [&](const Statement& statement) {
    const auto* copy = statement.get<Copy>();
    if (copy != nullptr && (use == Use::kWrite ? copy->to : copy->from).buffer == buffer) {
      others += found != nullptr ? 1 : 0;
      found = copy;
    } else if (use == Use::kWrite && statement.body() == nullptr) {
      others += touches(statement, buffer, use) ? 1 : 0;
    }
  });
  return others == 0 ? found : nullptr;
}

// Whether the bound only keeps the place, on the other side of a padded copy, inside its array.
bool clips(const LoopProgram& program, const Copy& copy, const std::vector<Index>& place,
           const Access& own, const Access& other, const Bound& bound) {
  const Buffer& array = program.buffer(other.buffer);
  if (!copy.padded || array.scope != Scope::kMain) return false;
  for (std::size_t d = 0; d < place.size(); ++d) {
    const Index there = place[d] - own.at[d] + other.at[d];
    if (array.dims[d] == bound.limit && there == bound.index) return true;
  }
  return false;
}

// Whether the accessed elements are zeros wherever the bound does not hold.
bool is_zero_outside(const LoopProgram& program, const Access& access, const Bound& bound) {
  const Copy* fill = only_copy(program, access.buffer, Use::kWrite);
  if (fill == nullptr) return false;
  if (clips(program, *fill, access.at, fill->to, fill->from, bound)) return true;
  Access there = fill->from;
  for (std::size_t d = 0; d < there.at.size(); ++d) {
    there.at[d] = there.at[d] + access.at[d] - fill->to.at[d];
  }
  const bool cache = program.buffer(there.buffer).scope != Scope::kMain;
  return cache && is_zero_outside(program, there, bound);
}

bool is_left_out(const LoopProgram& program, const Access& result, const Bound& bound) {
  const Copy* back = only_copy(program, result.buffer, Use::kRead);
  return back != nullptr && clips(program, *back, result.at, back->from, back->to, bound);
}

}  // namespace

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
  const Access* reads[] = {matrix_read(sum.value.operands[0]), matrix_read(sum.value.operands[1])};
  if (reads[0] == nullptr || reads[1] == nullptr) refuse("expected two matrices");
  for (const Bound& bound : sum.where) {
    const bool harmless =
        is_left_out(program, sum.to, bound) ||
        (is_zero_outside(program, *reads[0], bound) && is_zero_outside(program, *reads[1], bound));
    if (!harmless) refuse("a bound guards the sum: split into equal pieces");
  }
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
      const std::map<std::string, Index, std::less<>> start{
          {all[0], Index(0)}, {all[1], Index(0)}, {all[2], Index(0)}};
      (*place.body)[place.position] = with(Body{Statement{std::move(made)}}, start)[0];
      program_ = std::move(program);
      return;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  refuse("the innermost two dimensions are not c[i, j], a[i, k] and b[k, j]");
}

}  // namespace tilecast::schedule
