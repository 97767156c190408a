// Nests of one assignment, distributed over the threads of a block.
#include <fmt/format.h>

#include <algorithm>

#include "host/c_elementwise.h"
#include "host/c_function.h"
#include "host/c_types.h"
#include "host/cuda_block.h"
#include "schedule/box.h"
#include "schedule/text.h"
#include "schedule/walk.h"

namespace tilecast::host {

namespace loops = schedule;

SharedNest shared_nest(const std::vector<const loops::Loop*>& loops_of, const loops::Assign& a) {
  SharedNest made;
  for (const loops::Loop* loop : loops_of) {
    const bool kept = std::any_of(a.to.at.begin(), a.to.at.end(), [&](const loops::Index& index) {
      return index.uses(loop->variable);
    });
    (kept ? made.shared : made.own).push_back(loop);
    if (kept) made.count *= loop->extent;
  }
  const loops::Box written{a.to.at, ir::Dims(a.to.at.size(), 1)};
  if (loops::overlaps_itself(written, loops::extents_of(made.shared))) {
    throw Refused{fmt::format("two threads write one element of {}", a.to.buffer)};
  }
  return made;
}

// --- nests

void BlockWriter::write_nest(const std::vector<const loops::Loop*>& of, const loops::Assign& a) {
  const loops::Access* driver = registers_.holds(a.to.buffer) ? &a.to : registers_.read_in(a.value);
  if (driver != nullptr) return write_held_nest(of, a, *driver);
  const SharedNest nest = shared_nest(of, a);
  open_threads(nest.count);
  loops::Index rest = loops::Index::of("t");
  std::vector<std::string> lines;
  for (std::size_t l = nest.shared.size(); l-- > 0;) {
    const loops::Index own = l == 0 ? rest : rest % nest.shared[l]->extent;
    lines.push_back(
        fmt::format("const int {} = {};", c_name(nest.shared[l]->variable), index_text(own)));
    rest = rest / nest.shared[l]->extent;
  }
  for (std::size_t l = lines.size(); l-- > 0;) out_->line(lines[l]);
  if (a.combine && !nest.own.empty()) {
    write_sum(nest.own, a, 1);
  } else {
    const int opened = open_loops(nest.own);
    write_assign(a);
    for (int i = 0; i < opened; ++i) out_->close();
  }
  out_->close();
}

// Writes a nest whose loops are the indices of `driver`: each thread runs the iterations of the
// elements it holds.
void BlockWriter::write_held_nest(const std::vector<const loops::Loop*>& of, const loops::Assign& a,
                                  const loops::Access& driver) {
  const loops::Buffer& buffer = program_.buffer(driver.buffer);
  const Held& held = registers_.held(driver.buffer);
  loops::for_each_access({loops::Statement{a}}, [&](const loops::Access& access, loops::Use) {
    if (access.buffer == driver.buffer && loops::to_text(access) != loops::to_text(driver)) {
      throw Refused{fmt::format("{} is used at two places at once", buffer.name)};
    }
  });
  std::vector<const loops::Loop*> own = of;
  std::vector<std::string> positions;
  for (std::size_t d = 0; d < driver.at.size(); ++d) {
    const auto loop = std::find_if(own.begin(), own.end(), [&](const loops::Loop* l) {
      return driver.at[d] == loops::Index::of(l->variable) && l->extent == buffer.dims[d];
    });
    const bool single = driver.at[d].is_constant() && buffer.dims[d] == 1;
    if (loop == own.end() && !single) {
      throw Refused{fmt::format("{} is used element by element, but not in order", buffer.name)};
    }
    positions.push_back(single ? fmt::format("zero{}", d) : c_name((*loop)->variable));
    if (!single) own.erase(loop);
  }
  const bool constant =
      a.value.kind == loops::Value::Kind::kNumber && !a.combine && a.where.empty();
  if (held.spread == Spread::kFragments && driver.buffer == a.to.buffer) {
    if (!constant) throw Refused{"an element of a matrix unit's sums is computed"};
    return registers_.fill_fragments(*out_, buffer.name, value(a.value));
  }
  const bool stores = driver.buffer != a.to.buffer;
  if (stores && !own.empty()) throw Refused{"a sum of what registers hold"};
  if (constant) positions.assign(positions.size(), "");
  const Registers::Element element = registers_.open(*out_, driver, positions, stores);
  at_hand_ = {{driver.buffer, element.place}};
  if (a.combine && !own.empty()) {
    write_sum(own, a, held.lanes);
  } else {
    const int opened = open_loops(own);
    write_assign(a);
    for (int i = 0; i < opened; ++i) out_->close();
  }
  at_hand_.clear();
  for (int i = 0; i < element.opened; ++i) out_->close();
}

void BlockWriter::write_assign(const loops::Assign& a) {
  const ir::DType dtype = program_.buffer(a.to.buffer).dtype;
  const std::string to = place(a.to);
  std::string made = value(a.value);
  if (a.combine) {
    made = combination_text(*a.combine, dtype, loaded(dtype, to), "(" + made + ")");
  }
  const std::string runs = condition(a.where);
  const std::string line = fmt::format("{} = {};", to, stored(dtype, made));
  out_->line(runs.empty() ? line : fmt::format("if ({}) {}", runs, line));
}

// Each thread sums its share separately; then the lanes' sums are combined.
void BlockWriter::write_sum(const std::vector<const loops::Loop*>& own, const loops::Assign& a,
                            std::int64_t lanes) {
  const ir::DType dtype = program_.buffer(a.to.buffer).dtype;
  const auto neutral = neutral_text(*a.combine, dtype);
  if (!neutral) throw Refused{fmt::format("a sum by {} is not generated", ir::name(*a.combine))};
  const std::string type(value_type(dtype));
  std::vector<loops::Bound> outside, inside;  // bounds without and with the thread's own loops
  for (const loops::Bound& bound : a.where) {
    const bool moves = std::any_of(own.begin(), own.end(), [&](const loops::Loop* loop) {
      return bound.index.uses(loop->variable);
    });
    (moves ? inside : outside).push_back(bound);
  }
  const std::string runs = condition(outside);
  if (!runs.empty()) out_->open(fmt::format("if ({})", runs));
  out_->line(fmt::format("{} partial = {};", type == "_Bool" ? "bool" : type, *neutral));
  const int opened = open_loops({own.begin(), own.end() - 1});
  const std::string last = c_name(own.back()->variable);
  const std::string first = lanes > 1 ? fmt::format("threadIdx.x % {}", lanes) : "0";
  out_->open(fmt::format("for (int {0} = {1}; {0} < {2}; {0} += {3})", last, first,
                         own.back()->extent, lanes));
  const std::string adds = condition(inside);
  out_->line(
      fmt::format("{}partial = {};", adds.empty() ? "" : "if (" + adds + ") ",
                  combination_text(*a.combine, dtype, "partial", "(" + value(a.value) + ")")));
  for (int i = 0; i <= opened; ++i) out_->close();
  const auto combine = [&](const std::string& x, const std::string& y) {
    return combination_text(*a.combine, dtype, x, y);
  };
  if (lanes > 1) {
    const std::string mask =
        lanes == loops::kWarp
            ? "0xffffffffu"
            : fmt::format("0x{:x}u << threadIdx.x % 32 / {} * {}",
                          (std::uint64_t{1} << static_cast<std::uint64_t>(lanes)) - 1, lanes,
                          lanes);
    out_->line("#pragma unroll");
    out_->open(fmt::format("for (int apart = {}; apart > 0; apart /= 2)", lanes / 2));
    out_->line(fmt::format("const {} other = __shfl_xor_sync({}, partial, apart);",
                           type == "_Bool" ? "bool" : type, mask));
    out_->line(fmt::format("partial = {};", combine("partial", "other")));
    out_->close();
  }
  const std::string to = place(a.to);
  out_->line(fmt::format("{} = {};", to, stored(dtype, combine(loaded(dtype, to), "partial"))));
  if (!runs.empty()) out_->close();
}

}  // namespace tilecast::host
