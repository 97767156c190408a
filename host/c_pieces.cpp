// Ops whose result is assembled from boxes of their operands: pad, concatenate,
// dynamic-update-slice.
#include "host/c_expression.h"
#include "host/c_pass.h"

namespace tilecast::host {
namespace {

using ir::Op;
using ir::Opcode;
using ir::OpId;

// Element j of an operand's dimension d is at low[d] + j * step[d] of the result.
Piece piece_at(Pass& pass, OpId operand, const Box& box, const ir::Dims& order, const Position& low,
               const ir::Dims& step) {
  const ir::Dims& sizes = pass.op(operand).shape.dims;
  Piece piece{.op = operand, .dims = {}, .base = ir::Dims(box.size(), 0)};
  for (const std::int64_t d : order) {
    PackDim dim{.box = box[at(d)], .op_dim = static_cast<int>(d)};
    dim.border = Border{low[at(d)], step[at(d)], sizes[at(d)]};
    piece.dims.push_back(std::move(dim));
  }
  return piece;
}

}  // namespace

PackSpec pieces_of(Pass& pass, OpId id, const Box& box, const ir::Dims& order) {
  const Op& op = pass.op(id);
  const std::size_t rank = box.size();
  PackSpec spec;
  Position low(rank);
  ir::Dims step(rank, 1);
  if (op.opcode == Opcode::kPad) {
    const auto& edges = op.as<ir::PadAttrs>().dims;
    for (std::size_t d = 0; d < rank; ++d) {
      low[d] = edges[d].low;
      step[d] = edges[d].interior + 1;
    }
    if (!pass.function().is_scalar(op.operands[1])) throw Refused{"a computed padding value"};
    spec.fill = pass.function().scalar(op.operands[1]);
    spec.fill_type = op.shape.dtype;
    spec.pieces.push_back(piece_at(pass, op.operands[0], box, order, low, step));
    return spec;
  }
  if (op.opcode == Opcode::kConcatenate) {
    const std::size_t dim = at(op.dimensions[0]);
    for (const OpId operand : op.operands) {
      spec.pieces.push_back(piece_at(pass, operand, box, order, low, step));
      low[dim] = low[dim] + pass.op(operand).shape.dims[dim];
    }
    return spec;
  }
  spec.pieces.push_back(piece_at(pass, op.operands[0], box, order, low, step));
  low = dynamic_starts(pass, op, 2, op.shape.dims, pass.op(op.operands[1]).shape.dims);
  spec.pieces.push_back(piece_at(pass, op.operands[1], box, order, low, step));
  return spec;
}

}  // namespace tilecast::host
