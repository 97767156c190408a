// Converts the attributes of an instruction in an HLO proto to text. The attributes of each opcode
// are listed in ir/ops/op_table.cpp; the table here maps them to fields of the proto.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "ir/hlo_attributes.h"
#include "ir/ops/op_row.h"
#include "ir/proto/proto_text.h"
#include "ir/text/hlo_printer.h"

namespace tilecast::ir::proto_text {
namespace {

struct Site {
  const hlo_proto::Instruction& proto;
  Opcode opcode;
  bool required;  // the attribute is written even if empty
  const Names& names;
};

std::string number(std::int64_t value) {
  return std::to_string(value);
}
std::string count(std::int64_t value) {
  return value > 0 ? number(value) : std::string();
}
std::string flag(bool value) {
  return value ? "true" : "";
}

const std::string& name_of(const std::unordered_map<std::int64_t, std::string>& names,
                           std::int64_t id, std::string_view what) {
  const auto found = names.find(id);
  if (found == names.end()) throw Error(fmt::format("there is no {} with id {}", what, id));
  return found->second;
}

std::string name_list(const Site& at, const std::unordered_map<std::int64_t, std::string>& names,
                      const Numbers& ids, std::string_view what) {
  if (ids.empty() && !at.required) return {};
  std::string text;
  for (const std::int64_t id : ids) text += (text.empty() ? "%" : ", %") + name_of(names, id, what);
  return "{" + text + "}";
}

// A list in braces, without spaces after the commas.
template <class Items, class Print>
std::string group(const Items& items, Print&& print, std::string_view separator = ",") {
  std::string text;
  for (const auto& item : items) {
    text += text.empty() ? std::string_view() : separator;
    text += print(item);
  }
  return "{" + text + "}";
}

// `b01f`: letters at their dimensions, digits at the spatial ones, `?` elsewhere.
std::string labels(std::string_view letters, std::int64_t first, std::int64_t second,
                   const Numbers& spatial) {
  constexpr std::int64_t kMostDims = 10;  // one digit each
  std::string text;
  const auto put = [&text](std::int64_t dim, char label) {
    if (dim < 0 || dim >= kMostDims) fail_unknown("dimension of a convolution", dim);
    text.resize(std::max(text.size(), static_cast<std::size_t>(dim) + 1), '?');
    text[static_cast<std::size_t>(dim)] = label;
  };
  put(first, letters[0]);
  put(second, letters[1]);
  for (int i = 0; i < std::min<int>(spatial.size(), kMostDims); ++i) {
    put(spatial.Get(i), static_cast<char>('0' + i));
  }
  return text;
}

using Origins = std::map<Dims, const hlo_proto::OriginalElement*>;

std::string original_array(const hlo_proto::OriginalElement& element) {
  constexpr char kNameTag = '\x0a';  // first byte of an OriginalArray
  hlo_proto::OriginalArray array;
  const std::string& bytes = element.original_array();
  if (!bytes.starts_with(kNameTag) || !array.ParseFromString(bytes)) {
    array.set_instruction_name(bytes);
    *array.mutable_shape_index() = element.original_shape_index();
  }
  if (array.instruction_name().empty()) return {};
  return quoted_text(array.instruction_name()) +
         (array.shape_index().empty() ? "" : " " + list(array.shape_index()));
}

void append_origin(std::string& out, const Shape& shape, const Origins& origins, Dims& path) {
  if (!shape.is_tuple()) {
    const auto found = origins.find(path);
    out += "{" + (found == origins.end() ? std::string() : original_array(*found->second)) + "}";
    return;
  }
  out += '(';
  path.push_back(0);
  for (const Shape& element : shape.elements) {
    if (path.back() > 0) out += ", ";
    append_origin(out, element, origins, path);
    ++path.back();
  }
  path.pop_back();
  out += ')';
}

// `{({"a"}, {"b" {1}})}`: the array before optimisation that each leaf of the result corresponds
// to.
std::string origin(const Site& at) {
  if (at.proto.original_value().elements().empty()) return {};
  Origins origins;
  for (const hlo_proto::OriginalElement& element : at.proto.original_value().elements()) {
    origins.emplace(Dims(element.shape_index().begin(), element.shape_index().end()), &element);
  }
  std::string text = "{";
  Dims path;
  append_origin(text, shape_of(at.proto.shape()), origins, path);
  return text + "}";
}

std::string numbers(const Site& at, const Numbers& values) {
  return values.empty() && !at.required ? std::string() : list(values);
}

std::string callee(const Site& at, int index) {
  if (index >= at.proto.called_computation_ids_size()) return {};
  return "%" +
         name_of(at.names.computations, at.proto.called_computation_ids(index), "computation");
}

std::string callees(const Site& at) {
  return name_list(at, at.names.computations, at.proto.called_computation_ids(), "computation");
}

std::string control_predecessors(const Site& at) {
  return name_list(at, at.names.instructions, at.proto.control_predecessor_ids(), "instruction");
}

std::string first_dimension(const Site& at) {
  return at.proto.dimensions().empty() ? std::string() : number(at.proto.dimensions(0));
}

std::string literal_with_shape(const Site& at) {
  if (!at.proto.has_literal()) return {};
  return to_string(shape_of(at.proto.literal().shape())) + " " + literal(at.proto.literal());
}

const hlo_proto::DotDimensions& dot_dims(const Site& at) {
  return at.opcode == Opcode::kRaggedDot
             ? at.proto.ragged_dot_dimension_numbers().dot_dimension_numbers()
             : at.proto.dot_dimension_numbers();
}

std::string window(const Site& at) {
  Window dims;
  const auto or_one = [](std::int64_t value) { return value == 0 ? 1 : value; };
  for (const hlo_proto::WindowDimension& dim : at.proto.window().dimensions()) {
    dims.push_back({dim.size(), or_one(dim.stride()), dim.padding_low(), dim.padding_high(),
                    or_one(dim.base_dilation()), or_one(dim.window_dilation()),
                    dim.window_reversal()});
  }
  return dims.empty() ? std::string() : to_string(dims);
}

std::string dim_labels(const Site& at) {
  if (!at.proto.has_convolution_dimension_numbers()) return {};
  const hlo_proto::ConvolutionDimensions& dims = at.proto.convolution_dimension_numbers();
  return labels("bf", dims.input_batch_dimension(), dims.input_feature_dimension(),
                dims.input_spatial_dimensions()) +
         "_" +
         labels("io", dims.kernel_input_feature_dimension(), dims.kernel_output_feature_dimension(),
                dims.kernel_spatial_dimensions()) +
         "->" +
         labels("bf", dims.output_batch_dimension(), dims.output_feature_dimension(),
                dims.output_spatial_dimensions());
}

std::string padding(const Site& at) {
  std::vector<PadDim> dims;
  for (const hlo_proto::PaddingDimension& dim : at.proto.padding_config().dimensions()) {
    dims.push_back({dim.edge_padding_low(), dim.edge_padding_high(), dim.interior_padding()});
  }
  return dims.empty() ? "\"\"" : to_string(dims);
}

std::string slices(const Site& at) {
  return group(
      at.proto.slice_dimensions(),
      [](const hlo_proto::SliceDimension& dim) {
        return fmt::format("[{}:{}:{}]", dim.start(), dim.limit(), dim.stride());
      },
      ", ");
}

std::string precision(const Site& at) {
  constexpr std::array<std::string_view, 4> kWords = {"default", "high", "highest",
                                                      "packed_nibble"};
  const auto& values = at.proto.precision_config().operand_precision();
  if (std::all_of(values.begin(), values.end(), [](std::int32_t value) { return value == 0; })) {
    return {};
  }
  return group(values, [&](std::int32_t value) { return word(kWords, value, "precision"); });
}

std::string algorithm(const Site& at) {
  constexpr std::array<std::string_view, 3> kRandom = {"rng_default", "rng_three_fry",
                                                       "rng_philox"};
  constexpr std::array<std::string_view, 14> kDot = {"",
                                                     "dot_any_f8_any_f8_f32",
                                                     "dot_any_f8_any_f8_f32_fast_accum",
                                                     "dot_f16_f16_f16",
                                                     "dot_f16_f16_f32",
                                                     "dot_bf16_bf16_bf16",
                                                     "dot_bf16_bf16_f32",
                                                     "dot_bf16_bf16_f32_x3",
                                                     "dot_bf16_bf16_f32_x6",
                                                     "dot_tf32_tf32_f32",
                                                     "dot_tf32_tf32_f32_x3",
                                                     "dot_f32_f32_f32",
                                                     "dot_f64_f64_f64",
                                                     "dot_bf16_bf16_f32_x9"};
  if (at.opcode == Opcode::kRngBitGenerator) {
    return word(kRandom, at.proto.rng_algorithm(), "random algorithm");
  }
  return word(kDot, at.proto.precision_config().algorithm(), "dot algorithm");
}

std::string replica_groups(const Site& at) {
  const hlo_proto::CollectiveDevices& devices = at.proto.collective_device_list();
  if (!devices.unknown_fields().empty()) {
    throw Error("its replica groups are in a form that is not known; expected lists or iota");
  }
  if (devices.has_iota_replica_group_list()) {
    const hlo_proto::IotaReplicaGroups& groups = devices.iota_replica_group_list();
    return fmt::format("[{},{}]", groups.num_replica_groups(), groups.num_devices_per_group()) +
           iota(groups.iota_reshape_dims(), groups.iota_transpose_perm());
  }
  const auto& groups =
      devices.replica_groups().empty() ? at.proto.replica_groups() : devices.replica_groups();
  return group(groups, [](const hlo_proto::ReplicaGroup& g) { return list(g.replica_ids()); });
}

std::string source_target_pairs(const Site& at) {
  return group(at.proto.source_target_pairs(), [](const hlo_proto::SourceTarget& pair) {
    return fmt::format("{{{},{}}}", pair.source(), pair.target());
  });
}

std::string aliasing(const Site& at) {
  if (at.proto.output_operand_aliasing().empty()) return {};
  return group(
      at.proto.output_operand_aliasing(),
      [](const hlo_proto::OutputOperandAlias& alias) {
        return fmt::format("{}: ({}, {})", list(alias.output_shape_index()), alias.operand_index(),
                           list(alias.operand_shape_index()));
      },
      ", ");
}

std::string operand_layouts(const Site& at) {
  if (!at.proto.constrain_layout()) return {};
  return group(
      at.proto.operand_shapes_with_layout(),
      [](const hlo_proto::Shape& shape) { return to_string(shape_of(shape)); }, ", ");
}

std::string result_accuracy(const Site& at) {
  const hlo_proto::ResultAccuracy& accuracy = at.proto.result_accuracy();
  if (!accuracy.has_tolerance()) return accuracy.mode() == 1 ? "{mode=highest}" : "";
  const hlo_proto::Tolerance& tolerance = accuracy.tolerance();
  return fmt::format("{{tolerance={{atol={:g},rtol={:g},ulps={}}}}}", tolerance.atol(),
                     tolerance.rtol(), tolerance.ulps());
}

std::string statistics(const Site& at) {
  const hlo_proto::Statistics& viz = at.proto.statistics_viz();
  if (viz.statistics().empty()) return {};
  std::string text = fmt::format("{{visualizing_index={}", viz.stat_index_to_visualize());
  for (const hlo_proto::Statistic& item : viz.statistics()) {
    text += fmt::format(",{}={:g}", item.stat_name(), item.stat_val());
  }
  return text + "}";
}

std::string replication(const Site& at) {
  const auto& leaves = at.proto.parameter_replication().replicated_at_leaf_buffers();
  if (leaves.empty()) return {};
  return group(leaves, [](bool leaf) { return leaf ? "true" : "false"; });
}

// One list of sizes per slice, each with as many entries as the operand has dimensions.
std::string permute_slices(const Site& at) {
  const Numbers& sizes = at.proto.dynamic_slice_sizes();
  if (sizes.empty()) return {};
  const Shape result = shape_of(at.proto.shape());
  const Shape& slice = result.is_tuple() && !result.elements.empty() ? result.elements[0] : result;
  const int rank = std::max(1, slice.rank());
  std::string text;
  for (int i = 0; i < sizes.size(); ++i) {
    text += i % rank != 0 ? "," : i == 0 ? "{" : "},{";
    text += number(sizes.Get(i));
  }
  return "{" + text + "}}";
}

std::string domain(const Site& at) {
  return fmt::format("{{kind=\"sharding\", entry={}, exit={}}}",
                     sharding(at.proto.domain_entry_sharding()),
                     sharding(at.proto.domain_exit_sharding()));
}

// Returns the attribute's value, or "" to omit it.
using Write = std::string (*)(const Site& at);

constexpr std::array<std::string_view, 3> kDistributions = {"", "rng_uniform", "rng_normal"};
constexpr std::array<std::string_view, 4> kFftTypes = {"FFT", "IFFT", "RFFT", "IRFFT"};
constexpr std::array<std::string_view, 4> kTransposes = {"", "NO_TRANSPOSE", "TRANSPOSE",
                                                         "ADJOINT"};
constexpr std::array<std::string_view, 3> kPaddingTypes = {"", "PADDING_VALID", "PADDING_SAME"};
constexpr std::array<std::string_view, 3> kSchedules = {"", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"};
constexpr std::array<std::string_view, 5> kApiVersions = {
    "", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};

const hlo_proto::GatherDimensions& gather(const Site& at) {
  return at.proto.gather_dimension_numbers();
}
const hlo_proto::ScatterDimensions& scatter(const Site& at) {
  return at.proto.scatter_dimension_numbers();
}
const hlo_proto::RaggedDotDimensions& ragged(const Site& at) {
  return at.proto.ragged_dot_dimension_numbers();
}
const hlo_proto::TriangularSolveOptions& triangular(const Site& at) {
  return at.proto.triangular_solve_options();
}
std::string quoted_unless_empty(const std::string& text) {
  return text.empty() ? text : quoted_text(text);
}

// `p` is the proto of the instruction.
#define PROTO_TEXT(value)                                        \
  [](const Site& at) -> std::string {                            \
    [[maybe_unused]] const hlo_proto::Instruction& p = at.proto; \
    return value;                                                \
  }
const std::unordered_map<std::string_view, Write> kWriters = {
    {"algorithm", algorithm},
    {"api_version", PROTO_TEXT(word(kApiVersions, p.custom_call_api_version(), "API version"))},
    {"async_execution_thread", PROTO_TEXT(quoted_unless_empty(p.async_execution_thread()))},
    {"backend_config",
     PROTO_TEXT(p.backend_config().empty() ? "" : dict_or_quoted(p.backend_config()))},
    {"batch_group_count", PROTO_TEXT(count(p.batch_group_count()))},
    {"body", PROTO_TEXT(callee(at, 0))},
    {"branch_computations", callees},
    {"called_computations", callees},
    {"calls", PROTO_TEXT(callee(at, 0))},
    {"channel_id", PROTO_TEXT(count(std::max(p.channel_id(), p.all_reduce_id())))},
    {"collapsed_slice_dims", PROTO_TEXT(numbers(at, gather(at).collapsed_slice_dims()))},
    {"condition", PROTO_TEXT(callee(at, 1))},
    {"constrain_layout", PROTO_TEXT(flag(p.constrain_layout()))},
    {"control-predecessors", control_predecessors},
    {"cross_program_prefetch_index",
     PROTO_TEXT(p.has_cross_program_prefetch_index() || p.is_cross_program_prefetch()
                    ? number(p.cross_program_prefetch_index())
                    : "")},
    {"custom_call_has_side_effect", PROTO_TEXT(flag(p.custom_call_has_side_effect()))},
    {"custom_call_target", PROTO_TEXT(quoted_text(p.custom_call_target()))},
    {"delta", PROTO_TEXT(number(p.delta()))},
    {"dim_labels", dim_labels},
    {"dimensions", PROTO_TEXT(numbers(at, p.dimensions()))},
    {"direction", PROTO_TEXT(p.comparison_direction())},
    {"distribution", PROTO_TEXT(word(kDistributions, p.distribution(), "distribution"))},
    {"domain", domain},
    {"dynamic_slice_sizes", PROTO_TEXT(numbers(at, p.dynamic_slice_sizes()))},
    {"epsilon", PROTO_TEXT(fmt::format("{:g}", p.epsilon()))},
    {"exponent_bits", PROTO_TEXT(number(p.exponent_bits()))},
    {"false_computation", PROTO_TEXT(callee(at, 1))},
    {"feature_group_count", PROTO_TEXT(count(p.feature_group_count()))},
    {"feature_index", PROTO_TEXT(number(p.feature_index()))},
    {"fft_length", PROTO_TEXT(numbers(at, p.fft_length()))},
    {"fft_type", PROTO_TEXT(word(kFftTypes, p.fft_type(), "kind of FFT"))},
    {"frontend_attributes", PROTO_TEXT(frontend_attributes(p.frontend_attributes()))},
    {"index", PROTO_TEXT(number(p.tuple_index()))},
    {"index_vector_dim",
     PROTO_TEXT(number(at.opcode == Opcode::kGather ? gather(at).index_vector_dim()
                                                    : scatter(at).index_vector_dim()))},
    {"indices_are_sorted", PROTO_TEXT(flag(p.indices_are_sorted()))},
    {"infeed_config", PROTO_TEXT(quoted_unless_empty(p.infeed_config()))},
    {"inferred_dimension", first_dimension},
    {"input_batching_dims", PROTO_TEXT(numbers(at, scatter(at).input_batching_dims()))},
    {"inserted_window_dims", PROTO_TEXT(numbers(at, scatter(at).inserted_window_dims()))},
    {"iota_dimension", first_dimension},
    {"is_composite", PROTO_TEXT(flag(p.is_composite()))},
    {"is_host_transfer", PROTO_TEXT(flag(p.is_host_transfer()))},
    {"is_stable", PROTO_TEXT(flag(p.is_stable()))},
    {"k", PROTO_TEXT(number(p.k()))},
    {"kind", PROTO_TEXT(p.fusion_kind())},
    {"largest", PROTO_TEXT(p.largest() ? "true" : "false")},
    {"left_side", PROTO_TEXT(flag(triangular(at).left_side()))},
    {"lhs_batch_dims", PROTO_TEXT(numbers(at, dot_dims(at).lhs_batch_dimensions()))},
    {"lhs_contracting_dims", PROTO_TEXT(numbers(at, dot_dims(at).lhs_contracting_dimensions()))},
    {"lhs_ragged_dims", PROTO_TEXT(numbers(at, ragged(at).lhs_ragged_dimensions()))},
    {"literal", literal_with_shape},
    {"lower", PROTO_TEXT(flag(at.opcode == Opcode::kCholesky ? p.cholesky_options().lower()
                                                             : triangular(at).lower()))},
    {"mantissa_bits", PROTO_TEXT(number(p.mantissa_bits()))},
    {"metadata", PROTO_TEXT(p.has_metadata() ? metadata(p.metadata()) : "")},
    {"offset_dims", PROTO_TEXT(numbers(at, gather(at).offset_dims()))},
    {"operand_batching_dims", PROTO_TEXT(numbers(at, gather(at).operand_batching_dims()))},
    {"operand_layout_constraints", operand_layouts},
    {"operand_precision", precision},
    {"origin", origin},
    {"outfeed_config", PROTO_TEXT(quoted_unless_empty(p.outfeed_config()))},
    {"outfeed_shape",
     PROTO_TEXT(p.has_outfeed_shape() ? to_string(shape_of(p.outfeed_shape())) : "")},
    {"output_to_operand_aliasing", aliasing},
    {"padding", padding},
    {"padding_type", PROTO_TEXT(word(kPaddingTypes, p.padding_type(), "padding type"))},
    {"parameter_replication", replication},
    {"replica_groups", replica_groups},
    {"result_accuracy", result_accuracy},
    {"rhs_batch_dims", PROTO_TEXT(numbers(at, dot_dims(at).rhs_batch_dimensions()))},
    {"rhs_contracting_dims", PROTO_TEXT(numbers(at, dot_dims(at).rhs_contracting_dimensions()))},
    {"rhs_group_dims", PROTO_TEXT(numbers(at, ragged(at).rhs_group_dimensions()))},
    {"scatter", PROTO_TEXT(callee(at, 1))},
    {"scatter_dims_to_operand_dims",
     PROTO_TEXT(numbers(at, scatter(at).scatter_dims_to_operand_dims()))},
    {"scatter_indices_batching_dims",
     PROTO_TEXT(numbers(at, scatter(at).scatter_indices_batching_dims()))},
    {"schedule", PROTO_TEXT(word(kSchedules, p.custom_call_schedule(), "custom-call schedule"))},
    {"select", PROTO_TEXT(callee(at, 0))},
    {"sharding", PROTO_TEXT(p.has_sharding() ? sharding(p.sharding()) : "")},
    {"slice", slices},
    {"slice_sizes", PROTO_TEXT(at.opcode == Opcode::kGather ? numbers(at, p.gather_slice_sizes())
                                                            : permute_slices(at))},
    {"source_target_pairs", source_target_pairs},
    {"start_index_map", PROTO_TEXT(numbers(at, gather(at).start_index_map()))},
    {"start_indices_batching_dims",
     PROTO_TEXT(numbers(at, gather(at).start_indices_batching_dims()))},
    {"statistics", statistics},
    {"to_apply", PROTO_TEXT(at.opcode == Opcode::kCustomCall ? "" : callee(at, 0))},
    {"transpose_a", PROTO_TEXT(word(kTransposes, triangular(at).transpose_a(), "transposition"))},
    {"true_computation", PROTO_TEXT(callee(at, 0))},
    {"type", PROTO_TEXT(p.comparison_type())},
    {"unique_indices", PROTO_TEXT(flag(p.unique_indices()))},
    {"unit_diagonal", PROTO_TEXT(flag(triangular(at).unit_diagonal()))},
    {"update_window_dims", PROTO_TEXT(numbers(at, scatter(at).update_window_dims()))},
    {"use_global_device_ids", PROTO_TEXT(flag(p.use_global_device_ids()))},
    {"window", window},
};  // namespace

#undef PROTO_TEXT

void append_rows(std::string& out, std::span<const AttributeRow> rows, Site at) {
  for (const AttributeRow& row : rows) {
    const auto writer = kWriters.find(row.key);
    if (writer == kWriters.end()) continue;
    at.required = row.required;
    const std::string value = writer->second(at);
    if (value.empty()) continue;
    out += ", ";
    out += row.key;
    out += '=';
    out += value;
  }
}

}  // namespace

void append_attributes(std::string& out, const hlo_proto::Instruction& instruction, Opcode opcode,
                       bool predicated, const Names& names) {
  const Site at{instruction, opcode, false, names};
  // Updates and ends have theirs from the start.
  const bool goes_on = is_async_chain(opcode) && !starts_asynchronously(opcode);
  if (!goes_on) append_rows(out, attributes_for(opcode, predicated), at);
  append_rows(out, common_attributes(), at);
}

}  // namespace tilecast::ir::proto_text
