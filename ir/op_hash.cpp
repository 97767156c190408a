#include "ir/op_hash.h"

namespace tilecast::ir {
namespace {

// Adds values of every kind that attributes have, in the order given: stored hashes depend on it.
struct Adding {
  Hash128& hash;

  template <class... Values>
  void add(const Values&... values) const {
    (one(values), ...);
  }

 private:
  void one(const Window& window) const {
    add(window.size());
    for (const WindowDim& dim : window) {
      add(Dims{dim.size, dim.stride, dim.pad_low, dim.pad_high, dim.base_dilation,
               dim.window_dilation, dim.reversal});
    }
  }
  void one(const ConvDims& dims) const {
    add(Dims{dims.input_batch, dims.input_feature, dims.kernel_input_feature,
             dims.kernel_output_feature, dims.output_batch, dims.output_feature},
        dims.input_spatial, dims.kernel_spatial, dims.output_spatial);
  }
  void one(const std::vector<std::string>& precision) const {  // a missing one equals "default"
    for (std::size_t i = 0; i < precision.size(); ++i) {
      if (precision[i] != "default") add(i, precision[i]);
    }
  }
  template <class Value>
  void one(const Value& value) const {
    if constexpr (std::is_integral_v<Value> || std::is_enum_v<Value>) {
      hash.add(static_cast<std::uint64_t>(value));
    } else {
      hash.add(value);
    }
  }
};

struct CostAttributes : Adding {
  void operator()(const DotAttrs& a) const {
    add(a.dims.lhs_contracting, a.dims.rhs_contracting, a.dims.lhs_batch, a.dims.rhs_batch,
        a.dims.lhs_ragged, a.dims.rhs_group, a.precision, a.algorithm);
  }
  void operator()(const ConvAttrs& a) const {
    add(a.window, a.dims, Dims{a.feature_group_count, a.batch_group_count}, a.precision);
  }
  void operator()(const WindowAttrs& a) const { add(a.window); }
  void operator()(const SliceAttrs& a) const {
    for (const SliceDim& d : a.dims) add(Dims{d.start, d.limit, d.stride});
  }
  void operator()(const PadAttrs& a) const {
    for (const PadDim& d : a.dims) add(Dims{d.low, d.high, d.interior});
  }
  void operator()(const DynamicSliceAttrs& a) const { add(a.sizes); }
  void operator()(const GatherAttrs& a) const {
    add(a.offset_dims, a.collapsed_slice_dims, a.start_index_map, a.slice_sizes,
        a.operand_batching_dims, a.start_indices_batching_dims);
  }
  void operator()(const ScatterAttrs& a) const {
    add(a.update_window_dims, a.inserted_window_dims, a.scatter_dims_to_operand_dims,
        a.input_batching_dims, a.scatter_indices_batching_dims);
  }
  void operator()(const CollectiveAttrs& a) const {
    add(a.groups.text, a.source_target_pairs.size(), a.is_host_transfer, a.slices, a.over_slices);
  }
  void operator()(const CustomCallAttrs& a) const { add(a.target); }
  void operator()(const FftAttrs& a) const { add(a.type, a.length); }
  void operator()(const BatchNormAttrs& a) const { add(a.feature_index); }
  void operator()(const IndexAttrs& a) const { add(a.index); }
  void operator()(const FusionAttrs& a) const { add(a.kind); }
  template <class Other>  // does not affect the cost: numbers, names, literals, flags
  void operator()(const Other&) const {}
};

struct ValueAttributes : Adding {
  void operator()(const ConstantAttrs& a) const {
    add(a.literal.elided, a.literal.text, a.literal.integers.size());
    for (const std::int64_t value : a.literal.integers) add(value);
  }
  void operator()(const CompareAttrs& a) const { add(a.direction, a.type); }
  void operator()(const GatherAttrs& a) const { add(a.index_vector_dim); }
  void operator()(const ScatterAttrs& a) const { add(a.index_vector_dim); }
  void operator()(const CollectiveAttrs& a) const {
    for (const auto& [source, target] : a.source_target_pairs) add(Dims{source, target});
  }
  void operator()(const CustomCallAttrs& a) const {
    add(a.window);
    if (a.dims) add(*a.dims);
    add(Dims{a.feature_group_count, a.batch_group_count, a.has_side_effect});
  }
  void operator()(const TriangularAttrs& a) const {
    add(Dims{a.left_side, a.lower, a.unit_diagonal}, a.transpose_a);
  }
  void operator()(const BatchNormAttrs& a) const { add(a.epsilon); }
  template <class Other>  // everything relevant is in CostAttributes
  void operator()(const Other&) const {}
};

}  // namespace

// Hashes eight characters at a time, the first in the lowest bits on every machine.
void Hash128::add(std::string_view text) {
  add(std::uint64_t{text.size()});
  for (std::size_t begin = 0; begin < text.size(); begin += 8) {
    std::uint64_t word = 0;
    for (std::size_t i = begin; i < text.size() && i < begin + 8; ++i) {
      word |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * (i - begin));
    }
    add(word);
  }
}

void add_shape(Hash128& hash, const Shape& shape) {
  hash.add(name(shape.dtype));
  hash.add(shape.dims);
  hash.add(std::uint64_t{shape.dynamic_mask} << 1 | std::uint64_t{shape.has_layout()});
  if (shape.layout) {
    hash.add(shape.layout->minor_to_major);
    hash.add(std::uint64_t{shape.layout->tiles.size()});
    for (const Dims& tile : shape.layout->tiles) hash.add(tile);
    hash.add(Dims{shape.layout->memory_space, shape.layout->element_bits,
                  shape.layout->tail_alignment, shape.layout->dynamic_prefix_bytes});
    if (shape.layout->cache > 0) hash.add(std::uint64_t(shape.layout->cache));
    hash.add(shape.layout->split_config);
    hash.add(shape.layout->other);
  }
  hash.add(std::uint64_t{shape.elements.size()});
  for (const Shape& element : shape.elements) add_shape(hash, element);
}

void add_cost_attributes(Hash128& hash, const OpAttrs& attrs) {
  attrs.visit(CostAttributes{{hash}});
}

void add_value_attributes(Hash128& hash, const OpAttrs& attrs) {
  attrs.visit(ValueAttributes{{hash}});
}

}  // namespace tilecast::ir
