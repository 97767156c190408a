// Ops that only move elements: a result element is read from an affine position of an operand, or
// operand elements are written to affine positions of the result.
#include <algorithm>

#include "tests/interpreter/evaluate_ops.h"

namespace tilecast::interpreter {
namespace {

Elements read(const Dims& dims, std::int64_t base, const Dims& steps, const Elements& source) {
  Elements result;
  walk(dims, base, steps, [&](std::int64_t position) { result.push_back(source[at(position)]); });
  return result;
}

// Writes the elements of `source` (with sizes `dims`, row-major) to base + index * steps of
// `result`.
void write(const Dims& dims, std::int64_t base, const Dims& steps, const Elements& source,
           Elements& result) {
  std::size_t next = 0;
  walk(dims, base, steps, [&](std::int64_t position) { result[at(position)] = source[next++]; });
}

Elements broadcast(const Op& op, const Value& operand) {
  const Dims strides = row_major_strides(operand.shape->dims);
  Dims steps(op.shape.dims.size(), 0);
  for (std::size_t i = 0; i < op.dimensions.size(); ++i) {
    steps[at(op.dimensions[i])] = strides[i];
  }
  return read(op.shape.dims, 0, steps, *operand.elements);
}

Elements iota(const Op& op) {
  Dims steps(op.shape.dims.size(), 0);
  steps[at(op.as<IndexAttrs>().index)] = 1;
  Elements result;
  walk(op.shape.dims, 0, steps, [&](std::int64_t position) {
    result.push_back(as_type(static_cast<double>(position), op.shape.dtype));
  });
  return result;
}

Elements transpose(const Op& op, const Value& operand) {
  const Dims strides = row_major_strides(operand.shape->dims);
  Dims steps;
  for (const std::int64_t dim : op.dimensions) steps.push_back(strides[at(dim)]);
  return read(op.shape.dims, 0, steps, *operand.elements);
}

// Strides in the dense buffer described by the layout.
Dims physical_strides(const Shape& shape) {
  if (!shape.layout) return row_major_strides(shape.dims);
  Dims strides(shape.dims.size(), 0);
  std::int64_t next = 1;
  for (const std::int64_t dim : shape.layout->minor_to_major) {
    strides[at(dim)] = next;
    next *= shape.dims[at(dim)];
  }
  return strides;
}

// The same buffer with another shape and layout.
Elements bitcast(const Op& op, const Value& operand) {
  Elements buffer(operand.elements->size());
  write(operand.shape->dims, 0, physical_strides(*operand.shape), *operand.elements, buffer);
  return read(op.shape.dims, 0, physical_strides(op.shape), buffer);
}

Elements slice(const Op& op, const Value& operand) {
  const Dims strides = row_major_strides(operand.shape->dims);
  Dims steps;
  std::int64_t base = 0;
  const auto& ranges = op.as<SliceAttrs>().dims;
  for (std::size_t d = 0; d < ranges.size(); ++d) {
    base += ranges[d].start * strides[d];
    steps.push_back(ranges[d].stride * strides[d]);
  }
  return read(op.shape.dims, base, steps, *operand.elements);
}

Elements reverse(const Op& op, const Value& operand) {
  Dims steps = row_major_strides(op.shape.dims);
  std::int64_t base = 0;
  for (const std::int64_t dim : op.dimensions) {
    base += (op.shape.dims[at(dim)] - 1) * steps[at(dim)];
    steps[at(dim)] = -steps[at(dim)];
  }
  return read(op.shape.dims, base, steps, *operand.elements);
}

// Operand positions removed by negative padding are skipped.
Elements pad(const Op& op, const Value& operand, const Value& padding) {
  const Dims& sizes = operand.shape->dims;
  const Dims from = row_major_strides(sizes), to = row_major_strides(op.shape.dims);
  Dims kept, read_steps, write_steps;
  std::int64_t first_read = 0, first_write = 0;
  const auto& edges = op.as<PadAttrs>().dims;
  for (std::size_t d = 0; d < edges.size(); ++d) {
    const std::int64_t step = edges[d].interior + 1;
    const std::int64_t cut = edges[d].low < 0 ? (-edges[d].low + step - 1) / step : 0;
    const std::int64_t start = edges[d].low + cut * step;
    const std::int64_t room = std::max<std::int64_t>(op.shape.dims[d] - start, 0);
    kept.push_back(std::clamp<std::int64_t>((room + step - 1) / step, 0,
                                            std::max<std::int64_t>(sizes[d] - cut, 0)));
    read_steps.push_back(from[d]);
    write_steps.push_back(step * to[d]);
    first_read += cut * from[d];
    first_write += start * to[d];
  }
  Elements result(at(element_count(op.shape)), padding[0]);
  write(kept, first_write, write_steps, read(kept, first_read, read_steps, *operand.elements),
        result);
  return result;
}

Elements concatenate(const Op& op, Values operands) {
  const Dims steps = row_major_strides(op.shape.dims);
  const std::size_t dim = at(op.dimensions[0]);
  Elements result(at(element_count(op.shape)));
  std::int64_t base = 0;
  for (const Value& operand : operands) {
    write(operand.shape->dims, base, steps, *operand.elements, result);
    base += operand.shape->dims[dim] * steps[dim];
  }
  return result;
}

// The start of a dynamic slice of `sizes`, clamped to the bounds; indices are scalars or one
// vector.
std::int64_t dynamic_start(const Dims& dims, const Dims& sizes, Values indices) {
  const Dims strides = row_major_strides(dims);
  std::int64_t base = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const bool vector = !indices[0].shape->is_scalar();
    const double wanted = vector ? indices[0][static_cast<std::int64_t>(d)] : indices[d][0];
    const auto last = static_cast<double>(dims[d] - sizes[d]);
    base += static_cast<std::int64_t>(std::clamp(wanted, 0.0, last)) * strides[d];
  }
  return base;
}

Elements dynamic_slice(const Op& op, Values operands) {
  const Dims& dims = operands[0].shape->dims;
  const std::int64_t base = dynamic_start(dims, op.shape.dims, operands.subspan(1));
  return read(op.shape.dims, base, row_major_strides(dims), *operands[0].elements);
}

Elements dynamic_update_slice(const Op& op, Values operands) {
  const Dims& dims = op.shape.dims;
  const Value& update = operands[1];
  const std::int64_t base = dynamic_start(dims, update.shape->dims, operands.subspan(2));
  Elements result = *operands[0].elements;
  write(update.shape->dims, base, row_major_strides(dims), *update.elements, result);
  return result;
}

bool contains(const Dims& dims, std::int64_t value) {
  return std::find(dims.begin(), dims.end(), value) != dims.end();
}

// Result dimensions are those of the indices without the index vector (batch) and, at offset_dims,
// those of the slice that are neither collapsed nor batching.
class Gather {
 public:
  Gather(const Op& op, Values operands)
      : attrs_(op.as<GatherAttrs>()), op_(op), operand_(operands[0]), indices_(operands[1]) {
    operand_strides_ = row_major_strides(operand_.shape->dims);
    index_strides_ = row_major_strides(indices_.shape->dims);
    const auto rank = static_cast<std::int64_t>(op.shape.dims.size());
    for (std::int64_t d = 0; d < rank; ++d) {
      if (!contains(attrs_.offset_dims, d)) batch_dims_.push_back(d);
    }
    for (std::int64_t d = 0; d < static_cast<std::int64_t>(attrs_.slice_sizes.size()); ++d) {
      const bool dropped =
          contains(attrs_.collapsed_slice_dims, d) || contains(attrs_.operand_batching_dims, d);
      if (!dropped) window_dims_.push_back(d);
    }
  }

