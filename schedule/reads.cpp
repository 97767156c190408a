#include "schedule/reads.h"

#include <algorithm>

namespace tilecast::schedule {
namespace {

using ir::Opcode;

std::size_t dim_at(std::int64_t dim) {
  return static_cast<std::size_t>(dim);
}

// Batch dimensions lead the result; those of the left operand that are not contracted follow, then
// those of the right one.
Position dot_position(const ir::DotDims& dims, std::size_t number, std::size_t rank,
                      const Position& at, const Position& summed) {
  const ir::Dims& batch = number == 0 ? dims.lhs_batch : dims.rhs_batch;
  const ir::Dims& contracted = number == 0 ? dims.lhs_contracting : dims.rhs_contracting;
  const std::size_t free = rank - batch.size() - contracted.size();
  std::size_t next = number == 0 ? batch.size() : at.size() - free;
  Position source(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    const auto in = [d](const ir::Dims& list) {
      const auto found = std::find(list.begin(), list.end(), static_cast<std::int64_t>(d));
      return dim_at(found - list.begin());
    };
    const std::size_t b = in(batch), k = in(contracted);
    source[d] = b < batch.size() ? at[b] : k < contracted.size() ? summed[k] : at[next++];
  }
  return source;
}

Position convolution_position(const ir::ConvAttrs& attrs, std::size_t number, std::size_t rank,
                              const Position& at, const Position& summed) {
  const ir::ConvDims& dims = attrs.dims;
  const bool image = number == 0;
  Position source(rank);
  source[dim_at(image ? dims.input_feature : dims.kernel_input_feature)] = summed[0];
  source[dim_at(image ? dims.input_batch : dims.kernel_output_feature)] =
      at[dim_at(image ? dims.output_batch : dims.output_feature)];
  for (std::size_t w = 0; w < attrs.window.size(); ++w) {
    const ir::WindowDim& window = attrs.window[w];
    const Index& tap = summed[w + 1];
    if (image) {
      source[dim_at(dims.input_spatial[w])] = at[dim_at(dims.output_spatial[w])] * window.stride +
                                              tap * window.window_dilation - window.pad_low;
    } else {
      source[dim_at(dims.kernel_spatial[w])] = window.reversal ? Index(window.size - 1) - tap : tap;
    }
  }
  return source;
}

Position reduce_position(const ir::Dims& reduced, std::size_t rank, const Position& at,
                         const Position& summed) {
  std::size_t kept = 0, next = 0;
  Position source;
  for (std::size_t d = 0; d < rank; ++d) {
    const bool sums =
        std::find(reduced.begin(), reduced.end(), static_cast<std::int64_t>(d)) != reduced.end();
    source.push_back(sums ? summed[next++] : at[kept++]);
  }
  return source;
}

}  // namespace

std::optional<Position> read_position(const ir::Op& op, std::size_t number, const ir::Shape& from,
                                      const Position& at, const Position& summed) {
  Position source(from.dims.size());
  if (ir::has(op.opcode, ir::Trait::kIdentity)) return at;
  switch (op.opcode) {
    case Opcode::kBroadcast:
      for (std::size_t d = 0; d < source.size(); ++d) source[d] = at[dim_at(op.dimensions[d])];
      return source;
    case Opcode::kTranspose:
      for (std::size_t d = 0; d < source.size(); ++d) source[dim_at(op.dimensions[d])] = at[d];
      return source;
    case Opcode::kReverse:
      source = at;
      for (const std::int64_t d : op.dimensions) {
        source[dim_at(d)] = Index(op.shape.dims[dim_at(d)] - 1) - at[dim_at(d)];
      }
      return source;
    case Opcode::kSlice:
      for (std::size_t d = 0; d < source.size(); ++d) {
        const ir::SliceDim& dim = op.as<ir::SliceAttrs>().dims[d];
        source[d] = at[d] * dim.stride + dim.start;
      }
      return source;
    case Opcode::kReduce:
      if (number != 0) return from.is_scalar() ? std::optional(Position{}) : std::nullopt;
      return reduce_position(op.dimensions, source.size(), at, summed);
    case Opcode::kDot:
      return dot_position(op.as<ir::DotAttrs>().dims, number, source.size(), at, summed);
    case Opcode::kConvolution:
      return convolution_position(op.as<ir::ConvAttrs>(), number, source.size(), at, summed);
    default:
      if (!ir::is_elementwise(op.opcode)) return std::nullopt;
      return from.is_scalar() ? Position{} : at;
  }
}

}  // namespace tilecast::schedule
