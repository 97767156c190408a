// Matrix products in generated C. A dot or convolution becomes calls of the shared loops
//
//   tc_mm_f(m, n, k, a, lda, b, ldb, c, ldc)     c[i][j] += sum over p of a[i][p] * b[p][j]
//   tc_mmt_f(...)                                c[i][j] += sum over p of a[i][p] * b[j][p]
//
// in c_prelude.cpp, on operands packed for them, with further loops around the call for the
// remaining dimensions.
#include <fmt/format.h>

#include <algorithm>

#include "analytical/iteration_space.h"
#include "base/math.h"
#include "host/c_pass.h"
#include "host/c_scalar.h"

namespace tilecast::host {
namespace {

using ir::ConvAttrs;
using ir::Dims;
using ir::Op;
using ir::OpId;

constexpr std::int64_t kSkinny = 8;  // with fewer columns, vectors would be mostly empty

// Elements of a vector of 64 bytes; rows are padded to a multiple of this.
std::int64_t padded_lanes(const std::string& type) {
  return 64 / bytes_of(type);
}

// A dimension of a product: its place in the packed operands and in the result; -1: not there.
struct Axis {
  Index size;
  std::int64_t largest = 1;
  int a = -1, b = -1;                   // packed dimensions
  std::int64_t c = -1;                  // dimension of the result
  std::int64_t a_step = 1, c_step = 1;  // elements along them
};

struct Contraction {
  std::string function = "tc_mm_";
  PackSpec a, b;
  // Candidates for m, n and k of the call; the others become loops, inside the outer ones.
  std::vector<Axis> rows, columns, depth, outer;
  Dims layout;             // dimensions of the result, most major first
  std::int64_t lanes = 1;  // rows of b and of the result are padded to multiples of this
  std::vector<const PassLoop*> split;  // summed loops that the tile cuts
};

PackSpec spec_of(const Pass& pass, OpId op, const std::string& type) {
  const std::size_t rank = pass.op(op).shape.dims.size();
  return {.type = type, .pieces = {{.op = op, .dims = {}, .base = Dims(rank, 0)}}, .fill = {}};
}

// Appends a dimension of the packed array; returns its number.
int add(PackSpec& spec, PackDim dim) {
  spec.pieces[0].dims.push_back(std::move(dim));
  return static_cast<int>(spec.pieces[0].dims.size()) - 1;
}

// --- writing

// An axis with its stride in each array in elements (0: not a dimension of it).
struct ProductDim {
  Index size = 1;
  std::int64_t largest = 1;
  std::int64_t a = 0, b = 0, c = 0;
};

std::vector<ProductDim> with_strides(const std::vector<Axis>& axes, const Packed& a,
                                     const Packed& b, const Stage& stage) {
  std::vector<ProductDim> made;
  for (const Axis& axis : axes) {
    made.push_back({axis.size, axis.largest, axis.a < 0 ? 0 : a.strides[at(axis.a)] * axis.a_step,
                    axis.b < 0 ? 0 : b.strides[at(axis.b)],
                    axis.c < 0 ? 0 : stage.strides[at(axis.c)] * axis.c_step});
  }
  return made;
}

// Merges adjacent dimensions (outer to inner) that are contiguous in all three arrays.
std::vector<ProductDim> joined(std::vector<ProductDim> dims) {
  std::vector<ProductDim> made;
  for (ProductDim& dim : dims) {
    if (dim.size == Index(1)) continue;
    if (!made.empty() && dim.size.is_constant()) {
      ProductDim& outer = made.back();
      const std::int64_t n = dim.size.constant();
      if (outer.a == n * dim.a && outer.b == n * dim.b && outer.c == n * dim.c) {
        dim.largest *= outer.largest;
        dim.size = outer.size * n;
        outer = dim;
        continue;
      }
    }
    made.push_back(dim);
  }
  return made;
}

// Takes a dimension for the call itself.
ProductDim take(std::vector<ProductDim>& dims, std::vector<ProductDim>::iterator chosen) {
  if (chosen == dims.end()) return {};
  const ProductDim made = *chosen;
  dims.erase(chosen);
  return made;
}

// Takes the innermost dimension.
ProductDim take_last(std::vector<ProductDim>& dims) {
  return take(dims, dims.empty() ? dims.end() : dims.end() - 1);
}

void write_product(const Contraction& product, const Packed& packed_a, const Packed& packed_b,
                   Pass& pass, const Stage& stage, Writer& out) {
  const auto dims = [&](const std::vector<Axis>& axes) {
    return with_strides(axes, packed_a, packed_b, stage);
  };
  std::vector<ProductDim> columns = joined(dims(product.columns)),
                          depth = joined(dims(product.depth)), rows = joined(dims(product.rows)),
                          loops = dims(product.outer);
  const ProductDim n = take_last(columns);
  const bool contiguous = !depth.empty() && depth.back().a == 1;
  const ProductDim k = contiguous ? take_last(depth) : ProductDim{};
  const ProductDim m = take(
      rows, std::max_element(rows.begin(), rows.end(),
                             [](const auto& x, const auto& y) { return x.largest < y.largest; }));
  for (const auto* more : {&columns, &depth, &rows}) {
    loops.insert(loops.end(), more->begin(), more->end());
  }
  std::string a = pass.read(packed_a.stage).buffer, b = pass.read(packed_b.stage).buffer,
              c = stage.buffer;
  std::size_t open = 0;
  for (const ProductDim& loop : loops) {
    if (loop.size == Index(1)) continue;
    const std::string name = fmt::format("x{}", open++);
    out.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", name, loop.size.text()));
    for (const auto& [text, stride] : {std::pair{&a, loop.a}, {&b, loop.b}, {&c, loop.c}}) {
      if (stride != 0) *text += fmt::format(" + {}*{}", name, stride);
    }
  }
  std::string width = n.size.text();
  if (const std::int64_t lanes = product.lanes; lanes > 1) {
    width = n.size.is_constant() ? std::to_string(base::round_up(n.size.constant(), lanes))
                                 : fmt::format("({} + {})/{}*{}", width, lanes - 1, lanes, lanes);
  }
  const bool transposed = product.function == "tc_mmt_";
  out.line(fmt::format("{}{}({}, {}, {}, {}, {}, {}, {}, {}, {});", product.function,
                       product_suffix(pass.op(stage.op).shape.dtype), m.size.text(), width,
                       k.size.text(), a, m.a, b, transposed ? n.b : k.b, c, m.c));
  for (; open > 0; --open) out.close();
}

// Makes the stage of a product's results.
template <class Describe>
std::size_t product_stage(Pass& pass, OpId id, Box box, const Describe& describe) {
  const std::string type(product_type(pass.op(id).shape.dtype));
  const Contraction product = describe(pass, id, type, box);
  Stage stage = pass.begin(id, type, box, product.split);
  stage.accumulates = true;
  lay_out(stage, box, product.layout, product.lanes);
  pass.enter_split(product.split);
  const Packed a = pass.pack(product.a), b = pass.pack(product.b);
  pass.leave_split();
  const std::string first = pass.first_piece(product.split);
  Writer out;
  out.line(fmt::format("{}memset({}, 0, {});", first.empty() ? "" : "if (" + first + ") ",
                       stage.buffer, stage.elements * bytes_of(stage.type)));
  write_product(product, a, b, pass, stage, out);
  return pass.finish(std::move(stage), out);
}

// --- dots: operands are packed to lhs[batch][m][k] and rhs[batch][k][n] with result[batch][m][n],
// or with m and n exchanged, or with k innermost in both if m and n are skinny

// One operand: the roles of its dimensions, and its box.
struct DotOperand {
  OpId op;
  Dims batch, free, contracted;  // dimensions of the operand
  Dims result;                   // dimension of the result, by free dimension
  Box box;                       // by dimension of the operand

