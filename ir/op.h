// Every HLO opcode: one row each, with its text name, operand count and class of work. The set is
// closed: an unknown opcode is an error.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace tilecast::ir {

// Name in C++, name in HLO text, number of operands (-1 = variadic), class of work.
// Source: XLA's opcode list (March 2026 plus the August 2026 additions and old spellings).
// clang-format off
#define TILECAST_OPCODES(X)                                            \
  X(kAbs, "abs", 1, kElementwise)                                      \
  X(kAcos, "acos", 1, kTranscendental)                                 \
  X(kAcosh, "acosh", 1, kTranscendental)                               \
  X(kAdd, "add", 2, kElementwise)                                      \
  X(kAddDependency, "add-dependency", 2, kFree)                        \
  X(kAfterAll, "after-all", -1, kFree)                                 \
  X(kAllGather, "all-gather", -1, kCollective)                         \
  X(kAllGatherDone, "all-gather-done", 1, kAsyncDone)                  \
  X(kAllGatherStart, "all-gather-start", -1, kCollective)              \
  X(kAllReduce, "all-reduce", -1, kCollective)                         \
  X(kAllReduceDone, "all-reduce-done", 1, kAsyncDone)                  \
  X(kAllReduceStart, "all-reduce-start", -1, kCollective)              \
  X(kAllToAll, "all-to-all", -1, kCollective)                          \
  X(kAnd, "and", 2, kElementwise)                                      \
  X(kAsin, "asin", 1, kTranscendental)                                 \
  X(kAsinh, "asinh", 1, kTranscendental)                               \
  X(kAsyncDone, "async-done", 1, kAsyncDone)                           \
  X(kAsyncStart, "async-start", -1, kControl)                          \
  X(kAsyncUpdate, "async-update", -1, kFree)                           \
  X(kAtan, "atan", 1, kTranscendental)                                 \
  X(kAtan2, "atan2", 2, kTranscendental)                               \
  X(kAtanh, "atanh", 1, kTranscendental)                               \
  X(kBatchNormGrad, "batch-norm-grad", 5, kNormalization)              \
  X(kBatchNormInference, "batch-norm-inference", 5, kNormalization)    \
  X(kBatchNormTraining, "batch-norm-training", 3, kNormalization)      \
  X(kBitcast, "bitcast", 1, kFree)                                     \
  X(kBitcastConvert, "bitcast-convert", 1, kElementwise)               \
  X(kBroadcast, "broadcast", 1, kDataMovement)                         \
  X(kCall, "call", -1, kControl)                                       \
  X(kCbrt, "cbrt", 1, kTranscendental)                                 \
  X(kCeil, "ceil", 1, kElementwise)                                    \
  X(kCholesky, "cholesky", 1, kLinearAlgebra)                          \
  X(kClamp, "clamp", 3, kElementwise)                                  \
  X(kClz, "count-leading-zeros", 1, kElementwise)                      \
  X(kCollectiveBroadcast, "collective-broadcast", -1, kCollective)     \
  X(kCollectivePermute, "collective-permute", -1, kCollective)         \
  X(kCollectivePermuteDone, "collective-permute-done", 1, kAsyncDone)  \
  X(kCollectivePermuteStart, "collective-permute-start", -1, kCollective) \
  X(kCollectiveReduce, "collective-reduce", -1, kCollective)           \
  X(kCompare, "compare", 2, kElementwise)                              \
  X(kComplex, "complex", 2, kElementwise)                              \
  X(kConcatenate, "concatenate", -1, kDataMovement)                    \
  X(kConditional, "conditional", -1, kControl)                         \
  X(kConstant, "constant", 0, kFree)                                   \
  X(kConvert, "convert", 1, kElementwise)                              \
  X(kConvolution, "convolution", 2, kMatrix)                           \
  X(kCopy, "copy", 1, kDataMovement)                                   \
  X(kCopyDone, "copy-done", 1, kAsyncDone)                             \
  X(kCopyStart, "copy-start", 1, kDataMovement)                        \
  X(kCos, "cosine", 1, kTranscendental)                                \
  X(kCosh, "cosh", 1, kTranscendental)                                 \
  X(kCustomCall, "custom-call", -1, kCustomCall)                       \
  X(kDivide, "divide", 2, kElementwise)                                \
  X(kDomain, "domain", 1, kFree)                                       \
  X(kDot, "dot", 2, kMatrix)                                           \
  X(kDynamicReshape, "dynamic-reshape", -1, kDataMovement)             \
  X(kDynamicSlice, "dynamic-slice", -1, kDataMovement)                 \
  X(kDynamicUpdateSlice, "dynamic-update-slice", -1, kDataMovement)    \
  X(kErf, "erf", 1, kTranscendental)                                   \
  X(kExp, "exponential", 1, kTranscendental)                           \
  X(kExpm1, "exponential-minus-one", 1, kTranscendental)               \
  X(kFft, "fft", 1, kLinearAlgebra)                                    \
  X(kFloor, "floor", 1, kElementwise)                                  \
  X(kFusion, "fusion", -1, kFusion)                                    \
  X(kGather, "gather", 2, kIndexed)                                    \
  X(kGetDimensionSize, "get-dimension-size", 1, kDataMovement)         \
  X(kGetTupleElement, "get-tuple-element", 1, kFree)                   \
  X(kImag, "imag", 1, kElementwise)                                    \
  X(kInfeed, "infeed", 1, kHost)                                       \
  X(kIota, "iota", 0, kDataMovement)                                   \
  X(kIsFinite, "is-finite", 1, kElementwise)                           \
  X(kLog, "log", 1, kTranscendental)                                   \
  X(kLog1p, "log-plus-one", 1, kTranscendental)                        \
  X(kLogistic, "logistic", 1, kTranscendental)                         \
  X(kMap, "map", -1, kElementwise)                                     \
  X(kMaximum, "maximum", 2, kElementwise)                              \
  X(kMinimum, "minimum", 2, kElementwise)                              \
  X(kMulhi, "mulhi", 2, kElementwise)                                  \
  X(kMultiply, "multiply", 2, kElementwise)                            \
  X(kNegate, "negate", 1, kElementwise)                                \
  X(kNot, "not", 1, kElementwise)                                      \
  X(kOptBarrier, "opt-barrier", 1, kFree)                              \
  X(kOr, "or", 2, kElementwise)                                        \
  X(kOutfeed, "outfeed", 2, kHost)                                     \
  X(kPad, "pad", 2, kDataMovement)                                     \
  X(kParameter, "parameter", 0, kFree)                                 \
  X(kPartitionId, "partition-id", 0, kFree)                            \
  X(kPopcnt, "popcnt", 1, kElementwise)                                \
  X(kPower, "power", 2, kTranscendental)                               \
  X(kRaggedAllToAll, "ragged-all-to-all", 6, kCollective)              \
  X(kRaggedDot, "ragged-dot", 3, kMatrix)                              \
  X(kReal, "real", 1, kElementwise)                                    \
  X(kRecv, "recv", 1, kCollective)                                     \
  X(kRecvDone, "recv-done", 1, kAsyncDone)                             \
  X(kReduce, "reduce", -1, kReduction)                                 \
  X(kReducePrecision, "reduce-precision", 1, kElementwise)             \
  X(kReduceScatter, "reduce-scatter", -1, kCollective)                 \
  X(kReduceWindow, "reduce-window", -1, kReduction)                    \
  X(kRemainder, "remainder", 2, kElementwise)                          \
  X(kReplicaId, "replica-id", 0, kFree)                                \
  X(kReshape, "reshape", 1, kDataMovement)                             \
  X(kReverse, "reverse", 1, kDataMovement)                             \
  X(kRng, "rng", -1, kRandom)                                          \
  X(kRngBitGenerator, "rng-bit-generator", 1, kRandom)                 \
  X(kRngGetAndUpdateState, "rng-get-and-update-state", 0, kRandom)     \
  X(kRoundNearestAfz, "round-nearest-afz", 1, kElementwise)            \
  X(kRoundNearestEven, "round-nearest-even", 1, kElementwise)          \
  X(kRsqrt, "rsqrt", 1, kTranscendental)                               \
  X(kScaledDot, "scaled-dot", 4, kMatrix)                              \
  X(kScan, "scan", -1, kReduction)                                     \
  X(kScatter, "scatter", -1, kIndexed)                                 \
  X(kSelect, "select", 3, kElementwise)                                \
  X(kSelectAndScatter, "select-and-scatter", 3, kReduction)            \
  X(kSend, "send", 2, kCollective)                                     \
  X(kSendDone, "send-done", 1, kAsyncDone)                             \
  X(kSetDimensionSize, "set-dimension-size", 2, kDataMovement)         \
  X(kShiftLeft, "shift-left", 2, kElementwise)                         \
  X(kShiftRightArithmetic, "shift-right-arithmetic", 2, kElementwise)  \
  X(kShiftRightLogical, "shift-right-logical", 2, kElementwise)        \
  X(kShuffle, "shuffle", -1, kDataMovement)                            \
  X(kSign, "sign", 1, kElementwise)                                    \
  X(kSin, "sine", 1, kTranscendental)                                  \
  X(kSinh, "sinh", 1, kTranscendental)                                 \
  X(kSlice, "slice", 1, kDataMovement)                                 \
  X(kSort, "sort", -1, kSort)                                          \
  X(kSqrt, "sqrt", 1, kTranscendental)                                 \
  X(kStochasticConvert, "stochastic-convert", 2, kElementwise)         \
  X(kSubtract, "subtract", 2, kElementwise)                            \
  X(kTan, "tan", 1, kTranscendental)                                   \
  X(kTanh, "tanh", 1, kTranscendental)                                 \
  X(kTopK, "topk", 1, kSort)                                           \
  X(kTranspose, "transpose", 1, kDataMovement)                         \
  X(kTriangularSolve, "triangular-solve", 2, kLinearAlgebra)           \
  X(kTuple, "tuple", -1, kFree)                                        \
  X(kWhile, "while", 1, kControl)                                      \
  X(kXor, "xor", 2, kElementwise)
