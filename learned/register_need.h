// Estimates the registers that the innermost loop of an expression needs.
//
// An expression consists of the ops that compute one array, up to the arrays that are read:
// parameters and results of reductions, products and other ops with their own loops. Its innermost
// loop runs along the array's minor-most dimension.
//
// Sethi and Ullman, "The Generation of Optimal Code for Arithmetic Expressions", JACM 17(4), 1970:
// the operand with the greatest need is computed first and then holds one register while the others
// are computed. So an op needs max over i of (need_i + i), with needs in descending order, and at
// least 1. As on machines with memory operands, one operand of an op may be read where it is used
// (need 0). A product used only by one sum is fused with it to an op with three operands. Values
// that do not change along the innermost loop are computed before it and stay in separate
// registers. A real compiler may order, unroll and duplicate ops differently. Thread-safe.
#pragma once

#include "ir/kernel.h"

namespace tilecast::learned {

struct RegisterNeed {
  double pressure = 0;     // maximum registers of values that change along the loop
  double invariants = 0;   // values that do not change along it
  double streams = 0;      // arrays read along their minor-most dimension
  double strided = 0;      // arrays read along another one
  double ops = 0;          // arithmetic ops per iteration
  double shared = 0;       // ops whose result is used more than once
  double functions = 0;    // exponentials, logarithms, trigonometric and the like
  double divisions = 0;    // and remainders, square and cube roots
  double selections = 0;   // compare, select, clamp, minimum, maximum
  double conversions = 0;  // type conversions
};

// For the expression of array `root`; if that is a reduction, for its first operand.
[[nodiscard]] RegisterNeed register_need(const ir::Kernel& kernel, ir::OpId root);

}  // namespace tilecast::learned