  [[nodiscard]] std::int64_t largest(const Dims& dims) const {
    std::int64_t product = 1;
    for (const std::int64_t d : dims) product *= box[at(d)].largest;
    return product;
  }
};

DotOperand side_of(Pass& pass, const Op& op, std::size_t operand, const Box& box) {
  const ir::DotDims& dims = op.as<ir::DotAttrs>().dims;
  DotOperand side;
  side.op = op.operands[operand];
  side.batch = operand == 0 ? dims.lhs_batch : dims.rhs_batch;
  side.contracted = operand == 0 ? dims.lhs_contracting : dims.rhs_contracting;
  const ir::Shape& shape = pass.op(side.op).shape;
  side.box.resize(at(shape.rank()));
  for (std::size_t i = 0; i < side.batch.size(); ++i) side.box[at(side.batch[i])] = box[i];
  const ir::Shape& lhs = pass.op(op.operands[0]).shape;
  std::int64_t next = operand == 0 ? static_cast<std::int64_t>(dims.lhs_batch.size())
                                   : lhs.rank() - static_cast<int>(dims.lhs_contracting.size());
  for (std::int64_t d = 0; d < shape.rank(); ++d) {
    if (contains(side.batch, d) || contains(side.contracted, d)) continue;
    side.free.push_back(d);
    side.result.push_back(next);
    side.box[at(d)] = box[at(next++)];
  }
  return side;
}

// Sets the contracted dimensions: whole, or the piece of a cut loop.
std::vector<const PassLoop*> cut_contraction(Pass& pass, const Op& op, OpId id, DotOperand& lhs,
                                             DotOperand& rhs) {
  std::vector<const PassLoop*> split;
  const auto& matrix = pass.space().matrix;
  const bool anchor = matrix && pass.space().anchor == id;
  for (std::size_t i = 0; i < lhs.contracted.size(); ++i) {
    const std::int64_t size = pass.op(op.operands[0]).shape.dims[at(lhs.contracted[i])];
    BoxDim dim{0, size, size};
    PassLoop* loop = anchor && i < matrix->contraction.size()
                         ? pass.split_loop(matrix->contraction[i])
                         : nullptr;
    if (loop != nullptr) {
      dim = {loop->start, loop->size, loop->tile.step};
      loop->used = true;
      split.push_back(loop);
    }
    lhs.box[at(lhs.contracted[i])] = dim;
    rhs.box[at(rhs.contracted[i])] = dim;
  }
  return split;
}

// Vectors run along the innermost column dimension, so dimensions of size 1 are moved outwards.
void put_single_first(DotOperand& columns) {
  Dims free, result;
  for (const bool single : {true, false}) {
    for (std::size_t i = 0; i < columns.free.size(); ++i) {
      if ((columns.box[at(columns.free[i])].largest == 1) != single) continue;
      free.push_back(columns.free[i]);
      result.push_back(columns.result[i]);
    }
  }
  columns.free = free;
  columns.result = result;
}

bool minor_is_contracted(Pass& pass, const DotOperand& side) {
  const ir::Shape& shape = pass.op(side.op).shape;
  const Dims order = analytical::physical_order(shape);
  for (std::size_t i = order.size(); i-- > 0;) {
    if (shape.dims[at(order[i])] > 1) return contains(side.contracted, order[i]);
  }
  return false;
}

// Vectors run along the wider side; along k if both are skinny, or if any other choice would
// transpose the operand.
Contraction dot_product(Pass& pass, OpId id, const std::string& type, const Box& box) {
  const Op& op = pass.op(id);
  DotOperand rows = side_of(pass, op, 0, box), columns = side_of(pass, op, 1, box);
  Contraction made;
  made.split = cut_contraction(pass, op, id, rows, columns);
  const std::int64_t width = columns.largest(columns.free);
  if (width < kSkinny && rows.largest(rows.free) > width) std::swap(rows, columns);
  const bool skinny =
      rows.largest(rows.free) < kSkinny &&
      (columns.largest(columns.free) < kSkinny || minor_is_contracted(pass, columns)) &&
      columns.largest(columns.contracted) >= 2 * kSkinny;
  if (skinny) made.function = "tc_mmt_";
  made.lanes = skinny || columns.free.empty() ? 1 : padded_lanes(type);
  put_single_first(columns);
  made.a = spec_of(pass, rows.op, type);
  made.b = spec_of(pass, columns.op, type);
  made.b.minor_multiple = made.lanes;
  const auto pack = [](PackSpec& spec, const DotOperand& side, std::int64_t d) {
    return add(spec, {.box = side.box[at(d)], .op_dim = static_cast<int>(d)});
  };
  const auto axis = [](const BoxDim& dim, int a, int b, std::int64_t c) {
    return Axis{.size = dim.size, .largest = dim.largest, .a = a, .b = b, .c = c};
  };
  for (std::size_t i = 0; i < rows.batch.size(); ++i) {
    const int a = pack(made.a, rows, rows.batch[i]), b = pack(made.b, columns, columns.batch[i]);
    made.layout.push_back(static_cast<std::int64_t>(i));
    made.outer.push_back(axis(box[i], a, b, made.layout.back()));
  }
  for (std::size_t i = 0; i < rows.free.size(); ++i) {
    const int a = pack(made.a, rows, rows.free[i]);
    made.rows.push_back(axis(rows.box[at(rows.free[i])], a, -1, rows.result[i]));
  }
  const auto add_columns = [&] {
    for (std::size_t i = 0; i < columns.free.size(); ++i) {
      const int b = pack(made.b, columns, columns.free[i]);
      made.columns.push_back(axis(columns.box[at(columns.free[i])], -1, b, columns.result[i]));
    }
  };
  if (skinny) add_columns();
  for (std::size_t i = 0; i < rows.contracted.size(); ++i) {
    const int a = pack(made.a, rows, rows.contracted[i]),
              b = pack(made.b, columns, columns.contracted[i]);
    made.depth.push_back(axis(rows.box[at(rows.contracted[i])], a, b, -1));
  }
  if (!skinny) add_columns();
  made.layout.insert(made.layout.end(), rows.result.begin(), rows.result.end());
  made.layout.insert(made.layout.end(), columns.result.begin(), columns.result.end());
  return made;
}

// --- convolutions: the input packed in padded and dilated coordinates to
// x[group][batch][spatial ...][c], the weights to w[group][window ...][c][f], the result to
// [batch][spatial ...][f]; one matrix product per window position (positions along the last window
// dimension are merged into the depth if they are contiguous)

struct Convolution {
  const Op* op = nullptr;
  const ConvAttrs* attrs = nullptr;
  std::vector<const PassLoop*> split;
  std::vector<BoxDim> window;    // window positions, by spatial dimension
  BoxDim group, depth, columns;  // depth, columns: within a group
  BoxDim features;               // features of the result: those of the box, or all of its groups
  std::int64_t groups = 1, group_depth = 1, group_columns = 1, group_batch = 0;
  bool channelwise = false;  // one input and one output channel per group
  bool skinny = false;       // vectors run along the depth

