// Dots: operands packed to lhs[batch][m][k], rhs[batch][k][n] and a result[batch][m][n], or with
// the roles of m and n exchanged, or with k innermost in both where m and n are thin.
#include <fmt/format.h>

#include <algorithm>

#include "analytical/iteration_space.h"
#include "validation/host/c_matrix.h"
#include "validation/host/c_types.h"

namespace tilecast::host {
namespace {

using ir::Dims;
using ir::Op;
using ir::OpId;

constexpr std::int64_t kThin = 8;  // columns below which vectors would be mostly empty

std::size_t at(std::int64_t d) {
  return static_cast<std::size_t>(d);
}

bool contains(const Dims& dims, std::int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

// One operand: which of its dimensions play which part, and the box of each.
struct Side {
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

std::int64_t volume(const Box& box, const Dims& dims) {
  std::int64_t product = 1;
  for (const std::int64_t d : dims) product *= box[at(d)].largest;
  return product;
}

Side side_of(Pass& pass, const Op& op, std::size_t operand, const Box& box) {
  const ir::DotDims& dims = op.as<ir::DotAttrs>().dims;
  Side side;
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

// The contracted dimensions: whole, or the piece of a cut loop.
std::vector<const PassLoop*> cut_contraction(Pass& pass, const Op& op, OpId id, Side& lhs,
                                             Side& rhs) {
  std::vector<const PassLoop*> split;
  const auto& matrix = pass.space().matrix;
  const bool anchor = matrix && pass.space().anchor == id;
  for (std::size_t i = 0; i < lhs.contracted.size(); ++i) {
    const std::int64_t size = pass.op(op.operands[0]).shape.dims[at(lhs.contracted[i])];
    BoxDim dim{Affine(0), Affine(size), size};
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

// The innermost column dimension is the one that vectors run along: not one of a single element.
void put_single_first(Side& columns) {
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

PackSpec pack_spec(const Side& side, const std::string& type, const std::vector<const Dims*>& order,
                   std::int64_t multiple) {
  PackSpec spec{.type = type,
                .pieces = {{.op = side.op, .dims = {}, .base = Dims(side.box.size(), 0)}},
                .fill = {},
                .minor_multiple = multiple};
  for (const Dims* dims : order) {
    for (const std::int64_t d : *dims) {
      spec.pieces[0].dims.push_back({.box = side.box[at(d)], .op_dim = static_cast<int>(d)});
    }
  }
  return spec;
}

// Stride of each operand dimension in its packed form.
Dims strides_of(const PackSpec& spec, const Packed& packed, std::size_t rank) {
  Dims strides(rank, 0);
  for (std::size_t i = 0; i < packed.strides.size(); ++i) {
    strides[at(spec.pieces[0].dims[i].op_dim)] = packed.strides[i];
  }
  return strides;
}

bool minor_is_contracted(Pass& pass, const Side& side) {
  const ir::Shape& shape = pass.op(side.op).shape;
  const Dims order = analytical::physical_order(shape);
  for (std::size_t i = order.size(); i-- > 0;) {
    if (shape.dims[at(order[i])] > 1) return contains(side.contracted, order[i]);
  }
  return false;
}

}  // namespace

std::size_t dot_stage(Pass& pass, OpId id, const Box& box) {
  const Op& op = pass.op(id);
  if (op.get<ir::DotAttrs>() == nullptr || op.operands.size() != 2 ||
      op.shape.dtype == ir::DType::kPred) {
    throw Refused{"this kind of dot is not generated"};
  }
  const std::string type(product_type(op.shape.dtype));
  Stage stage;
  stage.buffer = pass.begin();
  stage.op = id;
  stage.type = type;
  stage.accumulates = true;
  Side rows = side_of(pass, op, 0, box), columns = side_of(pass, op, 1, box);
  const auto split = cut_contraction(pass, op, id, rows, columns);
  if (columns.largest(columns.free) < kThin && rows.largest(rows.free) > columns.largest(columns.free)) {
    std::swap(rows, columns);
  }
  // Thin: vectors along k where both operands would be packed without a transposition.
  const bool thin = rows.largest(rows.free) < kThin &&
                    (columns.largest(columns.free) < kThin || minor_is_contracted(pass, columns)) &&
                    volume(columns.box, columns.contracted) >= 2 * kThin;
  const std::int64_t lanes = thin || columns.free.empty() ? 1 : padded_lanes(type);
  put_single_first(columns);
  const PackSpec a_spec = pack_spec(rows, type, {&rows.batch, &rows.free, &rows.contracted}, 1);
  const PackSpec b_spec =
      thin ? pack_spec(columns, type, {&columns.batch, &columns.free, &columns.contracted}, 1)
           : pack_spec(columns, type, {&columns.batch, &columns.contracted, &columns.free}, lanes);
  pass.enter_split(split);
  const Packed a = pass.pack(a_spec), b = pass.pack(b_spec);
  const std::string a_name = pass.read(a.stage).buffer, b_name = pass.read(b.stage).buffer;
  pass.leave_split();
  const Dims a_strides = strides_of(a_spec, a, rows.box.size());
  const Dims b_strides = strides_of(b_spec, b, columns.box.size());

  stage.strides.assign(box.size(), 0);
  stage.elements = 1;
  const auto extend = [&](std::int64_t result, std::int64_t multiple) {
    stage.strides[at(result)] = stage.elements;
    stage.elements = (stage.elements * box[at(result)].largest + multiple - 1) / multiple * multiple;
  };
  for (std::size_t i = columns.free.size(); i-- > 0;) {
    extend(columns.result[i], i + 1 < columns.free.size() ? 1 : lanes);
  }
  for (std::size_t i = rows.free.size(); i-- > 0;) extend(rows.result[i], 1);
  for (std::size_t i = rows.batch.size(); i-- > 0;) extend(static_cast<std::int64_t>(i), 1);
  for (const BoxDim& dim : box) {
    stage.starts.push_back(dim.start);
    stage.loops |= pass.symbols().loops(dim.start) | pass.symbols().loops(dim.size);
  }
  for (const PassLoop* loop : split) stage.split |= 1U << loop->loop;
  stage.loops |= stage.split;

  Product product{.function = fmt::format("tc_mm{}_{}", thin ? "t" : "",
                                          type == "float"     ? "f"
                                          : type == "double"  ? "d"
                                          : type == "int64_t" ? "i64"
                                                              : "i32"),
                  .a = a_name,
                  .b = b_name,
                  .c = stage.buffer};
  for (std::size_t i = 0; i < rows.batch.size(); ++i) {
    const BoxDim& dim = box[i];
    product.outer.push_back({dim.size, dim.largest, a_strides[at(rows.batch[i])],
                             b_strides[at(columns.batch[i])], stage.strides[i]});
  }
  std::vector<ProductDim> n, k;
  for (std::size_t i = 0; i < columns.free.size(); ++i) {
    const BoxDim& dim = columns.box[at(columns.free[i])];
    n.push_back({dim.size, dim.largest, 0, b_strides[at(columns.free[i])],
                 stage.strides[at(columns.result[i])]});
  }
  for (std::size_t i = 0; i < rows.contracted.size(); ++i) {
    const BoxDim& dim = rows.box[at(rows.contracted[i])];
    k.push_back({dim.size, dim.largest, a_strides[at(rows.contracted[i])],
                 b_strides[at(columns.contracted[i])], 0});
  }
  for (std::size_t i = 0; i < rows.free.size(); ++i) {
    const BoxDim& dim = rows.box[at(rows.free[i])];
    product.rows.push_back({dim.size, dim.largest, a_strides[at(rows.free[i])], 0,
                            stage.strides[at(rows.result[i])]});
  }
  n = joined(std::move(n));
  k = joined(std::move(k));
  const auto take_inner = [&](std::vector<ProductDim>& dims) {
    if (dims.empty()) return ProductDim{Affine(1), 1, 0, 0, 0};
    const ProductDim inner = dims.back();
    dims.pop_back();
    product.outer.insert(product.outer.end(), dims.begin(), dims.end());
    return inner;
  };
  product.columns = take_inner(n);
  product.depth = take_inner(k);
  if (thin) {
    product.ldb = product.columns.b;
  } else {
    product.ldb = product.depth.b;
    product.lanes = lanes;
  }
  Writer out;
  const std::string first = pass.first_piece(split);
  out.line(fmt::format("{}memset({}, 0, {});", first.empty() ? "" : "if (" + first + ") ",
                       stage.buffer, stage.elements * bytes_of(type)));
  write_product(pass.symbols(), std::move(product), out);
  return pass.finish(std::move(stage), out);
}

}  // namespace tilecast::host
