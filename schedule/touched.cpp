#include "schedule/touched.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>

namespace tilecast::schedule {
namespace {

constexpr double kMostPositions = 1 << 18;  // listed per group of dimensions
constexpr std::size_t kMostAccesses = 6;    // counted by inclusion and exclusion: 2^6 terms
using Values = std::vector<std::int64_t>;   // ascending, each once

// One dimension of an access as a function of the loops that run.
struct Dimension {
  Index index;
  std::int64_t box = 1, size = 1;  // elements from the index on; size of the dimension
  bool affine = true;
  std::int64_t first = 0;              // with all loops at 0
  std::vector<std::int64_t> per_loop;  // step per iteration, if affine
  std::vector<bool> uses;              // per loop
};

// The values of a sum of loops: first, first + step, ... if they are a progression, else listed.
struct Progression {
  std::int64_t first = 0, step = 1, count = 1;
};
struct ValueSet {
  std::optional<Progression> progression;
  Values values;  // else

  [[nodiscard]] double count() const {
    return static_cast<double>(progression ? progression->count
                                           : static_cast<std::int64_t>(values.size()));
  }
  [[nodiscard]] Values listed() const {
    if (!progression) return values;
    Values all(static_cast<std::size_t>(progression->count));
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = progression->first + static_cast<std::int64_t>(i) * progression->step;
    }
    return all;
  }
};

void sort_unique(Values& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

ValueSet intersection(const ValueSet& a, const ValueSet& b) {
  if (a.progression && b.progression && a.progression->step == b.progression->step) {
    const Progression &p = *a.progression, &q = *b.progression;
    if ((p.first - q.first) % p.step != 0) return {};
    const std::int64_t first = std::max(p.first, q.first);
    const std::int64_t end =
        std::min(p.first + p.step * p.count, q.first + q.step * q.count);  // one past
    if (end <= first) return {};
    return {Progression{first, p.step, (end - first) / p.step}, {}};
  }
  ValueSet both;
  const Values left = a.listed(), right = b.listed();
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(),
                        std::back_inserter(both.values));
  return both;
}

// {a + b} for a sum of independent parts. Steps go from small to large, so that progressions stay
// progressions where one continues the other.
ValueSet affine_values(const Dimension& dimension, std::span<const Loop* const> loops) {
  std::int64_t first = dimension.first;
  std::vector<std::pair<std::int64_t, std::int64_t>> parts;  // step, count
  if (dimension.box > 1) parts.emplace_back(1, dimension.box);
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const std::int64_t step = dimension.per_loop[i], count = loops[i]->extent;
    if (step == 0 || count <= 1) continue;
    if (step < 0) first += step * (count - 1);
    parts.emplace_back(std::abs(step), count);
  }
  std::sort(parts.begin(), parts.end());
  ValueSet set{Progression{first, 1, 1}, {}};
  for (const auto& [step, count] : parts) {
    if (set.progression && set.progression->count == 1) {
      set.progression = {first, step, count};
    } else if (Progression* p = set.progression ? &*set.progression : nullptr;
               p != nullptr && step % p->step == 0 && step <= p->step * p->count) {
      p->count += step / p->step * (count - 1);
    } else {
      const Values so_far = set.listed();
      set = {};
      for (std::int64_t i = 0; i < count; ++i) {
        for (const std::int64_t value : so_far) set.values.push_back(value + i * step);
      }
      sort_unique(set.values);
    }
  }
  return set;
}

// One access of the buffer while some loops run.
class Reach {
 public:
  Reach(const Buffer& buffer, const LoopAccess& of, std::size_t depth)
      : loops_(std::span(of.loops).subspan(std::min(depth, of.loops.size()))) {
    for (const Loop* loop : of.loops) at_zero_[loop->variable] = 0;
    if (of.access->slot) add(*of.access->slot, 1, buffer.stages);
    const std::size_t rank = of.access->at.size();
    for (std::size_t d = 0; d < rank; ++d) {
      const std::size_t from_end = rank - d;
      const std::int64_t box = from_end <= of.box.size() ? of.box[of.box.size() - from_end] : 1;
      add(of.access->at[d], box, buffer.dims[d]);
    }
  }

  [[nodiscard]] const std::vector<Dimension>& dimensions() const { return dimensions_; }
  [[nodiscard]] std::size_t loops() const { return loops_.size(); }