  Elements run() const {
    Dims batch_sizes, window_sizes, batch_steps, window_steps;
    const Dims strides = row_major_strides(op_.shape.dims);
    for (const std::int64_t d : batch_dims_) {
      batch_sizes.push_back(op_.shape.dims[at(d)]);
      batch_steps.push_back(strides[at(d)]);
    }
    Dims read_steps;
    for (std::size_t i = 0; i < window_dims_.size(); ++i) {
      window_sizes.push_back(attrs_.slice_sizes[at(window_dims_[i])]);
      window_steps.push_back(strides[at(attrs_.offset_dims[i])]);
      read_steps.push_back(operand_strides_[at(window_dims_[i])]);
    }
    Elements result(at(element_count(op_.shape)));
    std::int64_t flat = 0;  // index in the batch, row-major
    walk(batch_sizes, 0, batch_steps, [&](std::int64_t position) {
      const std::int64_t start = slice_start(index_of(flat++, batch_sizes));
      write(window_sizes, position, window_steps,
            read(window_sizes, start, read_steps, *operand_.elements), result);
    });
    return result;
  }

 private:
  static Dims index_of(std::int64_t flat, const Dims& sizes) {
    Dims index(sizes.size());
    for (std::size_t d = sizes.size(); d > 0; --d) {
      index[d - 1] = flat % sizes[d - 1];
      flat /= sizes[d - 1];
    }
    return index;
  }

