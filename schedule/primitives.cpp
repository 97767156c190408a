#include "schedule/primitives.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/math.h"
#include "schedule/walk.h"

namespace tilecast::schedule {

namespace {

bool adds_products(const Assign& assign) {
  return assign.combine == ir::Opcode::kAdd && assign.value.kind == Value::Kind::kApply &&
         assign.value.opcode == ir::Opcode::kMultiply;
}

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
  return free_name(program_,
                   fmt::format("{}.{}", cached ? buffer.substr(0, dot) : buffer, name(scope)));
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

// Steps of a Schedule that change how arrays are laid out in memory.

namespace {

// Maps the elements of an array to the packed one.
class Packing {
 public:
  Packing(const Buffer& array, const std::vector<LayoutDim>& layout,
          const std::vector<Margin>& margin)
      : array_(array), layout_(layout), margin_(margin) {
    margin_.resize(array.dims.size());
    check();
  }

  [[nodiscard]] bool is_padded() const {
    return std::any_of(margin_.begin(), margin_.end(),
                       [](const Margin& m) { return m.before > 0 || m.behind > 0; });
  }
  [[nodiscard]] std::int64_t extent(std::size_t dim) const {
    return array_.dims[dim] + margin_[dim].before + margin_[dim].behind;
  }
  [[nodiscard]] ir::Dims dims() const {
    ir::Dims made;
    for (const LayoutDim& l : layout_) {
      made.push_back(l.inner ? l.factor : extent(l.dim) / l.factor);
    }
    return made;
  }
  // Position of an element in the packed array.
  [[nodiscard]] std::vector<Index> place(const std::vector<Index>& at,
                                         const Extents& extents) const {
    std::vector<Index> made;
    for (const LayoutDim& l : layout_) {
      const Index whole = at[l.dim] + margin_[l.dim].before;
      made.push_back((l.inner ? whole % l.factor : whole / l.factor).simplified(extents));
    }
    return made;
  }
  // Whether the packed array has an element for each value of the index along `dim`.
  [[nodiscard]] bool covers(std::size_t dim, const Index& index, const Extents& extents) const {
    const IndexRange range = index.range(extents);
    return range.low >= -margin_[dim].before && range.high < array_.dims[dim] + margin_[dim].behind;
  }
  // The loops that fill the packed array; the array's most minor dimension is innermost. Whole
  // dimensions are copied over the array's extent; pieces of split ones are guarded at its ends.
  [[nodiscard]] Body fill(const Buffer& packed) const {
    Assign copy{{packed.name, {}, {}}, {}, {}, {}};
    std::vector<Index> source(array_.dims.size());
    std::vector<Loop> loops;
    for (std::size_t i = 0; i < layout_.size(); ++i) {
      const LayoutDim& l = layout_[i];
      const bool whole = l.factor == 1 && !l.inner;
      const std::string variable = fmt::format("{}.{}", packed.name, i);
      loops.push_back(
          {variable, whole ? array_.dims[l.dim] : packed.dims[i], LoopKind::kSequential, {}});
      copy.to.at.push_back(Index::of(variable) + (whole ? margin_[l.dim].before : 0));
      source[l.dim] = source[l.dim] + Index::of(variable) * (l.inner ? 1 : l.factor);
    }
    for (const LayoutDim& l : layout_) {
      const Margin& margin = margin_[l.dim];
      if (!l.inner || (margin.before == 0 && margin.behind == 0)) continue;
      source[l.dim] = source[l.dim] - margin.before;
      copy.where.push_back({source[l.dim], array_.dims[l.dim]});
    }
    copy.value = Value::of(Access{array_.name, {}, source}, array_.dtype);
    const auto minor = std::find_if(layout_.rbegin(), layout_.rend(), [&](const LayoutDim& l) {
      return l.dim + 1 == array_.dims.size() && (l.inner || l.factor == 1);
    });
    const auto place = loops.end() - 1 - (minor - layout_.rbegin());
    std::rotate(place, place + 1, loops.end());
    Body made;
    if (is_padded()) made.push_back(clearing_nest(packed, Value::of(0.0, array_.dtype)));
    made.push_back(nested(std::move(loops), {std::move(copy)}));
    return made;
  }

