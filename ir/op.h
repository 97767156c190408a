// Every HLO opcode, and what is asked about it everywhere; whole rows are in ir/ops/op_table.cpp.
// The set is closed: an unknown opcode is an error.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "ir/op_kinds.h"

namespace tilecast::ir {

// Source: XLA's opcode list (March 2026 plus the August 2026 additions and old spellings).
enum class Opcode : std::uint8_t {
  // clang-format off
    kAbs, kAcos, kAcosh, kAdd, kAddDependency, kAfterAll, kAllGather, kAllGatherDone,
    kAllGatherStart, kAllReduce, kAllReduceDone, kAllReduceStart, kAllToAll, kAnd, kAsin, kAsinh,
    kAsyncDone, kAsyncStart, kAsyncUpdate, kAtan, kAtan2, kAtanh, kBatchNormGrad,
    kBatchNormInference, kBatchNormTraining, kBitcast, kBitcastConvert, kBroadcast, kCall, kCbrt,
    kCeil, kCholesky, kClamp, kClz, kCollectiveBroadcast, kCollectivePermute,
    kCollectivePermuteDone, kCollectivePermuteStart, kCollectiveReduce, kCompare, kComplex,
    kConcatenate, kConditional, kConstant, kConvert, kConvolution, kCopy, kCopyDone, kCopyStart,
    kCos, kCosh, kCustomCall, kDivide, kDomain, kDot, kDynamicReshape, kDynamicSlice,
    kDynamicUpdateSlice, kErf, kExp, kExpm1, kFft, kFloor, kFusion, kGather, kGetDimensionSize,
    kGetTupleElement, kImag, kInfeed, kIota, kIsFinite, kLog, kLog1p, kLogistic, kMap, kMaximum,
    kMinimum, kMulhi, kMultiply, kNegate, kNot, kOptBarrier, kOr, kOutfeed, kPad, kParameter,
    kPartitionId, kPopcnt, kPower, kRaggedAllToAll, kRaggedDot, kReal, kRecv, kRecvDone, kReduce,
    kReducePrecision, kReduceScatter, kReduceWindow, kRemainder, kReplicaId, kReshape, kReverse,
    kRng, kRngBitGenerator, kRngGetAndUpdateState, kRoundNearestAfz, kRoundNearestEven, kRsqrt,
    kScaledDot, kScan, kScatter, kSelect, kSelectAndScatter, kSend, kSendDone, kSetDimensionSize,
    kShiftLeft, kShiftRightArithmetic, kShiftRightLogical, kShuffle, kSign, kSin, kSinh, kSlice,
    kSort, kSqrt, kStochasticConvert, kSubtract, kTan, kTanh, kTopK, kTranspose, kTriangularSolve,
    kTuple, kWhile, kXor,
  // clang-format on
};
inline constexpr std::size_t kOpcodes = static_cast<std::size_t>(Opcode::kXor) + 1;

struct OpInfo {
  Opcode opcode = Opcode::kParameter;
  std::string_view name;
  int arity = 0;  // -1 = variadic
  OpClass work = OpClass::kFree;
  Arithmetic arithmetic = Arithmetic::kOther;
  Traits traits;
  Opcode partner = opcode;  // of the start of an asynchronous pair its end, and the other way round
  Opcode plain = opcode;    // of the start of an asynchronous collective the collective
  Exchange exchange = Exchange::kNone;
};

extern const std::array<OpInfo, kOpcodes> kOpInfos;  // by opcode

[[nodiscard]] inline const OpInfo& info(Opcode opcode) {
  return kOpInfos[static_cast<std::size_t>(opcode)];
}
[[nodiscard]] inline std::string_view name(Opcode opcode) {
  return info(opcode).name;
}
[[nodiscard]] inline OpClass op_class(Opcode opcode) {
  return info(opcode).work;
}
[[nodiscard]] inline Arithmetic arithmetic(Opcode opcode) {
  return info(opcode).arithmetic;
}
[[nodiscard]] inline bool has(Opcode opcode, Trait trait) {
  return info(opcode).traits.has(trait);
}
// The opcode spelled `text`, old spellings included; nullopt if unknown.
[[nodiscard]] std::optional<Opcode> parse_opcode(std::string_view text);

[[nodiscard]] constexpr bool is_one_of(Opcode opcode, std::initializer_list<Opcode> opcodes) {
  for (const Opcode candidate : opcodes) {
    if (candidate == opcode) return true;
  }
  return false;
}
// The first op of an asynchronous pair or chain (send and receive too).
[[nodiscard]] inline bool starts_asynchronously(Opcode opcode) {
  return has(opcode, Trait::kStartsAsync);
}
[[nodiscard]] inline bool is_async_chain(Opcode opcode) {
  return has(opcode, Trait::kAsyncChain);
}
// Gives the bytes of its first operand on as they are: bitcast, opt-barrier, add-dependency,
// domain.
[[nodiscard]] inline bool passes_bytes_on(Opcode opcode) {
  return op_class(opcode) == OpClass::kFree &&
         (has(opcode, Trait::kIdentity) || has(opcode, Trait::kReshapes));
}
// while, conditional, call.
[[nodiscard]] inline bool is_control_flow(Opcode opcode) {
  return op_class(opcode) == OpClass::kControl && !is_async_chain(opcode);
}
// True for ops that map elements one to one (elementwise, transcendental except map's callee rules,
// convert, select, clamp): result dims equal operand dims.
[[nodiscard]] inline bool is_elementwise(Opcode opcode) {
  return op_class(opcode) == OpClass::kElementwise || op_class(opcode) == OpClass::kTranscendental;
}
// XLA's "expensive" ops, which fusion must not duplicate (InstructionFusion).
[[nodiscard]] inline bool is_expensive(Opcode opcode) {
  const OpClass work = op_class(opcode);
  if (work == OpClass::kElementwise) {
    return arithmetic(opcode) == Arithmetic::kDivision || opcode == Opcode::kMap;
  }
  return work != OpClass::kFree && work != OpClass::kDataMovement && work != OpClass::kAsyncDone;
}

}  // namespace tilecast::ir
