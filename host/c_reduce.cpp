// Reductions. Rows (the minor dimension is reduced) use several partial results, to avoid a chain
// of dependent operations; columns have one result per element of the minor dimension. Windows are
// columns that reduce the window's dimensions.
#include <fmt/format.h>

#include <algorithm>

#include "analytical/iteration_space.h"
#include "host/c_expression.h"
#include "host/c_pass.h"
#include "host/c_scalar.h"

namespace tilecast::host {
namespace {

using ir::Op;
using ir::Opcode;
using ir::OpId;

struct Combiner {
  Opcode opcode;
  ir::DType dtype;
  std::string initial, neutral, type;

  [[nodiscard]] std::string operator()(const std::string& a, const std::string& b) const {
    return *combined_text(opcode, dtype, a, b);
  }
};

Combiner combiner_of(Pass& pass, const Op& op) {
  if (op.operands.size() != 2) throw Refused{"a reduction of several arrays is not generated"};
  if (!op.applied) throw Refused{"a reduction with a computation of its own"};
  const ir::DType dtype = op.shape.dtype;
  const auto neutral = neutral_text(*op.applied, dtype);
  if (!neutral || !combined_text(*op.applied, dtype, "a", "b")) {
    throw Refused{fmt::format("a reduction by {} is not generated", ir::name(*op.applied))};
  }
  if (!pass.function().is_scalar(op.operands[1])) throw Refused{"a computed initial value"};
  return {*op.applied, dtype, pass.function().scalar(op.operands[1]), *neutral,
          std::string(accumulator_type(dtype))};
}

// A stage for results of `box`, with dimensions in the layout's order.
Stage result_stage(Pass& pass, OpId id, const Box& box, const std::string& type,
                   const std::vector<const PassLoop*>& split = {}) {
  Stage stage = pass.begin(id, type, box, split);
  stage.accumulates = true;
  lay_out(stage, box, analytical::physical_order(pass.op(id).shape));
  return stage;
}

void fill(Stage& stage, const std::string& value, const std::string& condition, Writer& out) {
  out.line((condition.empty() ? "" : "if (" + condition + ") ") +
           fmt::format("for (int64_t i = 0; i < {}; ++i) {}[i] = {};", stage.elements, stage.buffer,
                       value));
}

// Number of partial results: two of the widest vectors.
int partials(const std::string& type) {
  return 128 / bytes_of(type);
}

struct RowLoops {
  std::size_t first_reduced;  // first reduced loop in the nest; all later ones are reduced too
  std::string address, value, condition;
};

// Writes the innermost loop in blocks of `lanes`, then the remainder.
void write_row_loop(Nest& nest, const Combiner& combine, const RowLoops& row, Writer& out) {
  const NestLoop& inner = nest.loops().back();
  const int lanes = partials(combine.type);
  const std::string& name = inner.variable;
  const std::string size = inner.size.text();
  const std::size_t depth = nest.loops().size();
  const auto body = [&](const std::string& target) {
    nest.write_values(out, depth);
    out.line(fmt::format("{} = {};", target, combine(target, nest.resolved(row.value))));
  };
  const bool blocks = inner.largest >= lanes;
  if (blocks) {
    out.line("int64_t j = 0;");
    out.open(fmt::format("for (; j + {} <= {}; j += {})", lanes, size, lanes));
    out.line("#pragma GCC ivdep");
    out.open(fmt::format("for (int l = 0; l < {}; ++l)", lanes));
    out.line(fmt::format("const int64_t {} = j + l;", name));
    body("part[l]");
    out.close();
    out.close();
    if (inner.size.is_constant() && inner.size.constant() % lanes == 0) return;
    out.open(fmt::format("for (int64_t {} = j; {} < {}; ++{})", name, name, size, name));
  } else {
    out.open(fmt::format("for (int64_t {} = 0; {} < {}; ++{})", name, name, size, name));
  }
  body("part[0]");
  out.close();
}

void write_rows(Nest& nest, const Combiner& combine, const Stage& stage, const RowLoops& row,
                Writer& out) {
  const std::size_t depth = nest.loops().size();
  const int lanes =
      nest.loops().back().largest >= partials(combine.type) ? partials(combine.type) : 1;
  for (std::size_t i = 0; i < depth; ++i) {
    if (i == row.first_reduced) {
      out.line(fmt::format("{} part[{}];", combine.type, lanes));
      out.line(fmt::format("for (int l = 0; l < {}; ++l) part[l] = {};", lanes, combine.neutral));
    }
    nest.write_values(out, i);
    if (i + 1 < depth) out.open(nest.loop_head(i));
  }
  write_row_loop(nest, combine, row, out);
  for (std::size_t i = row.first_reduced; i + 1 < depth; ++i) out.close();
  for (int width = lanes / 2; width > 0; width /= 2) {
    out.line(fmt::format("for (int l = 0; l < {}; ++l) part[l] = {};", width,
                         combine("part[l]", fmt::format("part[l + {}]", width))));
  }
  const std::string place = stage.buffer + "[" + nest.resolved(row.address) + "]";
  const std::string before =
      row.condition.empty() ? combine.initial
                            : fmt::format("({} ? {} : {})", row.condition, combine.initial, place);
  out.line(fmt::format("const {} before = {};", combine.type, before));
  out.line(fmt::format("{} = {};", place, combine("before", "part[0]")));
  for (std::size_t i = 0; i < std::min(row.first_reduced, depth - 1); ++i) out.close();
}

struct Reduced {
  ir::Dims kept;  // operand dimensions, in the order of the result's
  Box operand;    // box of the operand
  std::vector<const PassLoop*> split;
};

Reduced operand_box(Pass& pass, const Op& op, const Box& box) {
  const OpId operand = op.operands[0];
  const ir::Shape& shape = pass.op(operand).shape;
  Reduced made;
  for (int d = 0; d < shape.rank(); ++d) {
    if (!contains(op.dimensions, d)) {
      made.operand.push_back(box[made.kept.size()]);
      made.kept.push_back(d);
      continue;
    }
    PassLoop* loop = pass.split_loop(pass.labels().loop(operand, d));
    if (loop == nullptr) {
      made.operand.push_back({0, shape.dims[at(d)], shape.dims[at(d)]});
    } else {
      made.operand.push_back({loop->start, loop->size, loop->tile.step});
      made.split.push_back(loop);
      loop->used = true;
    }
  }
  return made;
}

// Operand dimensions in loop order. Rows have the reduced ones innermost; columns have the kept
// ones that are more minor than all reduced ones innermost.
struct LoopOrder {
  ir::Dims dims;
  bool rows = false;
};
LoopOrder loop_order(const ir::Shape& operand, const Reduced& reduced) {
  const auto is_kept = [&](std::int64_t d) { return contains(reduced.kept, d); };
  LoopOrder made;
  ir::Dims physical = analytical::physical_order(operand);
  std::size_t tail = physical.size();  // kept dimensions after the last reduced one larger than 1
  while (tail > 0 &&
         (is_kept(physical[tail - 1]) || reduced.operand[at(physical[tail - 1])].largest == 1)) {
    --tail;
  }
  std::int64_t below = 1;
  for (std::size_t i = tail; i < physical.size(); ++i) {
    below *= reduced.operand[at(physical[i])].largest;
  }
  made.rows = tail > 0 && below == 1;
  const auto add = [&](std::size_t from, std::size_t to, bool kept) {
    for (std::size_t i = from; i < to; ++i) {
      if (is_kept(physical[i]) == kept) made.dims.push_back(physical[i]);
    }
  };
  if (made.rows) {
    add(0, physical.size(), /*kept=*/true);
    add(0, physical.size(), /*kept=*/false);
  } else {
    add(0, tail, /*kept=*/true);
    add(0, physical.size(), /*kept=*/false);
    add(tail, physical.size(), /*kept=*/true);
  }
  return made;
}

}  // namespace

std::size_t reduce_stage(Pass& pass, OpId id, const Box& box) {
  const Op& op = pass.op(id);
  const Combiner combine = combiner_of(pass, op);
  const Reduced reduced = operand_box(pass, op, box);
  Stage stage = result_stage(pass, id, box, combine.type, reduced.split);
  const std::string first = pass.first_piece(reduced.split);

  const LoopOrder order = loop_order(pass.op(op.operands[0]).shape, reduced);
  Nest nest(pass.symbols());
  Position index(reduced.operand.size());
  Index address;
  std::vector<std::string> reduced_loops;
  for (const std::int64_t d : order.dims) {
    const BoxDim& dim = reduced.operand[at(d)];
    const auto kept = std::find(reduced.kept.begin(), reduced.kept.end(), d);
    const bool is_reduced = kept == reduced.kept.end();
    const Index loop = nest.add_loop(dim.size, dim.largest);
    index[at(d)] = dim.start + loop;
    if (is_reduced) {
      reduced_loops.push_back(loop.text());
    } else {
      address = address + loop * stage.strides[at(kept - reduced.kept.begin())];
    }
  }
  pass.enter_split(reduced.split);
  Expression expression(pass, nest, /*direct=*/false);
  const std::string value = expression.value(op.operands[0], index);
  pass.leave_split();
  const std::string place = nest.at(address);
  Writer out;
  out.open("");
  if (order.rows) {
    nest.merge();
    const auto& loops = nest.loops();
    const auto left = std::count_if(loops.begin(), loops.end(), [&](const NestLoop& loop) {
      return std::find(reduced_loops.begin(), reduced_loops.end(), loop.variable) !=
             reduced_loops.end();
    });
    write_rows(nest, combine, stage,
               {loops.size() - static_cast<std::size_t>(left), place, value, first}, out);
  } else {
    fill(stage, combine.initial, first, out);
    const std::string target = fmt::format("{}[{}]", stage.buffer, place);
    nest.store(fmt::format("{} = {}", target, combine(target, value)));
    nest.write(out);
  }
  out.close();
  return pass.finish(std::move(stage), out);
}

std::size_t reduce_window_stage(Pass& pass, OpId id, const Box& box) {
  const Op& op = pass.op(id);
  const Combiner combine = combiner_of(pass, op);
  const ir::Shape& operand = pass.op(op.operands[0]).shape;
  const auto& window = op.as<ir::WindowAttrs>().window;
  Stage stage = result_stage(pass, id, box, combine.type);
  PackSpec spec{.type = std::string(storage_type(operand.dtype)),
                .pieces = {{.op = op.operands[0], .dims = {}, .base = ir::Dims(box.size(), 0)}},
                .fill = combine.initial,
                .fill_type = operand.dtype};
  const ir::Dims order = analytical::physical_order(operand);
  for (const std::int64_t d : order) {
    const ir::WindowDim& w = window[at(d)];
    const std::int64_t reach = (w.size - 1) * w.window_dilation + 1;
    const BoxDim& own = box[at(d)];
    spec.pieces[0].dims.push_back(
        {.box = {own.start * w.stride, (own.size - 1) * w.stride + reach,
                 (own.largest - 1) * w.stride + reach},
         .op_dim = static_cast<int>(d),
         .border = Border{w.pad_low, w.base_dilation, operand.dims[at(d)]}});
  }
  const Packed packed = pass.pack(spec);
  const std::string source = pass.read(packed.stage).buffer;
  Nest nest(pass.symbols());
  Index address, from;
  const auto add_result = [&](std::size_t i) {
    const std::size_t d = at(order[i]);
    const Index loop = nest.add_loop(box[d].size, box[d].largest, /*mergeable=*/false);
    address = address + loop * stage.strides[d];
    from = from + loop * (packed.strides[i] * window[d].stride);
  };
  for (std::size_t i = 0; i + 1 < order.size(); ++i) add_result(i);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const ir::WindowDim& w = window[at(order[i])];
    if (w.size == 1) continue;
    const Index loop = nest.add_loop(w.size, w.size, /*mergeable=*/false);
    from = from + loop * (packed.strides[i] * w.window_dilation);
  }
  add_result(order.size() - 1);
  const std::string value =
      nest.value(std::string(value_type(operand.dtype)),
                 loaded(operand.dtype, fmt::format("{}[{}]", source, nest.at(from))));
  const std::string target = fmt::format("{}[{}]", stage.buffer, nest.at(address));
  nest.store(fmt::format("{} = {}", target, combine(target, value)));
  Writer out;
  out.open("");
  fill(stage, combine.initial, "", out);
  nest.write(out);
  out.close();
  return pass.finish(std::move(stage), out);
}

}  // namespace tilecast::host
