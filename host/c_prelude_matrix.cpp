// Matrix product loops shared by all generated functions.
//
//   tc_mm:  c[i][j] += sum over p of a[i][p] * b[p][j]; vectors run along j. Blocks of rows times
//           vectors are held in registers over the whole of k: 4 x 4 (where there are 32 vector
//           registers), 4 x 2, 8 x 1 and single rows. b is read in panels as wide as a block.
//   tc_mmt: c[i][j] += sum over p of a[i][p] * b[j][p]; vectors run along p, four columns at once.
//   tc_mul: c[i][j] += a[i][j] * b[j]; k is not used.
// The last columns, fewer than a vector, are computed one by one.
#include <fmt/format.h>

#include "host/c_prelude.h"

namespace tilecast::host {
namespace {

// One block: `rows` x `vectors` accumulators.
std::string block(int rows, int vectors) {
  std::string text = fmt::format("    for (; i + {0} <= m; i += {0}) {{\n", rows);
  const auto each = [&](const auto& line) {
    for (int r = 0; r < rows; ++r) {
      for (int v = 0; v < vectors; ++v) text += line(r, v);
    }
  };
  each([](int r, int v) {
    return fmt::format("      V c{0}{1} = TC_AT(c + (i + {0})*ldc + j + {1}*L);\n", r, v);
  });
  text += "      for (int64_t p = 0; p < k; ++p) {\n";
  for (int v = 0; v < vectors; ++v) {
    text += fmt::format("        const V b{0} = TC_AT(b + p*ldb + j + {0}*L);\n", v);
  }
  for (int r = 0; r < rows; ++r) {
    text += fmt::format("        const T a{0} = a[(i + {0})*lda + p];\n", r);
    for (int v = 0; v < vectors; ++v) text += fmt::format("        c{0}{1} += a{0}*b{1};\n", r, v);
  }
  text += "      }\n";
  each([](int r, int v) {
    return fmt::format("      TC_AT(c + (i + {0})*ldc + j + {1}*L) = c{0}{1};\n", r, v);
  });
  return text + "    }\n";
}

std::string panel(int vectors, const std::string& condition, std::initializer_list<int> rows) {
  std::string text = fmt::format("  for (; {}j + {}*L <= n; j += {}*L) {{\n    int64_t i = 0;\n",
                                 condition, vectors, vectors);
  for (const int r : rows) text += block(r, vectors);
  return text + "  }\n";
}

std::string product(const std::string& type, const std::string& name) {
  std::string text = fmt::format(
      R"(typedef {0} tc_v{1} __attribute__((vector_size(TC_BYTES), aligned(sizeof({0})), may_alias));
#define T {0}
#define V tc_v{1}
#define L ((int64_t)(TC_BYTES / sizeof({0})))
#define TC_AT(p) (*(V*)(p))
static __attribute__((unused, noinline)) void tc_mm_{1}(int64_t m, int64_t n, int64_t k, const T* restrict a, int64_t lda, const T* restrict b, int64_t ldb, T* restrict c, int64_t ldc) {{
  int64_t j = 0;
)",
      type, name);
  text += panel(4, "TC_BYTES >= 64 && ", {4, 1});
  text += panel(2, "", {4, 1});
  text += panel(1, "", {8, 1});
  text += fmt::format(R"(  if (j == n) return;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p)
      for (int64_t t = j; t < n; ++t) c[i*ldc + t] += a[i*lda + p]*b[p*ldb + t];
}}
static __attribute__((unused, noinline)) void tc_mmt_{0}(int64_t m, int64_t n, int64_t k, const T* restrict a, int64_t lda, const T* restrict b, int64_t ldb, T* restrict c, int64_t ldc) {{
  for (int64_t i = 0; i < m; ++i) {{
    int64_t j = 0;
    for (; j + 4 <= n; j += 4) {{
      V s0 = {{0}}, s1 = {{0}}, s2 = {{0}}, s3 = {{0}};
      const T *x = a + i*lda, *y = b + j*ldb;
      int64_t p = 0;
      for (; p + L <= k; p += L) {{
        const V v = TC_AT(x + p);
        s0 += v*TC_AT(y + p);
        s1 += v*TC_AT(y + ldb + p);
        s2 += v*TC_AT(y + 2*ldb + p);
        s3 += v*TC_AT(y + 3*ldb + p);
      }}
      T r0 = 0, r1 = 0, r2 = 0, r3 = 0;
      for (; p < k; ++p) {{
        r0 += x[p]*y[p];
        r1 += x[p]*y[ldb + p];
        r2 += x[p]*y[2*ldb + p];
        r3 += x[p]*y[3*ldb + p];
      }}
      for (int l = 0; l < L; ++l) {{ r0 += s0[l]; r1 += s1[l]; r2 += s2[l]; r3 += s3[l]; }}
      T* const z = c + i*ldc + j;
      z[0] += r0; z[1] += r1; z[2] += r2; z[3] += r3;
    }}
    for (; j < n; ++j) {{
      V s0 = {{0}}, s1 = {{0}}, s2 = {{0}}, s3 = {{0}};
      const T *x = a + i*lda, *y = b + j*ldb;
      int64_t p = 0;
      for (; p + 4*L <= k; p += 4*L) {{
        s0 += TC_AT(x + p)*TC_AT(y + p);
        s1 += TC_AT(x + p + L)*TC_AT(y + p + L);
        s2 += TC_AT(x + p + 2*L)*TC_AT(y + p + 2*L);
        s3 += TC_AT(x + p + 3*L)*TC_AT(y + p + 3*L);
      }}
      for (; p + L <= k; p += L) s0 += TC_AT(x + p)*TC_AT(y + p);
      s0 = (s0 + s1) + (s2 + s3);
      T r = 0;
      for (; p < k; ++p) r += x[p]*y[p];
      for (int l = 0; l < L; ++l) r += s0[l];
      c[i*ldc + j] += r;
    }}
  }}
}}
static __attribute__((unused, noinline)) void tc_mul_{0}(int64_t m, int64_t n, int64_t k, const T* restrict a, int64_t lda, const T* restrict b, int64_t ldb, T* restrict c, int64_t ldc) {{
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) c[i*ldc + j] += a[i*lda + j]*b[j];
}}
#undef T
#undef V
#undef L
#undef TC_AT
)",
                      name);
  return text;
}

}  // namespace

// Signed overflow must wrap, so integers are multiplied as unsigned.
std::string prelude_matrix() {
  std::string text = R"(#if defined(__AVX512F__)
#define TC_BYTES 64
#elif defined(__AVX__)
#define TC_BYTES 32
#else
#define TC_BYTES 16
#endif
)";
  text += product("float", "f") + product("double", "d");
  text += product("uint32_t", "i32") + product("uint64_t", "i64");
  return text;
}

}  // namespace tilecast::host
