// Registers that the innermost loop of an expression needs: how a compiler's answer is foreseen.
//
// An expression is what one array is computed from, up to the arrays that are read: parameters and
// the results of reductions, products and other ops that have loops of their own. Its innermost
// loop runs along the minor-most dimension of the array.
//
// Sethi and Ullman, "The Generation of Optimal Code for Arithmetic Expressions", JACM 17(4), 1970:
// the operand that needs most is computed first and holds one register while the others are, so
// that an op needs max over i of (need_i + i), needs descending, at least 1. As on machines with
// operands in memory one operand of an op is read where it is used (need 0). A product that only
// one sum uses is one op of three operands with it. Values that do not change along the innermost
// loop are computed before it and stay in registers of their own.
//
// An estimate: the compiler may order, unroll and repeat ops otherwise. Thread-safe.
#pragma once

#include "ir/kernel.h"

namespace tilecast::learned {

struct RegisterNeed {
  double pressure = 0;     // registers of values that change along the loop, at the most
  double invariants = 0;   // values that do not change along it
  double streams = 0;      // arrays read along their minor-most dimension
  double strided = 0;      // arrays read along another one
  double ops = 0;          // arithmetic, in one iteration
  double shared = 0;       // of these, used more than once
  double functions = 0;    // exponentials, logarithms, trigonometric and the like
  double divisions = 0;    // and remainders, square and cube roots
  double selections = 0;   // compare, select, clamp, minimum, maximum
  double conversions = 0;  // of the type
};

// Of the array `root` of the kernel. Of a reduction: of its first operand.
[[nodiscard]] RegisterNeed register_need(const ir::Kernel& kernel, ir::OpId root);

}  // namespace tilecast::learned