  // Values of dimensions that depend on each other, as positions in a space of their sizes; nullopt
  // if there are too many to list.
  [[nodiscard]] std::optional<ValueSet> values(const std::vector<std::size_t>& group) const {
    if (group.size() == 1 && dimensions_[group[0]].affine) {
      return affine_values(dimensions_[group[0]], loops_);
    }
    std::vector<std::size_t> running;
    double positions = 1;
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      if (std::none_of(group.begin(), group.end(),
                       [&](std::size_t d) { return dimensions_[d].uses[i]; })) {
        continue;
      }
      running.push_back(i);
      positions *= static_cast<double>(loops_[i]->extent);
    }
    for (const std::size_t d : group) positions *= static_cast<double>(dimensions_[d].box);
    if (positions > kMostPositions) return std::nullopt;
    ValueSet set;
    Environment at = at_zero_;
    list(group, running, 0, at, set.values);
    sort_unique(set.values);
    return set;
  }

  // Upper bound on the number of values.
  [[nodiscard]] double bound(const std::vector<std::size_t>& group) const {
    Extents extents;
    for (const auto& variable : at_zero_.variables()) extents[variable.name] = 1;
    for (const Loop* loop : loops_) extents[loop->variable] = loop->extent;
    double product = 1;
    for (const std::size_t d : group) {
      const IndexRange range = dimensions_[d].index.range(extents);
      product *= static_cast<double>(range.high - range.low + dimensions_[d].box);
    }
    return product;
  }

 private:
  void add(const Index& index, std::int64_t box, std::int64_t size) {
    Dimension dimension{index, box, size, index.is_affine(), index.value(at_zero_), {}, {}};
    for (const Loop* loop : loops_) {
      dimension.uses.push_back(loop->extent > 1 && index.uses(loop->variable));
      Environment one = at_zero_;
      one[loop->variable] = 1;
      dimension.per_loop.push_back(
          dimension.affine && dimension.uses.back() ? index.value(one) - dimension.first : 0);
    }
    dimensions_.push_back(std::move(dimension));
  }

  void list(const std::vector<std::size_t>& group, const std::vector<std::size_t>& running,
            std::size_t next, Environment& at, Values& to) const {
    if (next < running.size()) {
      const Loop& loop = *loops_[running[next]];
      for (std::int64_t i = 0; i < loop.extent; ++i) {
        at[loop.variable] = i;
        list(group, running, next + 1, at, to);
      }
      return;
    }
    Values positions{0};
    for (const std::size_t d : group) {
      const Dimension& dimension = dimensions_[d];
      // Wide enough for positions outside the buffer, where bounds do not hold.
      constexpr std::int64_t kRoom = 8;
      const std::int64_t width = kRoom * dimension.size;
      const std::int64_t offset = group.size() > 1 ? width / 2 : 0;  // alone: as affine_values
      const std::int64_t start = dimension.index.value(at) + offset;
      Values longer;
      for (const std::int64_t position : positions) {
        for (std::int64_t i = 0; i < dimension.box; ++i) {
          longer.push_back(position * width + start + i);
        }
      }
      positions = std::move(longer);
    }
    to.insert(to.end(), positions.begin(), positions.end());
  }

  std::span<const Loop* const> loops_;
  Environment at_zero_;
  std::vector<Dimension> dimensions_;
};

// Groups dimensions that share a loop in any of the accesses.
std::vector<std::vector<std::size_t>> dependent_groups(const std::vector<Reach>& reaches) {
  const std::size_t rank = reaches[0].dimensions().size();
  std::vector<std::size_t> group(rank);
  std::iota(group.begin(), group.end(), std::size_t{0});
  for (const Reach& reach : reaches) {
    for (std::size_t loop = 0; loop < reach.loops(); ++loop) {
      std::optional<std::size_t> first;
      for (std::size_t d = 0; d < rank; ++d) {
        if (!reach.dimensions()[d].uses[loop]) continue;
        if (!first) first = group[d];
        std::replace(group.begin(), group.end(), group[d], *first);
      }
    }
  }
  std::map<std::size_t, std::vector<std::size_t>> by_name;
  for (std::size_t d = 0; d < rank; ++d) by_name[group[d]].push_back(d);
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [name, members] : by_name) groups.push_back(std::move(members));
  return groups;
}

double capacity(const Reach& reach, const std::vector<std::size_t>& group) {
  double product = 1;
  for (const std::size_t d : group) product *= static_cast<double>(reach.dimensions()[d].size);
  return product;
}

// The elements of one access: a set per group.
struct Product {
  std::vector<ValueSet> sets;
  [[nodiscard]] double count() const {
    double product = 1;
    for (const ValueSet& set : sets) product *= set.count();
    return product;
  }
  [[nodiscard]] Product with(const Product& other) const {
    Product both;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      both.sets.push_back(intersection(sets[i], other.sets[i]));
    }
    return both;
  }
};

// A u B u ...| over the products from `next` on, each intersected with `so_far`.
double union_count(const std::vector<Product>& products, std::size_t next,
                   const std::optional<Product>& so_far) {
  double sum = 0;
  for (std::size_t i = next; i < products.size(); ++i) {
    const Product met = so_far ? so_far->with(products[i]) : products[i];
    const double count = met.count();
    if (count > 0) sum += count - union_count(products, i + 1, met);
  }
  return sum;
}