  // Dimension `dim` of the indices, counted without the index vector.
  [[nodiscard]] std::size_t batch_position(std::int64_t dim) const {
    return at(dim > attrs_.index_vector_dim ? dim - 1 : dim);
  }

  [[nodiscard]] std::int64_t slice_start(const Dims& batch) const {
    std::int64_t first = 0, step = 0;
    for (std::int64_t d = 0; d < indices_.shape->rank(); ++d) {
      if (d == attrs_.index_vector_dim) {
        step = index_strides_[at(d)];
      } else {
        first += batch[batch_position(d)] * index_strides_[at(d)];
      }
    }
    std::int64_t start = 0;
    for (std::size_t i = 0; i < attrs_.start_index_map.size(); ++i) {
      const std::size_t dim = at(attrs_.start_index_map[i]);
      const double last = static_cast<double>(operand_.shape->dims[dim] - attrs_.slice_sizes[dim]);
      const double wanted = indices_[first + static_cast<std::int64_t>(i) * step];
      start += static_cast<std::int64_t>(std::clamp(wanted, 0.0, last)) * operand_strides_[dim];
    }
    for (std::size_t i = 0; i < attrs_.operand_batching_dims.size(); ++i) {
      start += batch[batch_position(attrs_.start_indices_batching_dims[i])] *
               operand_strides_[at(attrs_.operand_batching_dims[i])];
    }
    return start;
  }

  const GatherAttrs& attrs_;
  const Op& op_;
  const Value& operand_;
  const Value& indices_;
  Dims operand_strides_, index_strides_, batch_dims_, window_dims_;
};

}  // namespace

Dims row_major_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t d = dims.size(); d > 1; --d) strides[d - 2] = strides[d - 1] * dims[d - 1];
  return strides;
}

Elements movement(const Op& op, Values operands) {
  switch (op.opcode) {
    case Opcode::kBroadcast:
      return broadcast(op, operands[0]);
    case Opcode::kIota:
      return iota(op);
    case Opcode::kBitcast:
      return bitcast(op, operands[0]);
    case Opcode::kTranspose:
      return transpose(op, operands[0]);
    case Opcode::kSlice:
      return slice(op, operands[0]);
    case Opcode::kReverse:
      return reverse(op, operands[0]);
    case Opcode::kPad:
      return pad(op, operands[0], operands[1]);
    case Opcode::kConcatenate:
      return concatenate(op, operands);
    case Opcode::kDynamicSlice:
      return dynamic_slice(op, operands);
    case Opcode::kDynamicUpdateSlice:
      return dynamic_update_slice(op, operands);
    case Opcode::kGather:
      return Gather(op, operands).run();
    default:  // reshape, copy and the like: the same elements in the same order
      return *operands[0].elements;
  }
}

}  // namespace tilecast::interpreter