// clang-format on

enum class Opcode : std::uint8_t {
#define TILECAST_OPCODE_ENUM(id, text, arity, work) id,
  TILECAST_OPCODES(TILECAST_OPCODE_ENUM)
#undef TILECAST_OPCODE_ENUM
};

// The kind of work an opcode does; cost models dispatch on it.
enum class OpClass : std::uint8_t {
  kFree,            // no time of its own: parameter, constant, tuple, bitcast ...
  kElementwise,     // vector unit
  kTranscendental,  // counted as transcendentals by XLA
  kMatrix,          // dot, convolution
  kReduction,       // reduce, reduce-window, select-and-scatter, scan
  kDataMovement,    // copies, transposes, slices, broadcasts, iota
  kIndexed,         // gather, scatter
  kSort,
  kRandom,
  kNormalization,  // batch-norm-*
  kLinearAlgebra,  // fft, cholesky, triangular-solve
  kFusion,
  kCollective,  // crosses devices (send and recv too)
  kAsyncDone,   // end of an asynchronous pair
  kControl,     // while, conditional, call, async-start: runs other computations
  kCustomCall,  // opaque
  kHost,        // infeed, outfeed
};

struct OpInfo {
  Opcode opcode;
  std::string_view name;
  int arity;  // -1 = variadic
  OpClass work;
};