std::vector<Reach> different_reaches(const Buffer& buffer, std::span<const LoopAccess> accesses,
                                     std::size_t depth) {
  const auto inside = [&](const LoopAccess& a) {
    return std::span(a.loops).subspan(std::min(depth, a.loops.size()));
  };
  const auto same = [&](const LoopAccess& a, const LoopAccess& b) {
    const auto p = inside(a), q = inside(b);
    return a.access->at == b.access->at && a.access->slot == b.access->slot && a.box == b.box &&
           std::equal(p.begin(), p.end(), q.begin(), q.end());
  };
  std::vector<Reach> reaches;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const auto before = accesses.first(i);
    if (std::any_of(before.begin(), before.end(),
                    [&](const LoopAccess& a) { return same(a, accesses[i]); })) {
      continue;
    }
    reaches.emplace_back(buffer, accesses[i], depth);
  }
  return reaches;
}

void add_accesses(const Body& body, std::vector<const Loop*>& loops, std::vector<LoopAccess>& to) {
  const auto add_values = [&](const Value& value, const auto& self) -> void {
    if (value.kind == Value::Kind::kRead) to.push_back({&value.read, Use::kRead, {}, loops});
    for (const Value& operand : value.operands) self(operand, self);
  };
  for (const Statement& statement : body) {
    if (const auto* loop = statement.get<Loop>()) {
      loops.push_back(loop);
      add_accesses(loop->body, loops, to);
      loops.pop_back();
    } else if (const auto* guard = statement.get<Guard>()) {
      add_accesses(guard->body, loops, to);
    } else if (const auto* assign = statement.get<Assign>()) {
      add_values(assign->value, add_values);
      if (assign->combine) to.push_back({&assign->to, Use::kRead, {}, loops});
      to.push_back({&assign->to, Use::kWrite, {}, loops});
    } else if (const auto* copy = statement.get<Copy>()) {
      to.push_back({&copy->from, Use::kRead, copy->extents, loops});
      to.push_back({&copy->to, Use::kWrite, copy->extents, loops});
    } else if (const auto* product = statement.get<Multiply>()) {
      to.push_back({&product->a, Use::kRead, {product->rows, product->depth}, loops});
      to.push_back({&product->b, Use::kRead, {product->depth, product->columns}, loops});
      to.push_back({&product->c, Use::kRead, {product->rows, product->columns}, loops});
      to.push_back({&product->c, Use::kWrite, {product->rows, product->columns}, loops});
    }
  }
}

}  // namespace

std::vector<LoopAccess> accesses_in(const Body& body, const std::vector<const Loop*>& around) {
  std::vector<LoopAccess> accesses;
  std::vector<const Loop*> loops = around;
  add_accesses(body, loops, accesses);
  return accesses;
}

TouchedElements touched_elements(const Buffer& buffer, std::span<const LoopAccess> accesses,
                                 std::size_t depth) {
  if (accesses.empty()) return {};
  const std::vector<Reach> reaches = different_reaches(buffer, accesses, depth);
  const std::vector<std::vector<std::size_t>> groups = dependent_groups(reaches);
  double whole = 1, bounds = 0;
  for (const auto& group : groups) whole *= capacity(reaches[0], group);
  bool listed = reaches.size() <= kMostAccesses;
  std::vector<Product> products;
  for (const Reach& reach : reaches) {
    Product product;
    double bound = 1;
    for (const auto& group : groups) {
      std::optional<ValueSet> set = reach.values(group);
      const double count = set ? set->count() : reach.bound(group);
      bound *= std::min(count, capacity(reach, group));
      if (!set) listed = false;
      product.sets.push_back(set ? std::move(*set) : ValueSet{});
    }
    bounds += bound;
    products.push_back(std::move(product));
  }
  if (products.size() == 1) return {bounds, listed};
  if (!listed) return {std::min(bounds, whole), false};
  return {std::min(union_count(products, 0, std::nullopt), whole), true};
}

double access_count(const LoopAccess& access, std::size_t depth) {
  double count = 1;
  for (std::size_t i = depth; i < access.loops.size(); ++i) {
    count *= static_cast<double>(access.loops[i]->extent);
  }
  for (const std::int64_t extent : access.box) count *= static_cast<double>(extent);
  return count;
}

double access_stride(const Buffer& buffer, const LoopAccess& access, std::size_t depth) {
  if (depth >= access.loops.size()) return 0;
  Environment at;
  for (const Loop* loop : access.loops) at[loop->variable] = 0;
  Environment next = at;
  next[access.loops[depth]->variable] = 1;
  double stride = 0;
  std::int64_t dense = 1;
  for (std::size_t d = access.access->at.size(); d-- > 0;) {
    const Index& index = access.access->at[d];
    const std::int64_t step = buffer.strides.empty() ? dense : buffer.strides[d];
    stride += static_cast<double>((index.value(next) - index.value(at)) * step);
    dense *= buffer.dims[d];
  }
  return std::abs(stride);
}

}  // namespace tilecast::schedule