  [[nodiscard]] std::size_t spatial() const { return attrs->window.size(); }
};

BoxDim whole(std::int64_t size) {
  return {0, size, size};
}

BoxDim piece_or_whole(Pass& pass, Convolution& conv, int loop, std::int64_t size) {
  PassLoop* own = pass.split_loop(loop);
  if (own == nullptr) return whole(size);
  own->used = true;
  conv.split.push_back(own);
  return {own->start, own->size, own->tile.step};
}

void cut_window(Pass& pass, OpId id, Convolution& conv) {
  const ir::Shape& weights = pass.op(conv.op->operands[1]).shape;
  const auto& matrix = pass.space().matrix;
  const bool anchor = matrix && pass.space().anchor == id;
  for (std::size_t i = 0; i < conv.spatial(); ++i) {
    const int loop = anchor && i < matrix->positions.size() ? matrix->positions[i] : -1;
    const std::int64_t size = weights.dims[at(conv.attrs->dims.kernel_spatial[i])];
    conv.window.push_back(piece_or_whole(pass, conv, loop, size));
  }
  const int loop = anchor && !matrix->contraction.empty() ? matrix->contraction[0] : -1;
  conv.depth = piece_or_whole(pass, conv, loop, conv.group_depth);
}

// Finds the groups that the columns of the box belong to.
void cut_groups(Pass& pass, const Box& box, Convolution& conv) {
  const BoxDim& features = box[at(conv.attrs->dims.output_feature)];
  conv.group = whole(1);
  conv.columns = features;
  conv.features = features;
  if (conv.groups == 1) return;
  const std::int64_t each = conv.group_columns;
  if (conv.channelwise) {
    conv.group = features;
    conv.columns = whole(1);
  } else if (divides(each, features.start) && divides(each, features.size)) {
    conv.group = {features.start / each, features.size / each, features.largest / each};
    conv.columns = whole(each);
  } else if (each % features.largest == 0 && divides(features.largest, features.start)) {
    conv.group = {pass.divided(features.start, each), 1, 1};
    conv.columns.start = features.start - conv.group.start * each;
  } else {  // whole groups, including features that the tile does not need
    const std::int64_t count = std::min((features.largest + each - 2) / each + 1, conv.groups);
    const Index first = pass.divided(features.start, each);
    const Index start =
        pass.definition({0, conv.groups - count},
                        fmt::format("tc_smaller({}, {})", first.text(), conv.groups - count),
                        pass.symbols().loops(first));
    conv.group = {start, count, count};
    conv.columns = whole(each);
    conv.features = {start * each, count * each, count * each};
  }
}

// Widens the box to whole feature groups if necessary.
Convolution convolution_of(Pass& pass, OpId id, Box& box) {
  Convolution conv;
  conv.op = &pass.op(id);
  conv.attrs = conv.op->get<ConvAttrs>();
  if (conv.attrs == nullptr || conv.op->shape.dtype == ir::DType::kPred) {
    throw Refused{"this kind of convolution is not generated"};
  }
  const ConvAttrs& attrs = *conv.attrs;
  const ir::Shape& weights = pass.op(conv.op->operands[1]).shape;
  if (attrs.feature_group_count > 1 && attrs.batch_group_count > 1) {
    throw Refused{"a convolution grouped by feature and batch is not generated"};
  }
  conv.groups = std::max(attrs.feature_group_count, attrs.batch_group_count);
  conv.group_depth = weights.dims[at(attrs.dims.kernel_input_feature)];
  conv.group_columns = conv.op->shape.dims[at(attrs.dims.output_feature)] / conv.groups;
  conv.group_batch = conv.op->shape.dims[at(attrs.dims.output_batch)];
  conv.channelwise =
      attrs.feature_group_count > 1 && conv.group_depth == 1 && conv.group_columns == 1;
  cut_window(pass, id, conv);
  cut_groups(pass, box, conv);
  box[at(attrs.dims.output_feature)] = conv.features;
  const std::int64_t run = conv.window.empty() ? 1 : conv.window.back().largest;
  conv.skinny = !conv.channelwise && conv.columns.largest < kSkinny &&
                conv.depth.largest * run >= 2 * kSkinny;
  return conv;
}

Contraction convolution_product(Pass& pass, OpId id, const std::string& type, Box& box) {
  const Convolution conv = convolution_of(pass, id, box);
  const ConvAttrs& attrs = *conv.attrs;
  const ir::ConvDims& dims = attrs.dims;
  const ir::Shape& input = pass.op(conv.op->operands[0]).shape;
  const ir::Shape& weights = pass.op(conv.op->operands[1]).shape;
  Contraction made{.split = conv.split};
  if (conv.channelwise || conv.skinny) made.function = conv.channelwise ? "tc_mul_" : "tc_mmt_";
  made.lanes = conv.skinny || conv.groups > 1 ? 1 : padded_lanes(type);
  made.a = spec_of(pass, conv.op->operands[0], type);
  made.a.fill = "0";
  made.a.fill_type = conv.op->shape.dtype;
  made.b = spec_of(pass, conv.op->operands[1], type);
  made.b.minor_multiple = made.lanes;
  const bool by_batch = attrs.batch_group_count > 1;
  const PackDim w_group{
      .box = conv.group, .op_dim = dims.kernel_output_feature, .scale = conv.group_columns};
  if (!conv.channelwise) {
    const int a = add(made.a, {.box = conv.group,
                               .op_dim = by_batch ? dims.input_batch : dims.input_feature,
                               .scale = by_batch ? conv.group_batch : conv.group_depth});
    made.outer.push_back({conv.group.size, conv.group.largest, a, add(made.b, w_group),
                          dims.output_feature, 1, conv.group_columns});
  }
  const auto add_columns = [&] {
    const int b = add(made.b, {.box = conv.columns, .op_dim = dims.kernel_output_feature});
    made.columns.push_back({conv.columns.size, conv.columns.largest, -1, b, dims.output_feature});
  };
  if (conv.skinny) add_columns();
  const BoxDim& batch = box[at(dims.output_batch)];
  made.rows.push_back({batch.size, batch.largest,
                       add(made.a, {.box = batch, .op_dim = dims.input_batch}), -1,
                       dims.output_batch});
  made.layout.push_back(dims.output_batch);
  std::vector<Axis> window;
  for (std::size_t i = 0; i < conv.spatial(); ++i) {
    const ir::WindowDim& w = attrs.window[i];
    const BoxDim &out = box[at(dims.output_spatial[i])], &in = conv.window[i];
    const auto d = static_cast<int>(dims.input_spatial[i]);
    const std::int64_t reach = (in.largest - 1) * w.window_dilation + 1;
    const int a =
        add(made.a, {.box = {out.start * w.stride + in.start * w.window_dilation,
                             (out.size - 1) * w.stride + (in.size - 1) * w.window_dilation + 1,
                             (out.largest - 1) * w.stride + reach},
                     .op_dim = d,
                     .border = Border{w.pad_low, w.base_dilation, input.dims[at(d)]}});
    made.rows.push_back({out.size, out.largest, a, -1, dims.output_spatial[i], w.stride});
    made.layout.push_back(dims.output_spatial[i]);
    PackDim position{.box = in, .op_dim = static_cast<int>(dims.kernel_spatial[i])};
    if (w.reversal) {  // positions are counted from the end
      position.scale = -1;
      made.b.pieces[0].base[at(position.op_dim)] = weights.dims[at(position.op_dim)] - 1;
    }
    window.push_back({in.size, in.largest, a, add(made.b, position), -1, w.window_dilation});
  }
  made.layout.push_back(dims.output_feature);
  const int a = add(
      made.a, {.box = conv.channelwise ? conv.group : conv.depth, .op_dim = dims.input_feature});
  const int b = add(made.b, {.box = conv.depth, .op_dim = dims.kernel_input_feature});
  if (conv.channelwise) {
    made.columns.push_back(
        {conv.group.size, conv.group.largest, a, add(made.b, w_group), dims.output_feature});
    made.outer = std::move(window);
    return made;
  }
  made.depth = std::move(window);
  made.depth.push_back({conv.depth.size, conv.depth.largest, a, b});
  if (!conv.skinny) add_columns();
  return made;
}

}  // namespace

std::size_t dot_stage(Pass& pass, OpId id, const Box& box) {
  const Op& op = pass.op(id);
  if (op.get<ir::DotAttrs>() == nullptr || op.operands.size() != 2 ||
      op.shape.dtype == ir::DType::kPred) {
    throw Refused{"this kind of dot is not generated"};
  }
  return product_stage(pass, id, box, dot_product);
}

std::size_t convolution_stage(Pass& pass, OpId id, const Box& box) {
  return product_stage(pass, id, box, convolution_product);
}

}  // namespace tilecast::host
