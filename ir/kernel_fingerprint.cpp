#include "ir/kernel_fingerprint.h"

#include <bit>
#include <string_view>

namespace tilecast::ir {
namespace {

// Two independent multiply-xorshift streams (the finaliser of MurmurHash3, Appleby 2011).
class Hasher {
 public:
  void add(std::uint64_t value) {
    state_[0] = mix(state_[0] ^ value);
    state_[1] = mix(state_[1] + 0x9e3779b97f4a7c15ULL + std::rotl(value, 32));
  }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add(std::string_view text) {
    add(std::uint64_t{text.size()});
    add(std::uint64_t{std::hash<std::string_view>{}(text)});
  }
  void add(const Dims& dims) {
    add(std::uint64_t{dims.size()});
    for (const std::int64_t d : dims) add(static_cast<std::uint64_t>(d));
  }
  [[nodiscard]] Fingerprint result() const { return state_; }

 private:
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33);
  }
  Fingerprint state_ = {0x243f6a8885a308d3ULL, 0x13198a2e03707344ULL};
};

void add_shape(Hasher& hash, const Shape& shape) {
  hash.add(static_cast<std::uint64_t>(shape.dtype));
  hash.add(shape.dims);
  if (shape.layout) {
    hash.add(shape.layout->minor_to_major);
    for (const Dims& tile : shape.layout->tiles) hash.add(tile);
    hash.add(static_cast<std::uint64_t>(shape.layout->memory_space));
    hash.add(static_cast<std::uint64_t>(shape.layout->element_bits));
    hash.add(static_cast<std::uint64_t>(shape.layout->tail_alignment));
  }
  for (const Shape& element : shape.elements) add_shape(hash, element);
}

void add_window(Hasher& hash, const Window& window) {
  for (const WindowDim& dim : window) {
    hash.add(Dims{dim.size, dim.stride, dim.pad_low, dim.pad_high, dim.base_dilation,
                  dim.window_dilation, dim.reversal});
  }
}

void add_conv_dims(Hasher& hash, const ConvDims& dims) {
  hash.add(Dims{dims.input_batch, dims.input_feature, dims.kernel_input_feature,
                dims.kernel_output_feature, dims.output_batch, dims.output_feature});
  hash.add(dims.input_spatial);
  hash.add(dims.kernel_spatial);
  hash.add(dims.output_spatial);
}

// What of an op's attributes can matter to its cost.
struct AttrsHasher {
  Hasher& hash;

  void operator()(const DotAttrs& a) const {
    for (const Dims* dims : {&a.dims.lhs_contracting, &a.dims.rhs_contracting, &a.dims.lhs_batch,
                             &a.dims.rhs_batch, &a.dims.lhs_ragged, &a.dims.rhs_group}) {
      hash.add(*dims);
    }
    for (const std::string& precision : a.precision) hash.add(precision);
    hash.add(a.algorithm);
  }
  void operator()(const ConvAttrs& a) const {
    add_window(hash, a.window);
    add_conv_dims(hash, a.dims);
    hash.add(Dims{a.feature_group_count, a.batch_group_count});
    for (const std::string& precision : a.precision) hash.add(precision);
  }
  void operator()(const WindowAttrs& a) const { add_window(hash, a.window); }
  void operator()(const SliceAttrs& a) const {
    for (const SliceDim& d : a.dims) hash.add(Dims{d.start, d.limit, d.stride});
  }
  void operator()(const PadAttrs& a) const {
    for (const PadDim& d : a.dims) hash.add(Dims{d.low, d.high, d.interior});
  }
  void operator()(const DynamicSliceAttrs& a) const { hash.add(a.sizes); }
  void operator()(const GatherAttrs& a) const {
    for (const Dims* dims :
         {&a.offset_dims, &a.collapsed_slice_dims, &a.start_index_map, &a.slice_sizes,
          &a.operand_batching_dims, &a.start_indices_batching_dims}) {
      hash.add(*dims);
    }
  }
  void operator()(const ScatterAttrs& a) const {
    for (const Dims* dims :
         {&a.update_window_dims, &a.inserted_window_dims, &a.scatter_dims_to_operand_dims,
          &a.input_batching_dims, &a.scatter_indices_batching_dims}) {
      hash.add(*dims);
    }
  }
  void operator()(const CollectiveAttrs& a) const {
    hash.add(a.groups.text);
    hash.add(std::uint64_t{a.source_target_pairs.size()});
    hash.add(std::uint64_t{a.is_host_transfer});
  }
  void operator()(const CustomCallAttrs& a) const { hash.add(a.target); }
  void operator()(const FftAttrs& a) const {
    hash.add(a.type);
    hash.add(a.length);
  }
  void operator()(const BatchNormAttrs& a) const {
    hash.add(static_cast<std::uint64_t>(a.feature_index));
  }
  void operator()(const IndexAttrs& a) const { hash.add(static_cast<std::uint64_t>(a.index)); }
  void operator()(const FusionAttrs& a) const { hash.add(static_cast<std::uint64_t>(a.kind)); }
  template <class Other>  // nothing in it changes the cost: numbers, names, literals, flags
  void operator()(const Other&) const {}
};

void add_op(Hasher& hash, const Op& op) {
  hash.add(static_cast<std::uint64_t>(op.opcode));
  add_shape(hash, op.shape);
  hash.add(std::uint64_t{op.operands.size()});
  for (const OpId operand : op.operands) hash.add(std::uint64_t{operand.value});
  hash.add(op.dimensions);
  hash.add(op.applied_flops);
  hash.add(op.applied_transcendentals);
  std::visit(AttrsHasher{hash}, op.attrs);
}

}  // namespace

Fingerprint fingerprint(const Kernel& kernel) {
  Hasher hash;
  hash.add(static_cast<std::uint64_t>(kernel.opcode()));
  for (const Op& op : kernel.ops()) add_op(hash, op);
  for (const OpId id : kernel.outputs()) hash.add(std::uint64_t{id.value});
  for (const auto& [output, parameter] : kernel.in_place()) {
    hash.add(std::uint64_t{output});
    hash.add(std::uint64_t{parameter});
  }
  hash.add(static_cast<double>(kernel.work().flops));
  hash.add(static_cast<double>(kernel.work().bytes_accessed));
  hash.add(static_cast<std::uint64_t>(kernel.group_size()));
  if (const auto& tile = kernel.compiler_tile()) {
    for (const Dims* bounds : {&tile->kernel_bounds, &tile->output_bounds, &tile->input_bounds}) {
      hash.add(*bounds);
    }
  }
  if (const auto& cost = kernel.custom_call_cost()) {
    hash.add(cost->flops);
    hash.add(cost->transcendentals);
    hash.add(cost->bytes_accessed);
  }
  return hash.result();
}

}  // namespace tilecast::ir
