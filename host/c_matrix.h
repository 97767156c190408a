// Matrix products of generated C: how a dot or convolution becomes calls of the shared loops
//
//   tc_mm_f(m, n, k, a, lda, b, ldb, c, ldc)     c[i][j] += sum over p of a[i][p] * b[p][j]
//   tc_mmt_f(...)                                c[i][j] += sum over p of a[i][p] * b[j][p]
//
// in c_prelude_matrix.cpp, on operands packed to suit them. What does not fit one call becomes
// loops around it.
#pragma once

#include <string>
#include <vector>

#include "host/c_pass.h"

namespace tilecast::host {

constexpr std::int64_t kSkinny = 8;  // columns below which vectors would be mostly empty

// A dimension of a product: how far its neighbours lie apart in the three arrays (0: not there).
struct ProductDim {
  Affine size;
  std::int64_t largest = 1;
  std::int64_t a = 0, b = 0, c = 0;
};

struct Product {
  std::string function;           // "tc_mm_f"
  std::string a, b, c;            // buffers, with an offset where wanted
  std::vector<ProductDim> rows;   // candidates for m: any of them; the others become loops
  ProductDim columns, depth;      // n, k
  std::vector<ProductDim> outer;  // loops around
  std::int64_t ldb = 0;           // between rows of b
  std::int64_t lanes = 1;         // rows of b and c have room for whole multiples of this
};

// Elements of a vector of 64 bytes: what a padded row is a multiple of.
[[nodiscard]] std::int64_t padded_lanes(const std::string& type);
// Joins dimensions (outer to inner) through which all three arrays run on.
[[nodiscard]] std::vector<ProductDim> joined(std::vector<ProductDim> dims);
// "f", "d", "i32", "i64": how the loops for a result of this type are called.
[[nodiscard]] std::string product_suffix(ir::DType dtype);
// Zeroes the accumulators, in the first piece of what is split.
void clear(const Pass& pass, const Stage& stage, const std::vector<const PassLoop*>& split,
           Writer& out);
void write_product(const Symbols& symbols, Product product, Writer& out);

}  // namespace tilecast::host
