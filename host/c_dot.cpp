// Dots: operands are packed to lhs[batch][m][k] and rhs[batch][k][n] with result[batch][m][n], or
// with m and n exchanged, or with k innermost in both if m and n are skinny.
#include <fmt/format.h>

#include <algorithm>

#include "analytical/iteration_space.h"
#include "host/c_matrix.h"
#include "host/c_types.h"

namespace tilecast::host {
namespace {

using ir::Dims;
using ir::Op;
using ir::OpId;

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

PackSpec pack_spec(const DotOperand& side, const std::string& type,
                   const std::vector<const Dims*>& order, std::int64_t multiple) {
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

// Strides of the packed operand by operand dimension.
Dims strides_of(const PackSpec& spec, const Packed& packed, std::size_t rank) {
  Dims strides(rank, 0);
  for (std::size_t i = 0; i < packed.strides.size(); ++i) {
    strides[at(spec.pieces[0].dims[i].op_dim)] = packed.strides[i];
  }
  return strides;
}

bool minor_is_contracted(Pass& pass, const DotOperand& side) {
  const ir::Shape& shape = pass.op(side.op).shape;
  const Dims order = analytical::physical_order(shape);
  for (std::size_t i = order.size(); i-- > 0;) {
    if (shape.dims[at(order[i])] > 1) return contains(side.contracted, order[i]);
  }
  return false;
}

// Both operands and their packing.
struct Operands {
  DotOperand rows, columns;            // of the matrix product: lhs and rhs, or exchanged
  std::vector<const PassLoop*> split;  // contracted loops that the tile cuts
  bool skinny = false;                 // vectors run along k
  std::int64_t lanes = 1;              // rows of the result are padded to multiples of this
  Packed a, b;
  Dims a_strides, b_strides;  // by dimension of the operand
};

// Vectors run along the wider side; along k if both are skinny, or if any other choice would
// transpose the operand.
Operands operands_of(Pass& pass, OpId id, const Box& box, const std::string& type) {
  const Op& op = pass.op(id);
  Operands made{.rows = side_of(pass, op, 0, box), .columns = side_of(pass, op, 1, box)};
  DotOperand& rows = made.rows;
  DotOperand& columns = made.columns;
  made.split = cut_contraction(pass, op, id, rows, columns);
  const std::int64_t width = columns.largest(columns.free);
  if (width < kSkinny && rows.largest(rows.free) > width) std::swap(rows, columns);
  made.skinny = rows.largest(rows.free) < kSkinny &&
                (columns.largest(columns.free) < kSkinny || minor_is_contracted(pass, columns)) &&
                columns.largest(columns.contracted) >= 2 * kSkinny;
  made.lanes = made.skinny || columns.free.empty() ? 1 : padded_lanes(type);
  put_single_first(columns);
  const PackSpec a = pack_spec(rows, type, {&rows.batch, &rows.free, &rows.contracted}, 1);
  const PackSpec b =
      made.skinny
          ? pack_spec(columns, type, {&columns.batch, &columns.free, &columns.contracted}, 1)
          : pack_spec(columns, type, {&columns.batch, &columns.contracted, &columns.free},
                      made.lanes);
  pass.enter_split(made.split);
  made.a = pass.pack(a);
  made.b = pass.pack(b);
  pass.leave_split();
  made.a_strides = strides_of(a, made.a, rows.box.size());
  made.b_strides = strides_of(b, made.b, columns.box.size());
  return made;
}

// [batch][rows][columns]
void lay_out(const Box& box, const Operands& from, Stage& stage) {
  stage.strides.assign(box.size(), 0);
  stage.elements = 1;
  const auto extend = [&](std::int64_t result, std::int64_t multiple) {
    stage.strides[at(result)] = stage.elements;
    stage.elements =
        (stage.elements * box[at(result)].largest + multiple - 1) / multiple * multiple;
  };
  const Dims& columns = from.columns.result;
  const Dims& rows = from.rows.result;
  for (std::size_t i = columns.size(); i-- > 0;) {
    extend(columns[i], i + 1 < columns.size() ? 1 : from.lanes);
  }
  for (std::size_t i = rows.size(); i-- > 0;) extend(rows[i], 1);
  for (std::size_t i = from.rows.batch.size(); i-- > 0;) extend(static_cast<std::int64_t>(i), 1);
}

// Takes the innermost dimension; the others become outer loops.
ProductDim take_inner(std::vector<ProductDim> dims, std::vector<ProductDim>& outer) {
  dims = joined(std::move(dims));
  if (dims.empty()) return {1, 1, 0, 0, 0};
  const ProductDim inner = dims.back();
  dims.pop_back();
  outer.insert(outer.end(), dims.begin(), dims.end());
  return inner;
}

void add_dims(const Operands& from, const Box& box, const Dims& c, Product& product) {
  const DotOperand& rows = from.rows;
  const DotOperand& columns = from.columns;
  for (std::size_t i = 0; i < rows.batch.size(); ++i) {
    product.outer.push_back({box[i].size, box[i].largest, from.a_strides[at(rows.batch[i])],
                             from.b_strides[at(columns.batch[i])], c[i]});
  }
  std::vector<ProductDim> n, k;
  for (std::size_t i = 0; i < columns.free.size(); ++i) {
    const BoxDim& dim = columns.box[at(columns.free[i])];
    n.push_back(
        {dim.size, dim.largest, 0, from.b_strides[at(columns.free[i])], c[at(columns.result[i])]});
  }
  for (std::size_t i = 0; i < rows.contracted.size(); ++i) {
    const BoxDim& dim = rows.box[at(rows.contracted[i])];
    k.push_back({dim.size, dim.largest, from.a_strides[at(rows.contracted[i])],
                 from.b_strides[at(columns.contracted[i])], 0});
  }
  for (std::size_t i = 0; i < rows.free.size(); ++i) {
    const BoxDim& dim = rows.box[at(rows.free[i])];
    product.rows.push_back(
        {dim.size, dim.largest, from.a_strides[at(rows.free[i])], 0, c[at(rows.result[i])]});
  }
  product.columns = take_inner(std::move(n), product.outer);
  product.depth = take_inner(std::move(k), product.outer);
  product.ldb = from.skinny ? product.columns.b : product.depth.b;
  product.lanes = from.lanes;
}

}  // namespace

std::size_t dot_stage(Pass& pass, OpId id, const Box& box) {
  const Op& op = pass.op(id);
  if (op.get<ir::DotAttrs>() == nullptr || op.operands.size() != 2 ||
      op.shape.dtype == ir::DType::kPred) {
    throw Refused{"this kind of dot is not generated"};
  }
  Stage stage;
  stage.buffer = pass.begin();
  stage.op = id;
  stage.type = std::string(product_type(op.shape.dtype));
  stage.accumulates = true;
  const Operands from = operands_of(pass, id, box, stage.type);
  lay_out(box, from, stage);
  for (const BoxDim& dim : box) {
    stage.starts.push_back(dim.start);
    stage.loops |= pass.symbols().loops(dim.start) | pass.symbols().loops(dim.size);
  }
  for (const PassLoop* loop : from.split) stage.split |= 1U << loop->loop;
  stage.loops |= stage.split;
  Product product{.function = (from.skinny ? "tc_mmt_" : "tc_mm_") + product_suffix(op.shape.dtype),
                  .a = pass.read(from.a.stage).buffer,
                  .b = pass.read(from.b.stage).buffer,
                  .c = stage.buffer};
  add_dims(from, box, stage.strides, product);
  Writer out;
  clear(pass, stage, from.split, out);
  write_product(std::move(product), out);
  return pass.finish(std::move(stage), out);
}

}  // namespace tilecast::host
