// The table of ops: one row each. Above it, the attributes of the ops: one row each, too, in the
// order in which XLA prints them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/word_table.h"
#include "ir/counts/op_counts.h"
#include "ir/infer/infer_rules.h"
#include "ir/ops/attribute_forms.h"
#include "ir/stablehlo/print_bodies.h"
#include "ir/text/hlo_lexer.h"
#include "ir/text/hlo_printer.h"

namespace tilecast::ir {
namespace rows {
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
constexpr AttributeRow kToApply = called<0>("to_apply");
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
constexpr AttributeRow kSelectAndScatter[] = {called<0>("select"), called<1>("scatter"), kWindow};
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
constexpr AttributeRow kWhile[] = {called<0>("condition"), called<1>("body")};
constexpr AttributeRow kPredicated[] = {called<0>("true_computation"),
                                        called<1>("false_computation")};
constexpr AttributeRow kIndexed[] = {all_called("branch_computations", kRequired)};
constexpr AttributeRow kCall[] = {kToApply, {"is_composite", kOptional, keep_true}, kAliases};
constexpr AttributeRow kFusion[] = {
    {"kind", kRequired, fusion_kind, write_fusion_kind}, called<0>("calls"), kAliases};
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
    all_called("called_computations", kOptional),
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
    kChannel, kGroups, kConstrain, kGlobalIds, called<0>("to_apply", kOptional), kMode};
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
constexpr AttributeRow kAsyncStart[] = {called<0>("calls"), kThread, kAliases};
constexpr AttributeRow kAsyncLater[] = {{"calls", kOptional, callee<0>},
                                        kThread,
                                        kept("output_to_operand_aliasing", kOptional, keep_value)};
// Aliasing belongs to the wrapped operation if it supports it; only a start can have any.
constexpr AttributeRow kAsyncShort[] = {kThread, kAliases};

}  // namespace
}  // namespace rows

