// The attributes that belong to the opcode, in the order of XLA's printer.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "ir/text/hlo_lexer.h"
#include "ir/text/hlo_printer.h"
#include "ir/text/print_attributes.h"

namespace tilecast::ir {
namespace {

// Kept as raw text, but printed after the attributes of the opcode.
constexpr std::array<std::string_view, 6> kCommonKeys = {
    "is_composite", "sharding", "frontend_attributes", "statistics", "result_accuracy", "origin"};

bool is_common(std::string_view key) {
  return std::find(kCommonKeys.begin(), kCommonKeys.end(), key) != kCommonKeys.end();
}

std::string list(const Dims& values) {
  return fmt::format("{{{}}}", fmt::join(values, ","));
}

// The comparison that operands of this type get when none is written.
std::string_view default_comparison(DType dtype) {
  if (is_signed_integer(dtype)) return "SIGNED";
  if (is_unsigned_integer(dtype) || dtype == DType::kPred) return "UNSIGNED";
  return "FLOAT";
}

std::string slices(const std::vector<SliceDim>& dims) {
  const bool has_stride =
      std::any_of(dims.begin(), dims.end(), [](const SliceDim& dim) { return dim.stride != 1; });
  std::string text = "{";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += fmt::format("[{}:{}", dims[i].start, dims[i].limit);
    if (has_stride) text += fmt::format(":{}", dims[i].stride);
    text += ']';
  }
  return text + '}';
}

// Writes the attributes that belong to the opcode. One call operator per kind of attributes.
class OpcodeAttributes {
 public:
  OpcodeAttributes(std::string& out, const Computation& computation, const Instruction& instruction)
      : out_(out),
        computation_(computation),
        instruction_(instruction),
        written_(instruction.raw->size(), false) {}

  void write() {
    // Collectives place theirs between other attributes.
    if (instruction_.get<CollectiveAttrs>() == nullptr && prints_dimensions()) {
      put("dimensions", list(instruction_.dimensions));
    }
    instruction_.attrs.visit(*this);
    for (const std::string_view key : raw_order(instruction_.opcode)) raw(key);
    put_aliasing();
    for (const RawAttr& attr : *instruction_.raw) {
      if (!is_common(attr.key)) raw(attr.key);
    }
  }

