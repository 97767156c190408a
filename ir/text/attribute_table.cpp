#include "ir/text/attribute_table.h"

#include <fmt/format.h>

#include <array>

#include "ir/text/attribute_fields.h"
#include "ir/text/hlo_lexer.h"
#include "ir/text/hlo_printer.h"

namespace tilecast::ir {
namespace {

using namespace attribute;  // NOLINT(google-build-using-namespace): the readers, for short rows

using Words = std::string_view[];
constexpr Words kDirections = {"EQ", "NE", "GE", "GT", "LE", "LT"};
constexpr Words kComparisons = {"FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
constexpr Words kFftTypes = {"FFT", "IFFT", "RFFT", "IRFFT"};
constexpr Words kTransposes = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
constexpr Words kDistributions = {"rng_uniform", "rng_normal"};
constexpr Words kRngAlgorithms = {"rng_default", "rng_three_fry", "rng_philox"};
template <const auto& known>
void kept_word(ModuleParser& parser, Instruction& instruction, Key key) {
  keep(instruction, key, one_of(parser.cursor(), known, key));
}
void dot_algorithm(ModuleParser& parser, Instruction& instruction, Key) {
  instruction.attrs.edit<DotAttrs>().algorithm =
      parser.cursor().identifier("expects a dot algorithm");
}
void replica_groups(ModuleParser& parser, Instruction& instruction, Key) {
  instruction.attrs.edit<CollectiveAttrs>().groups = read_replica_groups(parser.cursor());
}
std::string write_groups(const Computation&, const Instruction& instruction, Key) {
  return to_string(held<CollectiveAttrs>(instruction).groups);
}
void execution_thread(ModuleParser& parser, Instruction& instruction, Key) {
  instruction.attrs.edit<AsyncAttrs>().execution_thread = parser.cursor().string();
}

constexpr AttributeRow kCommon[] = {
    {"sharding", kOptional, sharding},
    {"frontend_attributes", kOptional, keep_value},
    {"statistics", kOptional, keep_value},
    {"parameter_replication", kOptional, replication},
    {"control-predecessors", kOptional, control_predecessors},
    {"origin", kOptional, keep_value},
    {"metadata", kOptional, metadata},
    {"backend_config", kOptional, backend_config},
};

constexpr AttributeRow kAccuracy[] = {{"result_accuracy", kOptional, keep_value}};
constexpr AttributeRow kDims{"dimensions", kRequired, dimensions, write_dimensions};
constexpr AttributeRow kSomeDims{"dimensions", kOptional, dimensions, write_dimensions};
constexpr AttributeRow kToApply{"to_apply", kRequired, callee<0>};
constexpr AttributeRow kWindow{"window", kOptional, window, write_window};
constexpr AttributeRow kPrecision{"operand_precision", kOptional, precision, write_precision};
constexpr AttributeRow kAliases{"output_to_operand_aliasing", kOptional, aliasing, write_aliasing};
constexpr AttributeRow kLhsBatch = ints<&DotDims::lhs_batch>("lhs_batch_dims", kOptional);
constexpr AttributeRow kRhsBatch = ints<&DotDims::rhs_batch>("rhs_batch_dims", kOptional);
constexpr AttributeRow kLhsContracting =
    ints<&DotDims::lhs_contracting>("lhs_contracting_dims", kOptional, /*always=*/true);
constexpr AttributeRow kRhsContracting =
    ints<&DotDims::rhs_contracting>("rhs_contracting_dims", kOptional, /*always=*/true);
constexpr AttributeRow kAlgorithm{"algorithm", kOptional, dot_algorithm,
                                  [](const Computation&, const Instruction& instruction, Key) {
                                    return held<DotAttrs>(instruction).algorithm;
                                  }};

constexpr AttributeRow kDimensions[] = {kDims};
constexpr AttributeRow kBroadcast[] = {kSomeDims};
constexpr AttributeRow kIota[] = {integer<&IndexAttrs::index>("iota_dimension")};
constexpr AttributeRow kReshape[] = {kept("inferred_dimension", kOptional, keep_integer)};
constexpr AttributeRow kSlice[] = {{"slice", kRequired,
                                    [](ModuleParser& parser, Instruction& instruction, Key) {
                                      edit<&SliceAttrs::dims>(instruction) =
                                          read_slices(parser.cursor());
                                    },
                                    write_slices}};
constexpr AttributeRow kPad[] = {{"padding", kRequired,
                                  [](ModuleParser& parser, Instruction& instruction, Key) {
                                    edit<&PadAttrs::dims>(instruction) =
                                        read_padding(parser.cursor());
                                  },
                                  [](const Computation&, const Instruction& instruction, Key) {
                                    return to_string(held<PadAttrs>(instruction).dims);
                                  }}};
constexpr AttributeRow kDynamicSlice[] = {
    ints<&DynamicSliceAttrs::sizes>("dynamic_slice_sizes", kRequired)};
constexpr AttributeRow kGetTupleElement[] = {integer<&IndexAttrs::index>("index")};
constexpr AttributeRow kCompare[] = {
    word<kDirections, &CompareAttrs::direction>("direction", kRequired),
    {"type", kOptional, word<kComparisons, &CompareAttrs::type>("type", kOptional).read,
     write_comparison}};
constexpr AttributeRow kDot[] = {kLhsBatch,
                                 kLhsContracting,
                                 kRhsBatch,
                                 kRhsContracting,
                                 kPrecision,
                                 kAlgorithm,
                                 kept("sparsity", kOptional, keep_word)};
constexpr AttributeRow kRaggedDot[] = {
    kLhsBatch,
    kLhsContracting,
    kRhsBatch,
    kRhsContracting,
    ints<&DotDims::lhs_ragged>("lhs_ragged_dims", kRequired),
    ints<&DotDims::rhs_group>("rhs_group_dims", kOptional),
    kPrecision,
    kAlgorithm,
};
constexpr AttributeRow kConvolution[] = {
    kWindow,
    {"dim_labels", kRequired, dim_labels, write_dim_labels},
    count<&ConvAttrs::feature_group_count, 1>("feature_group_count"),
    count<&ConvAttrs::batch_group_count, 1>("batch_group_count"),
    kPrecision,
    kept("conv_kind", kOptional, keep_word),
};
constexpr AttributeRow kMap[] = {kSomeDims, kToApply};
constexpr AttributeRow kReduce[] = {kDims, kToApply};
constexpr AttributeRow kReduceWindow[] = {kWindow, kToApply};
constexpr AttributeRow kSelectAndScatter[] = {
    {"select", kRequired, callee<0>}, {"scatter", kRequired, callee<1>}, kWindow};
constexpr AttributeRow kScatter[] = {
    ints<&ScatterAttrs::update_window_dims>("update_window_dims", kRequired),
    ints<&ScatterAttrs::inserted_window_dims>("inserted_window_dims", kRequired),
    ints<&ScatterAttrs::scatter_dims_to_operand_dims>("scatter_dims_to_operand_dims", kRequired),
    ints<&ScatterAttrs::input_batching_dims>("input_batching_dims", kOptional),
    ints<&ScatterAttrs::scatter_indices_batching_dims>("scatter_indices_batching_dims", kOptional),
    integer<&ScatterAttrs::index_vector_dim>("index_vector_dim"),
    kept("indices_are_sorted", kOptional, keep_true),
    kept("unique_indices", kOptional, keep_true),
    kToApply,
};
constexpr AttributeRow kGather[] = {
    ints<&GatherAttrs::offset_dims>("offset_dims", kRequired),
    ints<&GatherAttrs::collapsed_slice_dims>("collapsed_slice_dims", kRequired),
    ints<&GatherAttrs::start_index_map>("start_index_map", kRequired),
    ints<&GatherAttrs::operand_batching_dims>("operand_batching_dims", kOptional),
    ints<&GatherAttrs::start_indices_batching_dims>("start_indices_batching_dims", kOptional),
    integer<&GatherAttrs::index_vector_dim>("index_vector_dim"),
    ints<&GatherAttrs::slice_sizes>("slice_sizes", kRequired),
    kept("indices_are_sorted", kOptional, keep_true),
};
constexpr AttributeRow kSort[] = {kDims, kept("is_stable", kOptional, keep_true), kToApply};
constexpr AttributeRow kTopK[] = {integer<&IndexAttrs::index>("k"),
                                  kept("largest", kOptional, keep_bool)};
constexpr AttributeRow kScan[] = {kDims, kept("num_carries", kRequired, keep_integer),
                                  kept("is_reverse", kOptional, keep_true),
                                  kept("is_associative", kOptional, keep_bool), kToApply};
constexpr AttributeRow kFft[] = {word<kFftTypes, &FftAttrs::type>("fft_type", kRequired),
                                 ints<&FftAttrs::length>("fft_length", kRequired)};
constexpr AttributeRow kCholesky[] = {flag<&TriangularAttrs::lower>("lower")};
constexpr AttributeRow kTriangularSolve[] = {
    flag<&TriangularAttrs::left_side>("left_side"),
    flag<&TriangularAttrs::lower>("lower"),
    flag<&TriangularAttrs::unit_diagonal>("unit_diagonal"),
    {"transpose_a", kOptional,
     word<kTransposes, &TriangularAttrs::transpose_a>("transpose_a", kOptional).read,
     [](const Computation&, const Instruction& instruction, Key) {
       const std::string& word = held<TriangularAttrs>(instruction).transpose_a;
       return word.empty() ? std::string(kTransposes[0]) : word;
     }},
};
constexpr AttributeRow kBatchNorm[] = {
    {"epsilon", kRequired,
     [](ModuleParser& parser, Instruction& instruction, Key) {
       edit<&BatchNormAttrs::epsilon>(instruction) = parser.cursor().number();
     },
     [](const Computation&, const Instruction& instruction, Key) {
       return fmt::format("{:g}", held<BatchNormAttrs>(instruction).epsilon);
     }},
    integer<&BatchNormAttrs::feature_index>("feature_index")};
constexpr AttributeRow kRng[] = {kept("distribution", kRequired, kept_word<kDistributions>)};
constexpr AttributeRow kRngBitGenerator[] = {
    kept("algorithm", kRequired, kept_word<kRngAlgorithms>)};
constexpr AttributeRow kRngState[] = {kept("delta", kRequired, keep_integer)};
constexpr AttributeRow kReducePrecision[] = {kept("exponent_bits", kRequired, keep_integer),
                                             kept("mantissa_bits", kRequired, keep_integer)};
constexpr AttributeRow kWhile[] = {{"condition", kRequired, callee<0>},
                                   {"body", kRequired, callee<1>}};
constexpr AttributeRow kPredicated[] = {{"true_computation", kRequired, callee<0>},
                                        {"false_computation", kRequired, callee<1>}};
constexpr AttributeRow kIndexed[] = {{"branch_computations", kRequired, callees}};
constexpr AttributeRow kCall[] = {kToApply, {"is_composite", kOptional, keep_true}, kAliases};
constexpr AttributeRow kFusion[] = {
    {"kind", kRequired, fusion_kind, write_fusion_kind}, {"calls", kRequired, callee<0>}, kAliases};
constexpr AttributeRow kCustomCall[] = {
    kWindow,
    {"dim_labels", kOptional, dim_labels, write_dim_labels},
    count<&CustomCallAttrs::feature_group_count, 1>("feature_group_count"),
    count<&CustomCallAttrs::batch_group_count, 1>("batch_group_count"),
    kPrecision,
    kept("padding_type", kOptional, keep_word),
    {"custom_call_target", kRequired,
     [](ModuleParser& parser, Instruction& instruction, Key) {
       edit<&CustomCallAttrs::target>(instruction) = parser.cursor().string();
     },
     [](const Computation&, const Instruction& instruction, Key) {
       return fmt::format("\"{}\"", escape(held<CustomCallAttrs>(instruction).target));
     }},
    kept("operand_layout_constraints", kOptional, keep_value),
    flag<&CustomCallAttrs::has_side_effect>("custom_call_has_side_effect"),
    {"to_apply", kOptional, callee<0>},
    {"called_computations", kOptional, callees},
    kept("literal", kOptional, literal),
    kept("schedule", kOptional, schedule),
    kept("api_version", kOptional, api_version),
    kAliases,
};

// Rows shared by the collectives; each opcode uses some of them.
constexpr AttributeRow kChannel = count<&CollectiveAttrs::channel_id, 0>("channel_id");
constexpr AttributeRow kGroups{"replica_groups", kOptional, replica_groups, write_groups};
constexpr AttributeRow kConstrain = flag<&CollectiveAttrs::constrain_layout>("constrain_layout");
constexpr AttributeRow kGlobalIds =
    flag<&CollectiveAttrs::use_global_device_ids>("use_global_device_ids");
constexpr AttributeRow kMode{"mode", kOptional, ignore};  // implied by the other attributes

constexpr AttributeRow kAllGather[] = {kChannel, kGroups, kConstrain, kDims, kGlobalIds, kMode};
constexpr AttributeRow kAllReduce[] = {kChannel, kGroups, kConstrain, kGlobalIds, kToApply, kMode};
constexpr AttributeRow kReduceScatter[] = {kChannel, kGroups,  kConstrain, kGlobalIds,
                                           kDims,    kToApply, kMode};
constexpr AttributeRow kAllToAll[] = {kChannel, kGroups, kConstrain, kSomeDims, kMode};
constexpr AttributeRow kRaggedAllToAll[] = {kChannel, kGroups, kMode};
constexpr AttributeRow kCollectiveBroadcast[] = {
    kChannel, {"replica_groups", kRequired, replica_groups, write_groups}, kMode};
constexpr AttributeRow kCollectiveReduce[] = {
    kChannel, kGroups, kConstrain, kGlobalIds, {"to_apply", kOptional, callee<0>}, kMode};
constexpr AttributeRow kCollectivePermute[] = {
    kChannel,
    {"source_target_pairs", kRequired, source_target_pairs, write_pairs},
    kept("slice_sizes", kOptional, keep_int_lists),
    kMode,
};
constexpr AttributeRow kSendRecv[] = {kChannel,
                                      flag<&CollectiveAttrs::is_host_transfer>("is_host_transfer")};
constexpr AttributeRow kInfeed[] = {kept("infeed_config", kOptional, keep_string)};
constexpr AttributeRow kOutfeed[] = {kept("outfeed_shape", kOptional, keep_shape),
                                     kept("outfeed_config", kOptional, keep_string)};
constexpr AttributeRow kCopyStart[] = {
    kept("cross_program_prefetch_index", kOptional, keep_integer)};
constexpr AttributeRow kDomain[] = {kept("domain", kRequired, keep_value)};

constexpr AttributeRow kThread{"async_execution_thread", kOptional, execution_thread, write_thread};
constexpr AttributeRow kAsyncStart[] = {{"calls", kRequired, callee<0>}, kThread, kAliases};
constexpr AttributeRow kAsyncLater[] = {{"calls", kOptional, callee<0>}, kThread};
// Aliasing belongs to the wrapped operation if it supports it; only a start can have any.
constexpr AttributeRow kAsyncSugar[] = {kThread, kAliases};

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
