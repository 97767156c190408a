// Converts the attributes of an instruction in an HLO proto to text. The attributes of each opcode
// are listed in ir/text/attribute_table.h; the table here maps them to fields of the proto.
#include <fmt/format.h>

#include <algorithm>

#include "ir/proto/attribute_values.h"
#include "ir/text/attribute_table.h"

namespace tilecast::ir::proto_text {
namespace {

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
  append_rows(out, attributes_for(opcode, predicated), at);
  if (opcode == Opcode::kAsyncStart) append_rows(out, async_attributes(opcode, false), at);
  append_rows(out, common_attributes(), at);
}

}  // namespace tilecast::ir::proto_text
