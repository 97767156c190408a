// Steps of a Schedule that change how arrays are laid out in memory.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "schedule/box.h"
#include "schedule/primitives.h"

namespace tilecast::schedule {
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
    Statement nest{std::move(copy)};
    for (std::size_t i = loops.size(); i-- > 0;) {
      loops[i].body.push_back(std::move(nest));
      nest = Statement{std::move(loops[i])};
    }
    Body made;
    if (is_padded()) made.push_back(clearing_nest(packed, Value::of(0.0, array_.dtype)));
    made.push_back(std::move(nest));
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
    const bool sum_of_products = assign.combine == ir::Opcode::kAdd &&
                                 assign.value.kind == Value::Kind::kApply &&
                                 assign.value.opcode == ir::Opcode::kMultiply;
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
  std::string name = buffer + ".packed";
  for (int n = 2; program.find(name) != nullptr; ++n) name = fmt::format("{}.packed{}", buffer, n);
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

}  // namespace tilecast::schedule