 private:
  void check() const {
    for (std::size_t d = 0; d < array_.dims.size(); ++d) {
      std::vector<LayoutDim> parts;
      std::copy_if(layout_.begin(), layout_.end(), std::back_inserter(parts),
                   [&](const LayoutDim& l) { return l.dim == d; });
      const bool whole = parts.size() == 1 && parts[0].factor == 1 && !parts[0].inner;
      const bool split = parts.size() == 2 && parts[0].factor == parts[1].factor &&
                         parts[0].inner != parts[1].inner && parts[0].factor >= 1;
      if (!whole && !split) {
        throw Error(
            fmt::format("pack {}: dimension {} has to be there once, or as its pieces and "
                        "what is in a piece",
                        array_.name, d));
      }
      if (extent(d) % parts[0].factor != 0) {
        throw Error(fmt::format("pack {}: {} elements of dimension {} are no whole pieces of {}",
                                array_.name, extent(d), d, parts[0].factor));
      }
    }
    for (const LayoutDim& l : layout_) {
      if (l.dim >= array_.dims.size()) {
        throw Error(fmt::format("pack {}: it has no dimension {}", array_.name, l.dim));
      }
    }
  }

  const Buffer& array_;
  const std::vector<LayoutDim>& layout_;
  std::vector<Margin> margin_;
};

// Turns reads of the array into reads of the packed one.
class PackedReads {
 public:
  PackedReads(const Packing& packing, const std::string& array, const Buffer& packed)
      : packing_(packing), array_(array), packed_(packed) {}

  void visit(Body& body, const Extents& around) {
    for (Statement& statement : body) {
      if (Body* inner = statement.body()) {
        Extents extents = around;
        if (const auto* loop = statement.get<Loop>()) extents[loop->variable] = loop->extent;
        visit(*inner, extents);
      } else if (touches(statement, array_, Use::kRead)) {
        auto* assign = statement.get<Assign>();
        if (assign == nullptr) {
          throw Error(fmt::format("pack {}: it is copied already; pack before that", array_));
        }
        visit(*assign, around);
      }
    }
  }

 private:
  void visit(Assign& assign, const Extents& extents) {
    const bool sum_of_products = adds_products(assign);
    const std::function<void(Value&)> replace = [&](Value& value) {
      for (Value& operand : value.operands) replace(operand);
      if (value.kind != Value::Kind::kRead || value.read.buffer != array_) return;
      for (std::size_t d = 0; d < value.read.at.size(); ++d) {
        const Index index = value.read.at[d];
        if (!sum_of_products || !packing_.covers(d, index, extents)) continue;
        const auto guards = std::remove_if(assign.where.begin(), assign.where.end(),
                                           [&](const Bound& b) { return b.index == index; });
        assign.where.erase(guards, assign.where.end());
      }
      value.read = {packed_.name, {}, packing_.place(value.read.at, extents)};
    };
    replace(assign.value);
  }

  const Packing& packing_;
  const std::string& array_;
  const Buffer& packed_;
};

}  // namespace

std::string Schedule::pack(const std::string& buffer, const std::vector<LayoutDim>& layout,
                           const std::vector<Margin>& margin) {
  LoopProgram program = program_;
  const Buffer array = program.buffer(buffer);
  if (array.scope != Scope::kMain) {
    throw Error(fmt::format("pack {}: only an array in main memory is packed", buffer));
  }
  const auto first = std::find_if(program.body.begin(), program.body.end(),
                                  [&](const auto& s) { return touches(s, buffer, Use::kRead); });
  const bool written = std::any_of(first, program.body.end(), [&](const Statement& statement) {
    return touches(statement, buffer, Use::kWrite);
  });
  if (first == program.body.end() || written) {
    throw Error(fmt::format("pack {}: nothing reads it, or it is written after that", buffer));
  }
  const Packing packing(array, layout, margin);
  std::string name = free_name(program, buffer + ".packed");
  const Buffer packed{name, array.dtype, packing.dims(), {}, Scope::kMain, Role::kTemporary, 1};
  PackedReads(packing, buffer, packed).visit(program.body, {});
  program.buffers.push_back(packed);
  Body fill = packing.fill(packed);
  program.body.insert(first, fill.begin(), fill.end());
  program_ = std::move(program);
  return name;
}

void Schedule::lay_out(const std::string& buffer, const std::vector<std::size_t>& dims) {
  Buffer& array = program_.buffer(buffer);
  std::vector<std::size_t> sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  bool all = sorted.size() == array.dims.size() && array.role == Role::kTemporary;
  for (std::size_t d = 0; all && d < sorted.size(); ++d) all = sorted[d] == d;
  if (!all) throw Error(fmt::format("lay_out {}: expected each dimension of a temporary", buffer));
  array.strides.assign(dims.size(), 1);
  std::int64_t next = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    array.strides[dims[i]] = next;
    next *= array.dims[dims[i]];
  }
}

// The step of a Schedule that maps loops to a matrix unit.

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
  if (!adds_products(sum) || sum.to.at.size() < 2)
    refuse("expected c[i, j] add= multiply(a[i, k], b[k, j])");
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
