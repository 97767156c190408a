#include "ir/text/attribute_table.h"

#include <array>

#include "ir/text/attribute_readers.h"

namespace tilecast::ir {
namespace {

using namespace attribute;  // NOLINT(google-build-using-namespace): the readers, for short rows

// Readers that store one value in a field of the opcode's attributes.
template <class T, Dims T::*field>
void ints(ModuleParser& parser, Instruction& instruction, Key) {
  instruction.attrs.edit<T>().*field = parser.cursor().int_list();
}
template <class T, std::int64_t T::*field>
void integer(ModuleParser& parser, Instruction& instruction, Key) {
  instruction.attrs.edit<T>().*field = parser.cursor().integer_from(0, "value");
}
template <class T, bool T::*field>
void boolean(ModuleParser& parser, Instruction& instruction, Key) {
  instruction.attrs.edit<T>().*field = parser.cursor().boolean();
}
template <Dims DotDims::*field>
void dot_dims(ModuleParser& parser, Instruction& instruction, Key) {
  instruction.attrs.edit<DotAttrs>().dims.*field = parser.cursor().int_list();
}
template <class T, std::int64_t T::*field>
void group_count(ModuleParser& parser, Instruction& instruction, Key key) {
  instruction.attrs.edit<T>().*field = parser.cursor().integer_from(1, key);
}
void dot_algorithm(ModuleParser& parser, Instruction& instruction, Key) {
  instruction.attrs.edit<DotAttrs>().algorithm =
      parser.cursor().identifier("expects a dot algorithm");
}
void replica_groups(ModuleParser& parser, Instruction& instruction, Key) {
  instruction.attrs.edit<CollectiveAttrs>().groups = read_replica_groups(parser.cursor());
}
void target(ModuleParser& parser, Instruction& instruction, Key) {
  instruction.attrs.edit<CustomCallAttrs>().target = parser.cursor().string();
}
void epsilon(ModuleParser& parser, Instruction& instruction, Key) {
  instruction.attrs.edit<BatchNormAttrs>().epsilon = parser.cursor().number();
}
void execution_thread(ModuleParser& parser, Instruction& instruction, Key) {
  instruction.attrs.edit<AsyncAttrs>().execution_thread = parser.cursor().string();
}

using Words = std::string_view[];
constexpr Words kDirections = {"EQ", "NE", "GE", "GT", "LE", "LT"};
constexpr Words kComparisons = {"FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
constexpr Words kFftTypes = {"FFT", "IFFT", "RFFT", "IRFFT"};
constexpr Words kTransposes = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
constexpr Words kDistributions = {"rng_uniform", "rng_normal"};
constexpr Words kRngAlgorithms = {"rng_default", "rng_three_fry", "rng_philox"};
template <const auto& known, class T, std::string T::*field>
void word(ModuleParser& parser, Instruction& instruction, Key key) {
  instruction.attrs.edit<T>().*field = one_of(parser.cursor(), known, key);
}
template <const auto& known>
void kept_word(ModuleParser& parser, Instruction& instruction, Key key) {
  keep(instruction, key, one_of(parser.cursor(), known, key));
}

constexpr bool kRequired = true;
constexpr bool kOptional = false;

constexpr AttributeRow kCommon[] = {
    {"sharding", kOptional, keep_value},
    {"frontend_attributes", kOptional, keep_value},
    {"statistics", kOptional, keep_value},
    {"parameter_replication", kOptional, replication},
    {"control-predecessors", kOptional, control_predecessors},
    {"origin", kOptional, keep_value},
    {"metadata", kOptional, metadata},
    {"backend_config", kOptional, backend_config},
};

constexpr AttributeRow kAccuracy[] = {{"result_accuracy", kOptional, keep_value}};
constexpr AttributeRow kDimensions[] = {{"dimensions", kRequired, dimensions}};
constexpr AttributeRow kBroadcast[] = {{"dimensions", kOptional, dimensions}};
constexpr AttributeRow kIota[] = {
    {"iota_dimension", kRequired, integer<IndexAttrs, &IndexAttrs::index>}};
constexpr AttributeRow kReshape[] = {{"inferred_dimension", kOptional, keep_integer}};
constexpr AttributeRow kSlice[] = {
    {"slice", kRequired, [](ModuleParser& parser, Instruction& instruction, Key) {
       instruction.attrs.edit<SliceAttrs>().dims = read_slices(parser.cursor());
     }}};
constexpr AttributeRow kPad[] = {
    {"padding", kRequired, [](ModuleParser& parser, Instruction& instruction, Key) {
       instruction.attrs.edit<PadAttrs>().dims = read_padding(parser.cursor());
     }}};
constexpr AttributeRow kDynamicSlice[] = {
    {"dynamic_slice_sizes", kRequired, ints<DynamicSliceAttrs, &DynamicSliceAttrs::sizes>}};
constexpr AttributeRow kGetTupleElement[] = {
    {"index", kRequired, integer<IndexAttrs, &IndexAttrs::index>}};
constexpr AttributeRow kCompare[] = {
    {"direction", kRequired, word<kDirections, CompareAttrs, &CompareAttrs::direction>},
    {"type", kOptional, word<kComparisons, CompareAttrs, &CompareAttrs::type>}};
constexpr AttributeRow kDot[] = {
    {"lhs_contracting_dims", kOptional, dot_dims<&DotDims::lhs_contracting>},
    {"rhs_contracting_dims", kOptional, dot_dims<&DotDims::rhs_contracting>},
    {"lhs_batch_dims", kOptional, dot_dims<&DotDims::lhs_batch>},
    {"rhs_batch_dims", kOptional, dot_dims<&DotDims::rhs_batch>},
    {"operand_precision", kOptional, precision},
    {"algorithm", kOptional, dot_algorithm},
    {"sparsity", kOptional, keep_word},
};
constexpr AttributeRow kRaggedDot[] = {
    {"lhs_contracting_dims", kOptional, dot_dims<&DotDims::lhs_contracting>},
    {"rhs_contracting_dims", kOptional, dot_dims<&DotDims::rhs_contracting>},
    {"lhs_batch_dims", kOptional, dot_dims<&DotDims::lhs_batch>},
    {"rhs_batch_dims", kOptional, dot_dims<&DotDims::rhs_batch>},
    {"lhs_ragged_dims", kRequired, dot_dims<&DotDims::lhs_ragged>},
    {"rhs_group_dims", kOptional, dot_dims<&DotDims::rhs_group>},
    {"operand_precision", kOptional, precision},
    {"algorithm", kOptional, dot_algorithm},
};
constexpr AttributeRow kConvolution[] = {
    {"window", kOptional, window},
    {"dim_labels", kRequired, dim_labels},
    {"feature_group_count", kOptional, group_count<ConvAttrs, &ConvAttrs::feature_group_count>},
    {"batch_group_count", kOptional, group_count<ConvAttrs, &ConvAttrs::batch_group_count>},
    {"operand_precision", kOptional, precision},
    {"conv_kind", kOptional, keep_word},
};
constexpr AttributeRow kMap[] = {{"dimensions", kOptional, dimensions},
                                 {"to_apply", kRequired, callee<0>}};
constexpr AttributeRow kReduce[] = {{"dimensions", kRequired, dimensions},
                                    {"to_apply", kRequired, callee<0>}};
constexpr AttributeRow kReduceWindow[] = {{"window", kOptional, window},
                                          {"to_apply", kRequired, callee<0>}};
constexpr AttributeRow kSelectAndScatter[] = {{"select", kRequired, callee<0>},
                                              {"scatter", kRequired, callee<1>},
                                              {"window", kOptional, window}};
constexpr AttributeRow kScatter[] = {
    {"update_window_dims", kRequired, ints<ScatterAttrs, &ScatterAttrs::update_window_dims>},
    {"inserted_window_dims", kRequired, ints<ScatterAttrs, &ScatterAttrs::inserted_window_dims>},
    {"scatter_dims_to_operand_dims", kRequired,
     ints<ScatterAttrs, &ScatterAttrs::scatter_dims_to_operand_dims>},
    {"index_vector_dim", kRequired, integer<ScatterAttrs, &ScatterAttrs::index_vector_dim>},
    {"to_apply", kRequired, callee<0>},
    {"indices_are_sorted", kOptional, keep_true},
    {"unique_indices", kOptional, keep_true},
    {"input_batching_dims", kOptional, ints<ScatterAttrs, &ScatterAttrs::input_batching_dims>},
    {"scatter_indices_batching_dims", kOptional,
     ints<ScatterAttrs, &ScatterAttrs::scatter_indices_batching_dims>},
};
constexpr AttributeRow kGather[] = {
    {"offset_dims", kRequired, ints<GatherAttrs, &GatherAttrs::offset_dims>},
    {"collapsed_slice_dims", kRequired, ints<GatherAttrs, &GatherAttrs::collapsed_slice_dims>},
    {"start_index_map", kRequired, ints<GatherAttrs, &GatherAttrs::start_index_map>},
    {"index_vector_dim", kRequired, integer<GatherAttrs, &GatherAttrs::index_vector_dim>},
    {"slice_sizes", kRequired, ints<GatherAttrs, &GatherAttrs::slice_sizes>},
    {"indices_are_sorted", kOptional, keep_true},
    {"operand_batching_dims", kOptional, ints<GatherAttrs, &GatherAttrs::operand_batching_dims>},
    {"start_indices_batching_dims", kOptional,
     ints<GatherAttrs, &GatherAttrs::start_indices_batching_dims>},
};
constexpr AttributeRow kSort[] = {{"dimensions", kRequired, dimensions},
                                  {"is_stable", kOptional, keep_true},
                                  {"to_apply", kRequired, callee<0>}};
constexpr AttributeRow kTopK[] = {{"k", kRequired, integer<IndexAttrs, &IndexAttrs::index>},
                                  {"largest", kOptional, keep_bool}};
constexpr AttributeRow kScan[] = {{"to_apply", kRequired, callee<0>},
                                  {"dimensions", kRequired, dimensions},
                                  {"num_carries", kRequired, keep_integer},
                                  {"is_reverse", kOptional, keep_true},
                                  {"is_associative", kOptional, keep_bool}};
constexpr AttributeRow kFft[] = {
    {"fft_type", kRequired, word<kFftTypes, FftAttrs, &FftAttrs::type>},
    {"fft_length", kRequired, ints<FftAttrs, &FftAttrs::length>}};
constexpr AttributeRow kCholesky[] = {
    {"lower", kOptional, boolean<TriangularAttrs, &TriangularAttrs::lower>}};
constexpr AttributeRow kTriangularSolve[] = {
    {"left_side", kOptional, boolean<TriangularAttrs, &TriangularAttrs::left_side>},
    {"lower", kOptional, boolean<TriangularAttrs, &TriangularAttrs::lower>},
    {"unit_diagonal", kOptional, boolean<TriangularAttrs, &TriangularAttrs::unit_diagonal>},
    {"transpose_a", kOptional, word<kTransposes, TriangularAttrs, &TriangularAttrs::transpose_a>},
};
constexpr AttributeRow kBatchNorm[] = {
    {"epsilon", kRequired, epsilon},
    {"feature_index", kRequired, integer<BatchNormAttrs, &BatchNormAttrs::feature_index>}};
constexpr AttributeRow kRng[] = {{"distribution", kRequired, kept_word<kDistributions>}};
constexpr AttributeRow kRngBitGenerator[] = {{"algorithm", kRequired, kept_word<kRngAlgorithms>}};
constexpr AttributeRow kRngState[] = {{"delta", kRequired, keep_integer}};
constexpr AttributeRow kReducePrecision[] = {{"exponent_bits", kRequired, keep_integer},
                                             {"mantissa_bits", kRequired, keep_integer}};
constexpr AttributeRow kWhile[] = {{"condition", kRequired, callee<0>},
                                   {"body", kRequired, callee<1>}};
constexpr AttributeRow kPredicated[] = {{"true_computation", kRequired, callee<0>},
                                        {"false_computation", kRequired, callee<1>}};
constexpr AttributeRow kIndexed[] = {{"branch_computations", kRequired, callees}};
constexpr AttributeRow kCall[] = {{"to_apply", kRequired, callee<0>},
                                  {"is_composite", kOptional, keep_true},
                                  {"output_to_operand_aliasing", kOptional, aliasing}};
constexpr AttributeRow kFusion[] = {{"kind", kRequired, fusion_kind},
                                    {"calls", kRequired, callee<0>},
                                    {"output_to_operand_aliasing", kOptional, aliasing}};
constexpr AttributeRow kCustomCall[] = {
    {"custom_call_target", kRequired, target},
    {"window", kOptional, window},
    {"dim_labels", kOptional, dim_labels},
    {"feature_group_count", kOptional,
     group_count<CustomCallAttrs, &CustomCallAttrs::feature_group_count>},
    {"batch_group_count", kOptional,
     group_count<CustomCallAttrs, &CustomCallAttrs::batch_group_count>},
    {"operand_layout_constraints", kOptional, operand_layouts},
    {"custom_call_has_side_effect", kOptional,
     boolean<CustomCallAttrs, &CustomCallAttrs::has_side_effect>},
    {"to_apply", kOptional, callee<0>},
    {"called_computations", kOptional, callees},
    {"output_to_operand_aliasing", kOptional, aliasing},
    {"padding_type", kOptional, keep_word},
    {"literal", kOptional, literal},
    {"operand_precision", kOptional, precision},
    {"schedule", kOptional, schedule},
    {"api_version", kOptional, api_version},
};

// Rows shared by the collectives; each opcode takes a part of them.
constexpr AttributeRow kGroups{"replica_groups", kOptional, replica_groups};
constexpr AttributeRow kChannel{"channel_id", kOptional,
                                integer<CollectiveAttrs, &CollectiveAttrs::channel_id>};
constexpr AttributeRow kConstrain{"constrain_layout", kOptional,
                                  boolean<CollectiveAttrs, &CollectiveAttrs::constrain_layout>};
constexpr AttributeRow kGlobalIds{
    "use_global_device_ids", kOptional,
    boolean<CollectiveAttrs, &CollectiveAttrs::use_global_device_ids>};
constexpr AttributeRow kHostTransfer{"is_host_transfer", kOptional,
                                     boolean<CollectiveAttrs, &CollectiveAttrs::is_host_transfer>};
constexpr AttributeRow kMode{"mode", kOptional, ignore};  // implied by the other attributes
constexpr AttributeRow kGatherDims{"dimensions", kRequired, dimensions};

constexpr AttributeRow kAllGather[] = {kGroups,    kChannel,   kGatherDims,
                                       kConstrain, kGlobalIds, kMode};
constexpr AttributeRow kAllReduce[] = {
    {"to_apply", kRequired, callee<0>}, kGroups, kChannel, kConstrain, kGlobalIds, kMode};
constexpr AttributeRow kReduceScatter[] = {{"to_apply", kRequired, callee<0>},
                                           kGroups,
                                           kChannel,
                                           kConstrain,
                                           kGlobalIds,
                                           kGatherDims,
                                           kMode};
constexpr AttributeRow kAllToAll[] = {
    kGroups, kChannel, {"dimensions", kOptional, dimensions}, kConstrain, kMode};
constexpr AttributeRow kRaggedAllToAll[] = {kGroups, kChannel, kMode};
constexpr AttributeRow kCollectiveBroadcast[] = {
    {"replica_groups", kRequired, replica_groups}, kChannel, kMode};
constexpr AttributeRow kCollectiveReduce[] = {
    {"to_apply", kOptional, callee<0>}, kGroups, kChannel, kConstrain, kGlobalIds, kMode};
constexpr AttributeRow kCollectivePermute[] = {
    {"source_target_pairs", kRequired, source_target_pairs},
    kChannel,
    {"slice_sizes", kOptional, keep_int_lists},
    kMode,
};
constexpr AttributeRow kSendRecv[] = {kChannel, kHostTransfer};
constexpr AttributeRow kInfeed[] = {{"infeed_config", kOptional, keep_string}};
constexpr AttributeRow kOutfeed[] = {{"outfeed_config", kOptional, keep_string},
                                     {"outfeed_shape", kOptional, keep_shape}};
constexpr AttributeRow kCopyStart[] = {{"cross_program_prefetch_index", kOptional, keep_integer}};
constexpr AttributeRow kDomain[] = {{"domain", kRequired, keep_value}};

constexpr AttributeRow kAsyncStart[] = {{"calls", kRequired, callee<0>},
                                        {"async_execution_thread", kOptional, execution_thread},
                                        {"output_to_operand_aliasing", kOptional, aliasing}};
constexpr AttributeRow kAsyncLater[] = {{"calls", kOptional, callee<0>},
                                        {"async_execution_thread", kOptional, execution_thread}};
// Aliasing belongs to the wrapped operation where that can have it; only a start has any.
constexpr AttributeRow kAsyncSugar[] = {{"async_execution_thread", kOptional, execution_thread},
                                        {"output_to_operand_aliasing", kOptional, aliasing}};

struct OpcodeRows {
  Opcode opcode;
  std::span<const AttributeRow> rows;
};

constexpr OpcodeRows kOpcodes[] = {
    {Opcode::kAllGather, kAllGather},
    {Opcode::kAllGatherStart, kAllGather},
    {Opcode::kAllReduce, kAllReduce},
    {Opcode::kAllReduceStart, kAllReduce},
    {Opcode::kAllToAll, kAllToAll},
    {Opcode::kBatchNormGrad, kBatchNorm},
    {Opcode::kBatchNormInference, kBatchNorm},
    {Opcode::kBatchNormTraining, kBatchNorm},
    {Opcode::kBroadcast, kBroadcast},
    {Opcode::kCall, kCall},
    {Opcode::kCholesky, kCholesky},
    {Opcode::kCollectiveBroadcast, kCollectiveBroadcast},
    {Opcode::kCollectivePermute, kCollectivePermute},
    {Opcode::kCollectivePermuteStart, kCollectivePermute},
    {Opcode::kCollectiveReduce, kCollectiveReduce},
    {Opcode::kCompare, kCompare},
    {Opcode::kConcatenate, kDimensions},
    {Opcode::kConditional, kIndexed},
    {Opcode::kConvolution, kConvolution},
    {Opcode::kCopyStart, kCopyStart},
    {Opcode::kCustomCall, kCustomCall},
    {Opcode::kDomain, kDomain},
    {Opcode::kDot, kDot},
    {Opcode::kDynamicSlice, kDynamicSlice},
    {Opcode::kFft, kFft},
    {Opcode::kFusion, kFusion},
    {Opcode::kGather, kGather},
    {Opcode::kGetDimensionSize, kDimensions},
    {Opcode::kGetTupleElement, kGetTupleElement},
    {Opcode::kInfeed, kInfeed},
    {Opcode::kIota, kIota},
    {Opcode::kMap, kMap},
    {Opcode::kOutfeed, kOutfeed},
    {Opcode::kPad, kPad},
    {Opcode::kRaggedAllToAll, kRaggedAllToAll},
    {Opcode::kRaggedDot, kRaggedDot},
    {Opcode::kRecv, kSendRecv},
    {Opcode::kRecvDone, kSendRecv},
    {Opcode::kReduce, kReduce},
    {Opcode::kReducePrecision, kReducePrecision},
    {Opcode::kReduceScatter, kReduceScatter},
    {Opcode::kReduceWindow, kReduceWindow},
    {Opcode::kReshape, kReshape},
    {Opcode::kReverse, kDimensions},
    {Opcode::kRng, kRng},
    {Opcode::kRngBitGenerator, kRngBitGenerator},
    {Opcode::kRngGetAndUpdateState, kRngState},
    {Opcode::kScaledDot, kDot},
    {Opcode::kScan, kScan},
    {Opcode::kScatter, kScatter},
    {Opcode::kSelectAndScatter, kSelectAndScatter},
    {Opcode::kSend, kSendRecv},
    {Opcode::kSendDone, kSendRecv},
    {Opcode::kSetDimensionSize, kDimensions},
    {Opcode::kSlice, kSlice},
    {Opcode::kSort, kSort},
    {Opcode::kTopK, kTopK},
    {Opcode::kTranspose, kDimensions},
    {Opcode::kTriangularSolve, kTriangularSolve},
    {Opcode::kWhile, kWhile},
};

using RowsByOpcode = std::array<std::span<const AttributeRow>, 256>;

RowsByOpcode index_rows() {
  RowsByOpcode rows;
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = {};
  for (const OpcodeRows& entry : kOpcodes)
    rows[static_cast<std::size_t>(entry.opcode)] = entry.rows;
  return rows;
}

}  // namespace

std::span<const AttributeRow> common_attributes() {
  return kCommon;
}

std::span<const AttributeRow> async_attributes(Opcode opcode, bool sugar) {
  switch (opcode) {
    case Opcode::kAsyncStart:
      return sugar ? std::span<const AttributeRow>(kAsyncSugar)
                   : std::span<const AttributeRow>(kAsyncStart);
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      return sugar ? std::span<const AttributeRow>(kAsyncSugar).first(1)
                   : std::span<const AttributeRow>(kAsyncLater);
    default:
      return {};
  }
}

std::span<const AttributeRow> attributes_for(Opcode opcode, bool predicated) {
  static const RowsByOpcode kRows = index_rows();
  if (opcode == Opcode::kConditional && predicated) return kPredicated;
  const std::span<const AttributeRow> rows = kRows[static_cast<std::size_t>(opcode)];
  if (!rows.empty()) return rows;
  const bool accurate = op_class(opcode) == OpClass::kTranscendental && info(opcode).arity == 1;
  return accurate ? std::span<const AttributeRow>(kAccuracy) : std::span<const AttributeRow>();
}

}  // namespace tilecast::ir