  void operator()(const std::monostate&) {}
  void operator()(const ConstantAttrs&) {}
  void operator()(const ParameterAttrs& attrs) {
    if (!attrs.replication.empty()) put("parameter_replication", attrs.replication);
  }
  void operator()(const IndexAttrs& attrs) {
    const Opcode opcode = instruction_.opcode;
    put(opcode == Opcode::kIota   ? "iota_dimension"
        : opcode == Opcode::kTopK ? "k"
                                  : "index",
        attrs.index);
  }
  void operator()(const DotAttrs& attrs) {
    const DotDims& dims = attrs.dims;
    if (!dims.lhs_batch.empty()) put("lhs_batch_dims", list(dims.lhs_batch));
    put("lhs_contracting_dims", list(dims.lhs_contracting));
    if (!dims.rhs_batch.empty()) put("rhs_batch_dims", list(dims.rhs_batch));
    put("rhs_contracting_dims", list(dims.rhs_contracting));
    if (instruction_.opcode == Opcode::kRaggedDot) {
      put("lhs_ragged_dims", list(dims.lhs_ragged));
      if (!dims.rhs_group.empty()) put("rhs_group_dims", list(dims.rhs_group));
    }
    put_precision(attrs.precision);
    if (!attrs.algorithm.empty()) put("algorithm", attrs.algorithm);
  }
  void operator()(const ConvAttrs& attrs) {
    put_window(attrs.window);
    put("dim_labels", attrs.dims.text);
    put_group_counts(attrs.feature_group_count, attrs.batch_group_count);
    put_precision(attrs.precision);
  }
  void operator()(const WindowAttrs& attrs) { put_window(attrs.window); }
  void operator()(const SliceAttrs& attrs) { put("slice", slices(attrs.dims)); }
  void operator()(const PadAttrs& attrs) { put("padding", to_string(attrs.dims)); }
  void operator()(const DynamicSliceAttrs& attrs) { put("dynamic_slice_sizes", list(attrs.sizes)); }
  void operator()(const GatherAttrs& attrs) {
    put("offset_dims", list(attrs.offset_dims));
    put("collapsed_slice_dims", list(attrs.collapsed_slice_dims));
    put("start_index_map", list(attrs.start_index_map));
    put_unless_empty("operand_batching_dims", attrs.operand_batching_dims);
    put_unless_empty("start_indices_batching_dims", attrs.start_indices_batching_dims);
    put("index_vector_dim", attrs.index_vector_dim);
    put("slice_sizes", list(attrs.slice_sizes));
  }
  void operator()(const ScatterAttrs& attrs) {
    put("update_window_dims", list(attrs.update_window_dims));
    put("inserted_window_dims", list(attrs.inserted_window_dims));
    put("scatter_dims_to_operand_dims", list(attrs.scatter_dims_to_operand_dims));
    put_unless_empty("input_batching_dims", attrs.input_batching_dims);
    put_unless_empty("scatter_indices_batching_dims", attrs.scatter_indices_batching_dims);
    put("index_vector_dim", attrs.index_vector_dim);
  }
  void operator()(const CompareAttrs& attrs) {
    put("direction", attrs.direction);
    if (attrs.type.empty() || instruction_.operands.empty()) return;
    const DType dtype = computation_.at(instruction_.operands.front()).shape.dtype;
    if (attrs.type != default_comparison(dtype)) put("type", attrs.type);
  }
  void operator()(const FusionAttrs& attrs) {
    constexpr std::array<std::string_view, 4> kKinds = {"kLoop", "kInput", "kOutput", "kCustom"};
    put("kind", kKinds[static_cast<std::size_t>(attrs.kind)]);
  }
  void operator()(const CollectiveAttrs& attrs);
  void operator()(const CustomCallAttrs& attrs) {
    put_window(attrs.window);
    if (attrs.dims) put("dim_labels", attrs.dims->text);
    put_group_counts(attrs.feature_group_count, attrs.batch_group_count);
    raw("operand_precision");
    raw("padding_type");
    put("custom_call_target", fmt::format("\"{}\"", escape(attrs.target)));
    raw("operand_layout_constraints");
    if (attrs.has_side_effect) put("custom_call_has_side_effect", "true");
  }
  void operator()(const FftAttrs& attrs) {
    put("fft_type", attrs.type);
    put("fft_length", list(attrs.length));
  }
  void operator()(const TriangularAttrs& attrs) {
    if (attrs.left_side) put("left_side", "true");
    if (attrs.lower) put("lower", "true");
    if (attrs.unit_diagonal) put("unit_diagonal", "true");
    if (instruction_.opcode != Opcode::kTriangularSolve) return;
    put("transpose_a", attrs.transpose_a.empty() ? "NO_TRANSPOSE" : attrs.transpose_a);
  }
  void operator()(const BatchNormAttrs& attrs) {
    put("epsilon", fmt::format("{:g}", attrs.epsilon));
    put("feature_index", attrs.feature_index);
  }
  void operator()(const AsyncAttrs& attrs) {
    if (instruction_.opcode != Opcode::kAsyncStart) return;
    if (attrs.execution_thread.empty() || attrs.execution_thread == "main") return;
    put("async_execution_thread", fmt::format("\"{}\"", attrs.execution_thread));
  }

 private:
  // Opcodes whose attributes are raw and must not come in the order they were written.
  static std::vector<std::string_view> raw_order(Opcode opcode) {
    using enum Opcode;
    if (opcode == kReducePrecision) return {"exponent_bits", "mantissa_bits"};
    if (opcode == kScan) return {"num_carries", "is_reverse", "is_associative"};
    if (opcode == kOutfeed) return {"outfeed_shape", "outfeed_config"};
    if (is_one_of(opcode, {kGather, kScatter})) return {"indices_are_sorted", "unique_indices"};
    if (opcode == kTriangularSolve) return {"left_side", "lower", "unit_diagonal", "transpose_a"};
    if (opcode == kCustomCall) return {"literal", "schedule", "api_version"};
    return {};
  }