inline constexpr std::array kOps = {  // by opcode
#define TILECAST_OPCODE_ROW(id, text, arity, work) OpInfo{Opcode::id, text, arity, OpClass::work},
    TILECAST_OPCODES(TILECAST_OPCODE_ROW)
#undef TILECAST_OPCODE_ROW
};

[[nodiscard]] constexpr const OpInfo& info(Opcode opcode) {
  return kOps[static_cast<std::size_t>(opcode)];
}
[[nodiscard]] inline std::string_view name(Opcode opcode) {
  return info(opcode).name;
}
[[nodiscard]] inline OpClass op_class(Opcode opcode) {
  return info(opcode).work;
}
[[nodiscard]] std::string_view name(OpClass work);
// The opcode spelled `text`, old spellings included; nullopt if unknown.
[[nodiscard]] std::optional<Opcode> parse_opcode(std::string_view text);

[[nodiscard]] constexpr bool is_one_of(Opcode opcode, std::initializer_list<Opcode> opcodes) {
  for (const Opcode candidate : opcodes) {
    if (candidate == opcode) return true;
  }
  return false;
}
// The first op of an asynchronous pair or chain (send and receive too).
[[nodiscard]] bool starts_asynchronously(Opcode opcode);
// async-start, async-update, async-done.
[[nodiscard]] bool is_async_chain(Opcode opcode);

// True for ops that map elements one to one (elementwise, transcendental except map's callee rules,
// convert, select, clamp): result dims equal operand dims.
[[nodiscard]] bool is_elementwise(Opcode opcode);
// XLA's "expensive" ops, which fusion must not duplicate (InstructionFusion).
[[nodiscard]] bool is_expensive(Opcode opcode);

}  // namespace tilecast::ir