namespace ops {
namespace {

using enum Opcode;
using enum Arithmetic;
using enum Trait;
using OpClass::kDataMovement, OpClass::kIndexed;
using namespace stablehlo;  // NOLINT(google-build-using-namespace): the bodies, for short rows
using Style = OpForm::Style;
using Infer = decltype(ShapeRule::infer);
using Count = decltype(OpRow::count);

// A row under construction.
struct Draft : OpRow {
  constexpr Draft& with(OpAttributes given) {
    attributes = given;
    return *this;
  }
  constexpr Draft& with(Count given) {
    count = given;
    return *this;
  }
  constexpr Draft& with(std::initializer_list<Trait> given) {
    info.traits = given;
    return *this;
  }
  constexpr Draft& starts(Opcode end, Opcode plain, StartTuple given) {
    info.traits.add(kStartsAsync);
    tuple = given;
    info.partner = end;
    info.plain = plain;
    return *this;
  }
};

// NOLINTNEXTLINE(readability-function-size): the columns of a row
constexpr Draft op(Opcode opcode, std::string_view name, int arity, OpClass work,
                   Traits traits = {}, OpAttributes attributes = {}, ShapeRule shape = {},
                   Count count = nullptr, OpForm form = {}) {
  return {{{opcode, name, arity, work, kOther, traits}, attributes, shape, count, form}};
}

// Attributes: T is the struct that holds them, if they have one.
template <class T>
OpAttrs made() {
  return T();
}
template <class T = OpAttrs>
constexpr OpAttributes holding(std::span<const AttributeRow> given = {}) {
  return {made<T>, given};
}
constexpr OpAttributes kHoldsDims = holding<>(rows::kDimensions);
constexpr ShapeRule any_size(Infer rule) {
  return {rule, true};
}
// The default counts as changed by a rule.
template <auto change>
WorkCounts changed(const CountedOp& op) {
  WorkCounts counts = default_counts(op);
  change(op, counts);
  return counts;
}

using Body = decltype(OpForm::body);
constexpr OpForm function(Body body = plain_body, std::string_view name = {}) {
  return {Style::kFunction, body, name};
}
constexpr OpForm result(Body body) {
  return {Style::kResult, body};
}
constexpr OpForm generic(Body body, std::string_view name = {}) {
  return {Style::kGeneric, body, name};
}
constexpr OpForm kPlainForm{Style::kElementwise, plain_body};
constexpr OpForm kOperandForm{Style::kOperand};

// NOLINTNEXTLINE(readability-function-size): the columns of a row
constexpr Draft mapping(OpClass work, Opcode opcode, std::string_view name, int arity,
                        Arithmetic arithmetic, Count count, ShapeRule shape, OpForm form) {
  if (shape.infer == nullptr) shape = {arity == 1 ? infer::unary : infer::binary};
  Draft draft = op(opcode, name, arity, work, {}, {}, shape, count, form);
  draft.info.arithmetic = arithmetic;
  return draft;
}
constexpr Draft elementwise(Opcode opcode, std::string_view name, int arity,
                            Arithmetic arithmetic = kOther, ShapeRule shape = {},
                            OpForm form = kPlainForm) {
  return mapping(OpClass::kElementwise, opcode, name, arity, arithmetic, changed<count_elements>,
                 shape, form);
}
// Elementwise arithmetic on integers that is evaluated to count the trips of loops.
constexpr Draft scalar(Opcode opcode, std::string_view name, int arity,
                       Arithmetic arithmetic = kOther, ShapeRule shape = {},
                       OpForm form = kPlainForm) {
  return elementwise(opcode, name, arity, arithmetic, shape, form).with({kScalar});
}
constexpr Draft transcendental(Opcode opcode, std::string_view name, int arity,
                               Arithmetic arithmetic = kOther) {
  Draft draft = mapping(OpClass::kTranscendental, opcode, name, arity, arithmetic,
                        changed<count_transcendentals>, {}, kPlainForm);
  return arity == 1 ? draft.with(holding<>(rows::kAccuracy)) : draft;
}
constexpr Draft chlo(std::string_view name, Draft draft) {
  draft.form = generic(no_attributes_body, name);
  return draft;
}
constexpr Draft product(Opcode opcode, std::string_view name, int arity, OpAttributes attributes,
                        Infer shape, OpForm form = {}) {
  return op(opcode, name, arity, OpClass::kMatrix, arity == 2 ? Traits{kTwoFactors} : Traits{},
            attributes, {shape}, changed<count_product>, form);
}
constexpr Draft normalization(Opcode opcode, std::string_view name, int arity, Infer shape) {
  return op(opcode, name, arity, OpClass::kNormalization, {},
            holding<BatchNormAttrs>(rows::kBatchNorm), {shape}, nullptr, generic(batch_norm_body));
}
// NOLINTNEXTLINE(readability-function-size): the columns of a row
constexpr Draft collective(Opcode opcode, std::string_view name, int arity, Exchange exchange,
                           std::span<const AttributeRow> attributes, Infer shape,
                           OpForm form = {}) {
  Draft draft = op(opcode, name, arity, OpClass::kCollective, {},
                   holding<CollectiveAttrs>(attributes), {shape}, nullptr, form);
  draft.info.exchange = exchange;
  return draft;
}
constexpr Draft done(Opcode opcode, std::string_view name, Opcode start, ShapeRule shape,
                     OpForm form = kOperandForm) {
  Draft draft = op(opcode, name, 1, OpClass::kAsyncDone, {}, {}, shape, nullptr, form);
  draft.info.partner = start;
  return draft;
}
// NOLINTNEXTLINE(readability-function-size): the columns of a row
constexpr Draft free_op(Opcode opcode, std::string_view name, int arity, Traits traits,
                        OpAttributes attributes = {}, ShapeRule shape = {}, OpForm form = {},
                        Count count = changed<count_nothing>) {
  return op(opcode, name, arity, OpClass::kFree, traits, attributes, shape, count, form);
}

constexpr OpRow kTable[] = {
    // ---- elementwise
    scalar(kAbs, "abs", 1),
    chlo("chlo.acos", transcendental(kAcos, "acos", 1)),
    chlo("chlo.acosh", transcendental(kAcosh, "acosh", 1)),
    scalar(kAdd, "add", 2, kSum).with({kScalar, kCommutes}),
    scalar(kAnd, "and", 2).with({kScalar, kCommutes}),
    chlo("chlo.asin", transcendental(kAsin, "asin", 1)),
    chlo("chlo.asinh", transcendental(kAsinh, "asinh", 1)),
    chlo("chlo.atan", transcendental(kAtan, "atan", 1)),
    transcendental(kAtan2, "atan2", 2),
    chlo("chlo.atanh", transcendental(kAtanh, "atanh", 1)),
    transcendental(kCbrt, "cbrt", 1, kRoot),
    elementwise(kCeil, "ceil", 1),
    elementwise(kClz, "count-leading-zeros", 1),
    elementwise(kComplex, "complex", 2),
    transcendental(kCos, "cosine", 1),
    chlo("chlo.cosh", transcendental(kCosh, "cosh", 1)),
    scalar(kDivide, "divide", 2, kDivision),
    chlo("chlo.erf", transcendental(kErf, "erf", 1, kExponential)),
    transcendental(kExp, "exponential", 1, kExponential),
    transcendental(kExpm1, "exponential-minus-one", 1, kExponential),
    elementwise(kFloor, "floor", 1),
    elementwise(kImag, "imag", 1),
    transcendental(kLog, "log", 1, kLogarithm),
    transcendental(kLog1p, "log-plus-one", 1, kLogarithm),
    transcendental(kLogistic, "logistic", 1, kExponential),
    scalar(kMaximum, "maximum", 2, kExtremum).with({kScalar, kCommutes}),
    scalar(kMinimum, "minimum", 2, kExtremum).with({kScalar, kCommutes}),
    chlo("chlo.mulhi", elementwise(kMulhi, "mulhi", 2)),
    scalar(kMultiply, "multiply", 2, kProduct).with({kScalar, kCommutes}),
    scalar(kNegate, "negate", 1),
    scalar(kNot, "not", 1),
    scalar(kOr, "or", 2).with({kScalar, kCommutes}),
    elementwise(kPopcnt, "popcnt", 1),
    transcendental(kPower, "power", 2),
    elementwise(kReal, "real", 1),
    scalar(kRemainder, "remainder", 2, kDivision),
    elementwise(kRoundNearestAfz, "round-nearest-afz", 1),
    elementwise(kRoundNearestEven, "round-nearest-even", 1),
    transcendental(kRsqrt, "rsqrt", 1, kRoot),
    scalar(kShiftLeft, "shift-left", 2),
    scalar(kShiftRightArithmetic, "shift-right-arithmetic", 2),
    scalar(kShiftRightLogical, "shift-right-logical", 2),
    elementwise(kSign, "sign", 1),
    transcendental(kSin, "sine", 1),
    chlo("chlo.sinh", transcendental(kSinh, "sinh", 1)),
    transcendental(kSqrt, "sqrt", 1, kRoot),
    scalar(kSubtract, "subtract", 2, kSum),
    transcendental(kTan, "tan", 1),
    transcendental(kTanh, "tanh", 1, kExponential),
    scalar(kXor, "xor", 2).with({kScalar, kCommutes}),
    scalar(kClamp, "clamp", 3, kSelection, {infer::clamp}, {Style::kElementwise, same_sizes_body}),
    scalar(kSelect, "select", 3, kSelection, {infer::select}, function(same_sizes_body)),
    scalar(kCompare, "compare", 2, kSelection, {infer::binary}, function(compare_body))
        .with(holding<CompareAttrs>(rows::kCompare)),
    scalar(kConvert, "convert", 1, kConversion, {infer::convert}, function())
        .with({kView, kScalar}),
    elementwise(kIsFinite, "is-finite", 1, kOther, {infer::unary}, function()),
    elementwise(kBitcastConvert, "bitcast-convert", 1, kOther, {infer::bitcast_convert},
                function()),
    elementwise(kStochasticConvert, "stochastic-convert", 2, kOther, {infer::stochastic_convert},
                {}),
    elementwise(kReducePrecision, "reduce-precision", 1, kOther, {infer::reduce_precision},
                generic(reduce_precision_body))
        .with(holding<>(rows::kReducePrecision)),
    elementwise(kMap, "map", -1, kOther, {infer::map}, generic(reduce_body))
        .with(holding<>(rows::kMap))
        .with(changed<count_map>),

    // ---- movement
    op(kBroadcast, "broadcast", 1, kDataMovement, {kView, kPassesScalar, kSpreads},
       holding<>(rows::kBroadcast), {infer::check_broadcast}, changed<count_broadcast>,
       function(dims_body, "stablehlo.broadcast_in_dim")),
    op(kConcatenate, "concatenate", -1, kDataMovement, {}, kHoldsDims, {infer::concatenate},
       nullptr, function(concatenate_body)),
    op(kCopy, "copy", 1, kDataMovement, {kView, kPassesScalar, kIdentity, kRelayout}, {},
       any_size(infer::first_operand)),
    op(kDynamicReshape, "dynamic-reshape", -1, kDataMovement),
    op(kDynamicSlice, "dynamic-slice", -1, kDataMovement, {kSlices},
       holding<DynamicSliceAttrs>(rows::kDynamicSlice), {infer::dynamic_slice},
       changed<count_slice>, function(dynamic_slice_body)),
    op(kDynamicUpdateSlice, "dynamic-update-slice", -1, kDataMovement, {kKeepsType, kUpdates}, {},
       {infer::dynamic_update_slice}, changed<count_dynamic_update_slice>, function()),
    op(kGetDimensionSize, "get-dimension-size", 1, kDataMovement, {}, kHoldsDims,
       {infer::get_dimension_size}, nullptr, generic(dimension_body)),
    op(kIota, "iota", 0, kDataMovement, {kSpreads}, holding<IndexAttrs>(rows::kIota), {}, nullptr,
       result(iota_body)),
    op(kPad, "pad", 2, kDataMovement, {}, holding<PadAttrs>(rows::kPad), {infer::pad}, nullptr,
       function(pad_body)),
    op(kReshape, "reshape", 1, kDataMovement, {kView, kPassesScalar, kReshapes, kRelayout},
       holding<>(rows::kReshape), {infer::check_reshape}, nullptr, function()),
    op(kReverse, "reverse", 1, kDataMovement, {kView}, kHoldsDims, {infer::reverse}, nullptr,
       result(dims_body)),
    op(kSetDimensionSize, "set-dimension-size", 2, kDataMovement, {}, kHoldsDims,
       {infer::set_dimension_size}, nullptr, generic(dimension_body)),
    op(kShuffle, "shuffle", -1, kDataMovement),
    op(kSlice, "slice", 1, kDataMovement, {kView, kSlices}, holding<SliceAttrs>(rows::kSlice),
       {infer::slice}, changed<count_slice>, function(slice_body)),
    op(kTranspose, "transpose", 1, kDataMovement, {kView, kPassesScalar, kRelayout}, kHoldsDims,
       {infer::transpose}, changed<count_transpose>, function(dims_body)),
    op(kGather, "gather", 2, kIndexed, {}, holding<GatherAttrs>(rows::kGather), {infer::gather},
       changed<count_gather>, generic(gather_body)),
    op(kScatter, "scatter", -1, kIndexed, {kUpdates}, holding<ScatterAttrs>(rows::kScatter),
       {infer::scatter}, changed<count_scatter>, generic(scatter_body)),

    // ---- products and linear algebra
    product(kConvolution, "convolution", 2, holding<ConvAttrs>(rows::kConvolution),
            infer::convolution, generic(convolution_body)),
    product(kDot, "dot", 2, holding<DotAttrs>(rows::kDot), infer::dot,
            function(dot_general_body, "stablehlo.dot_general")),
    product(kRaggedDot, "ragged-dot", 3, holding<DotAttrs>(rows::kRaggedDot), infer::ragged_dot),
    product(kScaledDot, "scaled-dot", 4, holding<DotAttrs>(rows::kDot), infer::scaled_dot),
    op(kCholesky, "cholesky", 1, OpClass::kLinearAlgebra, {},
       holding<TriangularAttrs>(rows::kCholesky), {infer::cholesky}, changed<count_cholesky>,
       generic(cholesky_body)),
    op(kFft, "fft", 1, OpClass::kLinearAlgebra, {}, holding<FftAttrs>(rows::kFft), {infer::fft},
       changed<count_fft>, generic(fft_body)),
    op(kTriangularSolve, "triangular-solve", 2, OpClass::kLinearAlgebra, {},
       holding<TriangularAttrs>(rows::kTriangularSolve), {infer::triangular_solve},
       changed<count_triangular_solve>, generic(triangular_solve_body)),
    normalization(kBatchNormGrad, "batch-norm-grad", 5, infer::batch_norm_grad),
    normalization(kBatchNormInference, "batch-norm-inference", 5, infer::batch_norm_inference),
    normalization(kBatchNormTraining, "batch-norm-training", 3, infer::batch_norm_training),

    // ---- reductions, windows and sorts
    op(kReduce, "reduce", -1, OpClass::kReduction, {kFolds}, holding<>(rows::kReduce),
       {infer::reduce}, changed<count_reduce>, generic(reduce_body)),
    op(kReduceWindow, "reduce-window", -1, OpClass::kReduction, {kFolds},
       holding<WindowAttrs>(rows::kReduceWindow), {infer::reduce_window},
       changed<count_reduce_window>, generic(reduce_window_body)),
    op(kScan, "scan", -1, OpClass::kReduction, {}, holding<>(rows::kScan), {infer::scan},
       changed<count_scan>),
    op(kSelectAndScatter, "select-and-scatter", 3, OpClass::kReduction, {},
       holding<WindowAttrs>(rows::kSelectAndScatter), {infer::select_and_scatter},
       changed<count_select_and_scatter>, generic(select_and_scatter_body)),
    op(kSort, "sort", -1, OpClass::kSort, {}, holding<>(rows::kSort), {infer::sort},
       changed<count_sort>, generic(sort_body)),
    op(kTopK, "topk", 1, OpClass::kSort, {}, holding<IndexAttrs>(rows::kTopK), {infer::top_k},
       nullptr, generic(top_k_body, "chlo.top_k")),

    // ---- random numbers and the host
    op(kRng, "rng", -1, OpClass::kRandom, {}, holding<>(rows::kRng), {}, changed<count_random>),
    op(kRngBitGenerator, "rng-bit-generator", 1, OpClass::kRandom, {},
       holding<>(rows::kRngBitGenerator), {}, changed<count_random>, generic(rng_bits_body)),
    op(kRngGetAndUpdateState, "rng-get-and-update-state", 0, OpClass::kRandom, {},
       holding<>(rows::kRngState), any_size(infer::random_state)),
    op(kInfeed, "infeed", 1, OpClass::kHost, {kKeepsType}, holding<>(rows::kInfeed), {},
       changed<count_infeed>),
    op(kOutfeed, "outfeed", 2, OpClass::kHost, {kKeepsType}, holding<>(rows::kOutfeed),
       any_size(infer::token), changed<count_outfeed>),

    // ---- collectives; an all-gather-start has the attributes of an all-gather
    collective(kAllGather, "all-gather", -1, Exchange::kAllGather, rows::kAllGather,
               infer::all_gather, generic(all_gather_body)),
    collective(kAllReduce, "all-reduce", -1, Exchange::kAllReduce, rows::kAllReduce,
               infer::all_reduce, generic(all_reduce_body))
        .with(changed<count_all_reduce>),
    collective(kAllToAll, "all-to-all", -1, Exchange::kAllToAll, rows::kAllToAll, infer::all_to_all,
               generic(all_to_all_body)),
    collective(kCollectiveBroadcast, "collective-broadcast", -1, Exchange::kBroadcast,
               rows::kCollectiveBroadcast, infer::collective_broadcast, generic(all_reduce_body)),
    collective(kCollectivePermute, "collective-permute", -1, Exchange::kPermute,
               rows::kCollectivePermute, infer::collective_permute,
               generic(collective_permute_body)),
    collective(kCollectiveReduce, "collective-reduce", -1, Exchange::kBroadcast,
               rows::kCollectiveReduce, nullptr),
    collective(kRaggedAllToAll, "ragged-all-to-all", 6, Exchange::kAllToAll, rows::kRaggedAllToAll,
               infer::ragged_all_to_all),
    collective(kReduceScatter, "reduce-scatter", -1, Exchange::kReduceScatter, rows::kReduceScatter,
               infer::reduce_scatter, generic(reduce_scatter_body)),
    collective(kAllGatherStart, "all-gather-start", -1, Exchange::kAllGather, rows::kAllGather,
               infer::all_gather_start)
        .starts(kAllGatherDone, kAllGather, {0, 1}),
    collective(kAllReduceStart, "all-reduce-start", -1, Exchange::kAllReduce, rows::kAllReduce,
               infer::all_reduce)
        .with(changed<count_all_reduce>)
        .starts(kAllReduceDone, kAllReduce, {StartTuple::kNone, StartTuple::kNone}),
    collective(kCollectivePermuteStart, "collective-permute-start", -1, Exchange::kPermute,
               rows::kCollectivePermute, infer::collective_permute_start)
        .starts(kCollectivePermuteDone, kCollectivePermute, {0, 1}),
    collective(kRecv, "recv", 1, Exchange::kPermute, rows::kSendRecv, nullptr)
        .with({kKeepsType, kNeighbour})
        .starts(kRecvDone, kRecv, {StartTuple::kNone, 0}),
    collective(kSend, "send", 2, Exchange::kPermute, rows::kSendRecv, infer::send)
        .with({kKeepsType, kNeighbour})
        .starts(kSendDone, kSend, {0, 2}),
    done(kAllGatherDone, "all-gather-done", kAllGatherStart, {infer::second_element}),
    done(kAllReduceDone, "all-reduce-done", kAllReduceStart, {infer::first_operand}),
    done(kCollectivePermuteDone, "collective-permute-done", kCollectivePermuteStart,
         {infer::second_element}),
    done(kRecvDone, "recv-done", kRecv, {infer::recv_done}, {})
        .with({kKeepsType})
        .with(holding<CollectiveAttrs>(rows::kSendRecv)),
    done(kSendDone, "send-done", kSend, {infer::token}, {})
        .with({kKeepsType})
        .with(holding<CollectiveAttrs>(rows::kSendRecv)),

    // ---- other asynchronous ops
    op(kCopyStart, "copy-start", 1, kDataMovement, {kKeepsType, kPassesScalar},
       holding<>(rows::kCopyStart), any_size(infer::copy_start), nullptr, kOperandForm)
        .starts(kCopyDone, kCopyStart, {1, 0}),
    done(kCopyDone, "copy-done", kCopyStart, any_size(infer::first_element))
        .with({kKeepsType, kPassesScalar}),
    op(kAsyncStart, "async-start", -1, OpClass::kControl, {kAsyncChain},
       holding<AsyncAttrs>(rows::kAsyncStart), {}, count_callee)
        .starts(kAsyncStart, kAsyncStart, {0, 1}),
    op(kAsyncUpdate, "async-update", -1, OpClass::kFree, {kAsyncChain},
       holding<AsyncAttrs>(rows::kAsyncLater), {}, nullptr, kOperandForm),
    done(kAsyncDone, "async-done", kAsyncDone, {})
        .with({kAsyncChain})
        .with(holding<AsyncAttrs>(rows::kAsyncLater)),

    // ---- control and calls
    op(kCall, "call", -1, OpClass::kControl, {kKeepsType, kUntimed}, holding<>(rows::kCall),
       any_size(infer::callee_root), count_callee, function(plain_body, "func.call")),
    op(kConditional, "conditional", -1, OpClass::kControl, {kKeepsType, kUntimed},
       holding<>(rows::kIndexed), any_size(infer::conditional), count_conditional,
       generic(no_attributes_body, "stablehlo.case")),
    op(kWhile, "while", 1, OpClass::kControl, {kKeepsType, kUntimed}, holding<>(rows::kWhile),
       any_size(infer::first_operand), count_while, generic(no_attributes_body)),
    op(kFusion, "fusion", -1, OpClass::kFusion, {}, holding<FusionAttrs>(rows::kFusion),
       any_size(infer::callee_root), count_fusion),
    op(kCustomCall, "custom-call", -1, OpClass::kCustomCall, {kKeepsType, kUntimed},
       holding<CustomCallAttrs>(rows::kCustomCall), {}, count_unknown, generic(custom_call_body)),

    // ---- without work of their own
    free_op(kAddDependency, "add-dependency", 2, {kUntimed, kIdentity}, {},
            any_size(infer::first_operand), kOperandForm),
    free_op(kAfterAll, "after-all", -1, {kUntimed}, {}, any_size(infer::token),
            generic(no_attributes_body)),
    free_op(kBitcast, "bitcast", 1, {kView, kKeepsType, kPassesScalar, kReshapes}),
    free_op(kConstant, "constant", 0, {kKeepsType, kUntimed, kGiven}, holding<ConstantAttrs>(), {},
            result(constant_body)),
    free_op(kDomain, "domain", 1, {kUntimed, kIdentity}, holding<>(rows::kDomain),
            any_size(infer::first_operand), kOperandForm),
    free_op(kGetTupleElement, "get-tuple-element", 1, {kKeepsType, kUntimed},
            holding<IndexAttrs>(rows::kGetTupleElement), any_size(infer::tuple_element),
            function(tuple_element_body)),
    free_op(kParameter, "parameter", 0, {kKeepsType, kUntimed, kGiven}, holding<ParameterAttrs>()),
    free_op(kTuple, "tuple", -1, {kKeepsType}, {}, any_size(infer::tuple), result(plain_body),
            changed<count_tuple>),
    op(kOptBarrier, "opt-barrier", 1, OpClass::kFree, {kKeepsType, kPassesScalar, kIdentity}, {},
       any_size(infer::first_operand), nullptr,
       generic(no_attributes_body, "stablehlo.optimization_barrier")),
    op(kPartitionId, "partition-id", 0, OpClass::kFree, {}, {}, any_size(infer::device_number),
       nullptr, result(no_attributes_body)),
    op(kReplicaId, "replica-id", 0, OpClass::kFree, {}, {}, any_size(infer::device_number), nullptr,
       result(no_attributes_body)),
};

constexpr std::array<std::uint8_t, kOpcodes> kRowOf = [] {
  std::array<std::uint8_t, kOpcodes> rows{};
  for (std::size_t i = 0; i < kOpcodes; ++i) {
    rows[static_cast<std::size_t>(kTable[i].info.opcode)] = static_cast<std::uint8_t>(i);
  }
  return rows;
}();
static_assert(std::size(kTable) == kOpcodes);
template <std::size_t... opcode>
constexpr std::array<OpInfo, kOpcodes> infos(std::index_sequence<opcode...>) {
  return {kTable[kRowOf[opcode]].info...};
}

using Spelling = base::WordEntry<Opcode>;

constexpr base::WordTable kSpellings([] {
  // Spellings in older dumps.
  constexpr std::array kOld = {Spelling{"cross-replica-sum", kAllReduce},
                               Spelling{"tuple-select", kSelect}};
  std::array<Spelling, kOpcodes + kOld.size()> all{};
  const auto end =
      std::transform(std::begin(kTable), std::end(kTable), all.begin(), [](const OpRow& row) {
        return Spelling{row.info.name, row.info.opcode};
      });
  std::copy(kOld.begin(), kOld.end(), end);
  return all;
}());

}  // namespace
}  // namespace ops

constexpr std::array<OpInfo, kOpcodes> kOpInfos = ops::infos(std::make_index_sequence<kOpcodes>());

const OpRow& op_row(Opcode opcode) {
  return ops::kTable[ops::kRowOf[static_cast<std::size_t>(opcode)]];
}

std::span<const AttributeRow> common_attributes() {
  return rows::kCommon;
}

std::span<const AttributeRow> attributes_for(Opcode opcode, bool predicated) {
  if (opcode == Opcode::kConditional && predicated) return rows::kPredicated;
  return op_row(opcode).attributes.rows;
}

std::span<const AttributeRow> short_async_attributes(Opcode opcode) {
  if (!is_async_chain(opcode)) return {};
  return std::span<const AttributeRow>(rows::kAsyncShort)
      .first(opcode == Opcode::kAsyncStart ? 2 : 1);
}

OpAttrs attributes_of(Opcode opcode) {
  const auto empty = op_row(opcode).attributes.empty;
  return empty == nullptr ? OpAttrs() : empty();
}

std::optional<Opcode> parse_opcode(std::string_view text) {
  const Opcode* const found = ops::kSpellings.find(text);
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

}  // namespace tilecast::ir
