// Matrix products in generated C. A dot or convolution becomes calls of the shared loops
//
//   tc_mm_f(m, n, k, a, lda, b, ldb, c, ldc)     c[i][j] += sum over p of a[i][p] * b[p][j]
//   tc_mmt_f(...)                                c[i][j] += sum over p of a[i][p] * b[j][p]
//
// in c_prelude.cpp, on operands packed for them, with further loops around the call for the
// remaining dimensions.
#pragma once

#include <string>
#include <vector>

#include "host/c_pass.h"

namespace tilecast::host {

constexpr std::int64_t kSkinny = 8;  // with fewer columns, vectors would be mostly empty

// A dimension of a product, with its stride in each array in elements (0: not a dimension of it).
struct ProductDim {
  Index size;
  std::int64_t largest = 1;
  std::int64_t a = 0, b = 0, c = 0;
};

struct Product {
  std::string function;           // "tc_mm_f"
  std::string a, b, c;            // buffer names, with an optional offset
  std::vector<ProductDim> rows;   // candidates for m; the others become loops
  ProductDim columns, depth;      // n, k
  std::vector<ProductDim> outer;  // surrounding loops
  std::int64_t ldb = 0;           // row stride of b, elements
  std::int64_t lanes = 1;         // rows of b and c are padded to multiples of this
};

// Elements per 64-byte vector; rows are padded to a multiple of this.
[[nodiscard]] std::int64_t padded_lanes(const std::string& type);
// Merges adjacent dimensions (outer to inner) that are contiguous in all three arrays.
[[nodiscard]] std::vector<ProductDim> joined(std::vector<ProductDim> dims);
// Suffix of the loops for a result of this type: "f", "d", "i32" or "i64".
[[nodiscard]] std::string product_suffix(ir::DType dtype);
// Zeroes the accumulators in the first piece of the split loops.
void clear(const Pass& pass, const Stage& stage, const std::vector<const PassLoop*>& split,
           Writer& out);
void write_product(Product product, Writer& out);

}  // namespace tilecast::host