  [[nodiscard]] bool prints_dimensions() const {
    using enum Opcode;
    return !instruction_.dimensions.empty() ||
           is_one_of(instruction_.opcode,
                     {kBroadcast, kTranspose, kReverse, kConcatenate, kReduce, kSort, kMap, kScan,
                      kGetDimensionSize, kSetDimensionSize});
  }

  void put(std::string_view key, std::string_view value) {
    out_ += ", ";
    out_ += key;
    out_ += '=';
    out_ += value;
  }
  void put(std::string_view key, std::int64_t value) {
    const fmt::format_int digits(value);
    put(key, std::string_view(digits.data(), digits.size()));
  }
  void put_unless_empty(std::string_view key, const Dims& values) {
    if (!values.empty()) put(key, list(values));
  }
  void put_window(const Window& window) {
    if (!window.empty()) put("window", to_string(window));
  }
  void put_group_counts(std::int64_t feature_group_count, std::int64_t batch_group_count) {
    if (feature_group_count != 1) put("feature_group_count", feature_group_count);
    if (batch_group_count != 1) put("batch_group_count", batch_group_count);
  }
  void put_precision(const std::vector<std::string>& precision) {
    const bool all_default = std::all_of(precision.begin(), precision.end(),
                                         [](const std::string& p) { return p == "default"; });
    if (!all_default) {
      put("operand_precision", fmt::format("{{{}}}", fmt::join(precision, ",")));
    }
  }
  void put_aliasing() {
    if (instruction_.aliasing->empty()) return;
    out_ += ", output_to_operand_aliasing={";
    append_aliases(out_, *instruction_.aliasing, /*with_kind=*/false);
    out_ += '}';
  }
  void put_collective_pairs(const CollectiveAttrs& attrs);
  // Prints the raw attribute `key` if there is one that was not printed yet.
  void raw(std::string_view key) {
    for (std::size_t i = 0; i < written_.size(); ++i) {
      const RawAttr& attr = (*instruction_.raw)[i];
      if (written_[i] || attr.key != key) continue;
      written_[i] = true;
      put(key, attr.value);
    }
  }

  std::string& out_;
  const Computation& computation_;
  const Instruction& instruction_;
  std::vector<bool> written_;
};

void OpcodeAttributes::put_collective_pairs(const CollectiveAttrs& attrs) {
  std::string pairs = "{";
  for (const auto& [source, target] : attrs.source_target_pairs) {
    if (pairs.size() > 1) pairs += ',';
    pairs += fmt::format("{{{},{}}}", source, target);
  }
  put("source_target_pairs", pairs + '}');
  raw("slice_sizes");
}

void OpcodeAttributes::operator()(const CollectiveAttrs& attrs) {
  if (attrs.channel_id != 0) put("channel_id", attrs.channel_id);
  using enum Opcode;
  if (is_one_of(instruction_.opcode, {kSend, kSendDone, kRecv, kRecvDone})) {
    if (attrs.is_host_transfer) put("is_host_transfer", "true");
    return;
  }
  if (is_one_of(instruction_.opcode, {kCollectivePermute, kCollectivePermuteStart})) {
    return put_collective_pairs(attrs);
  }
  put("replica_groups", to_string(attrs.groups));
  if (attrs.constrain_layout) put("constrain_layout", "true");
  const bool scatters = instruction_.opcode == Opcode::kReduceScatter;
  if (!scatters) put_unless_empty("dimensions", instruction_.dimensions);
  if (attrs.use_global_device_ids) put("use_global_device_ids", "true");
  if (scatters) put_unless_empty("dimensions", instruction_.dimensions);
}

}  // namespace

void append_opcode_attributes(std::string& out, const Computation& computation,
                              const Instruction& instruction) {
  OpcodeAttributes(out, computation, instruction).write();
}

}  // namespace tilecast::ir
