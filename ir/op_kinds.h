// What kinds of op there are: the vocabulary of the columns of the table of ops (ir/op.h).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace tilecast::ir {

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
[[nodiscard]] std::string_view name(OpClass work);

// What kind of arithmetic an elementwise op is, as far as machines differ in it.
enum class Arithmetic : std::uint8_t {
  kOther,
  kSum,  // add, subtract
  kProduct,
  kExtremum,     // maximum, minimum
  kSelection,    // select, compare, clamp
  kConversion,   // convert
  kDivision,     // divide, remainder
  kRoot,         // of any order, and its inverse
  kExponential,  // and what is made of it: tanh, logistic, erf
  kLogarithm,
};

// How data go among the devices of a group.
enum class Exchange : std::uint8_t {
  kNone,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,  // collective-reduce, too: reversed
  kPermute,    // send and receive, too
};

// What several ops have in common and several places ask for.
enum class Trait : std::uint32_t {
  kStartsAsync = 1 << 0,   // the first op of an asynchronous pair or chain
  kAsyncChain = 1 << 1,    // async-start, async-update, async-done
  kView = 1 << 2,          // elements of the operand elsewhere or as another type; no arithmetic
  kPassesScalar = 1 << 3,  // a scalar comes out as it went in
  kScalar = 1 << 4,        // ir/counts/trip_count.h computes it
  kKeepsType = 1 << 5,     // passes data on: not even the precision of its type may differ
  kUntimed = 1 << 6,       // without time of its own in XLA's counts
  kIdentity = 1 << 7,      // the first operand, element for element
  kReshapes = 1 << 8,      // all elements of the operand in their order, in other dimensions
  kSlices = 1 << 9,        // a box of the operand
  kSpreads = 1 << 10,      // many elements made of few or of none: broadcast, iota
  kUpdates = 1 << 11,      // the first operand (of scatter: operands) with some elements replaced
  kFolds = 1 << 12,        // each element combines many of the operand by a called computation
  kNeighbour = 1 << 13,    // send, recv: to or from one other device
  kTwoFactors = 1 << 14,   // a product of just two arrays: dot, convolution
  kRelayout = 1 << 15,     // each element once, at its place in another layout or other dimensions
  kGiven = 1 << 16,        // a value from outside: parameter, constant
  kCommutes = 1 << 17,     // its operands may be swapped, and terms of several be regrouped
};
class Traits {
 public:
  constexpr Traits(std::initializer_list<Trait> traits = {}) {
    for (const Trait trait : traits) add(trait);
  }
  constexpr void add(Trait trait) { bits_ |= static_cast<std::uint32_t>(trait); }
  [[nodiscard]] constexpr bool has(Trait trait) const {
    return (bits_ & static_cast<std::uint32_t>(trait)) != 0;
  }

 private:
  std::uint32_t bits_ = 0;
};

}  // namespace tilecast::ir
