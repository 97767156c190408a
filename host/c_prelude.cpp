#include "host/c_prelude.h"

#include <fmt/format.h>

#include "host/c_kernel.h"

namespace tilecast::host {
namespace {

// Rounds to nearest, ties to even, on the bits of a float. bf16 is its upper half; f16 has a
// mantissa of 10 bits and exponents from -14, below which its numbers are multiples of 2^-24 (like
// the last bits of a float between 0.5 and 1). Branch-free, so that loops vectorise. Integer
// division by zero, oversized shifts and conversions follow XLA's operation semantics.
constexpr std::string_view kIncludes = R"(#include <math.h>
#include <stdint.h>
#include <string.h>
#define TC static inline __attribute__((unused))
#define TC_VECTOR(T, N) \
  typedef T tc_##T##N __attribute__((vector_size(N * sizeof(T)), aligned(sizeof(T)), may_alias));
TC_VECTOR(float, 2) TC_VECTOR(float, 4) TC_VECTOR(float, 8) TC_VECTOR(float, 16)
TC_VECTOR(double, 2) TC_VECTOR(double, 4) TC_VECTOR(double, 8)
)";
constexpr std::string_view kBits =
    R"(TC int64_t tc_smaller(int64_t a, int64_t b) { return a < b ? a : b; }
TC int64_t tc_larger(int64_t a, int64_t b) { return a > b ? a : b; }
TC int64_t tc_count(int64_t n) { return n > 0 ? n : 0; }
TC int64_t tc_index(int64_t i, int64_t high) { return i < 0 ? 0 : i > high ? high : i; }
TC int64_t tc_first(int64_t at, int64_t step, int64_t size) {
  return at <= 0 ? 0 : tc_smaller((at + step - 1) / step, size);
}
TC uint32_t tc_bits_f_u32(float x) { uint32_t b; memcpy(&b, &x, 4); return b; }
TC int32_t tc_bits_f_i32(float x) { int32_t b; memcpy(&b, &x, 4); return b; }
TC float tc_bits_u32_f(uint32_t b) { float x; memcpy(&x, &b, 4); return x; }
TC float tc_bits_i32_f(int32_t b) { float x; memcpy(&x, &b, 4); return x; }
TC uint64_t tc_bits_d_u64(double x) { uint64_t b; memcpy(&b, &x, 8); return b; }
TC int64_t tc_bits_d_i64(double x) { int64_t b; memcpy(&b, &x, 8); return b; }
TC double tc_bits_u64_d(uint64_t b) { double x; memcpy(&x, &b, 8); return x; }
TC double tc_bits_i64_d(int64_t b) { double x; memcpy(&x, &b, 8); return x; }
)";
constexpr std::string_view kHalves =
    R"(TC float tc_from_bf16(uint16_t h) { return tc_bits_u32_f((uint32_t)h << 16); }
TC uint16_t tc_store_bf16(float x) { return (uint16_t)(tc_bits_f_u32(x) >> 16); }
TC float tc_round_bf16(float x) {
  const uint32_t b = tc_bits_f_u32(x);
  const uint32_t r = (b + 0x7fffu + (b >> 16 & 1u)) & 0xffff0000u;
  return tc_bits_u32_f((b & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : r);
}
TC float tc_from_f16(uint16_t h) {
  const uint32_t s = (uint32_t)(h & 0x8000u) << 16, m = h & 0x7fffu;
  const float small = (float)(int32_t)m * 0x1p-24f;
  const uint32_t big = (m << 13) + (m >= 0x7c00u ? 0x70000000u : 0x38000000u);
  return tc_bits_u32_f(s | (m < 0x400u ? tc_bits_f_u32(small) : big));
}
TC uint16_t tc_to_f16(float x) {
  const uint32_t b = tc_bits_f_u32(x), s = b >> 16 & 0x8000u, a = b & 0x7fffffffu;
  const uint32_t normal = (a - 0x38000000u + 0xfffu + (a >> 13 & 1u)) >> 13;
  const uint32_t small = tc_bits_f_u32(tc_bits_u32_f(a < 0x38800000u ? a : 0u) + 0.5f) - 0x3f000000u;
  uint32_t r = a < 0x38800000u ? small : normal;
  r = a >= 0x477ff000u ? 0x7c00u : r;
  r = a > 0x7f800000u ? 0x7e00u : r;
  return (uint16_t)(s | r);
}
TC float tc_round_f16(float x) { return tc_from_f16(tc_to_f16(x)); }
)";
constexpr std::string_view kIntegers =
    R"(#define TC_OF(T, N, S, F, LOW, HIGH, END, MAX)                \
  TC T tc_##N##_of_##S(F x) {                                 \
    F y = x >= END ? HIGH : x;                                \
    y = y < LOW ? LOW : y;                                    \
    y = x == x ? y : 0;                                       \
    return x >= END ? MAX : (T)y;                             \
  }
#define TC_OFS(S, F, H32, H64)                                                            \
  TC_OF(int8_t, i8, S, F, (F)-128, (F)127, (F)127, INT8_MAX)                              \
  TC_OF(uint8_t, u8, S, F, (F)0, (F)255, (F)255, UINT8_MAX)                               \
  TC_OF(int16_t, i16, S, F, (F)-32768, (F)32767, (F)32767, INT16_MAX)                     \
  TC_OF(uint16_t, u16, S, F, (F)0, (F)65535, (F)65535, UINT16_MAX)                        \
  TC_OF(int32_t, i32, S, F, (F)-0x1p31, (F)0, (F)0x1p31, INT32_MAX)                       \
  TC_OF(uint32_t, u32, S, F, (F)0, (F)0, (F)0x1p32, UINT32_MAX)                           \
  TC_OF(int64_t, i64, S, F, (F)-0x1p63, (F)0, (F)0x1p63, INT64_MAX)                       \
  TC_OF(uint64_t, u64, S, F, (F)0, (F)0, (F)0x1p64, UINT64_MAX)
TC_OFS(f, float, 0, 0)
TC_OFS(d, double, 0, 0)
#define TC_SIGNED(T, U, N, BITS, MIN)                                                           \
  TC T tc_div_##N(T a, T b) { return b == 0 ? -1 : b == -1 ? (T)(0 - (U)a) : (T)(a / b); }      \
  TC T tc_rem_##N(T a, T b) { return b == 0 ? a : b == -1 ? 0 : (T)(a % b); }
#define TC_UNSIGNED(T, U, N, BITS, MIN)                                       \
  TC T tc_div_##N(T a, T b) { return b == 0 ? (T)-1 : (T)(a / b); }           \
  TC T tc_rem_##N(T a, T b) { return b == 0 ? a : (T)(a % b); }
#define TC_SHIFTS(T, U, S, N, BITS)                                                             \
  TC T tc_shl_##N(T a, T b) { return (U)b >= BITS ? 0 : (T)((uint64_t)(U)a << (U)b); }          \
  TC T tc_srl_##N(T a, T b) { return (U)b >= BITS ? 0 : (T)((U)a >> (U)b); }                    \
  TC T tc_sra_##N(T a, T b) { return (T)((S)a >> ((U)b >= BITS ? BITS - 1 : (U)b)); }           \
  TC T tc_pow_##N(T a, T b) {                                                                   \
    if (b < 0) return a == 1 ? 1 : a == (T)-1 ? (T)(b % 2 == 0 ? 1 : -1) : 0;                   \
    uint64_t r = 1, s = (uint64_t)a;                                                            \
    for (uint64_t left = (uint64_t)b; left > 0; left >>= 1, s *= s) r *= (left & 1) ? s : 1;    \
    return (T)r;                                                                                \
  }
TC_SIGNED(int8_t, uint32_t, i8, 8, INT8_MIN)
TC_SIGNED(int16_t, uint32_t, i16, 16, INT16_MIN)
TC_SIGNED(int32_t, uint32_t, i32, 32, INT32_MIN)
TC_SIGNED(int64_t, uint64_t, i64, 64, INT64_MIN)
TC_UNSIGNED(uint8_t, uint32_t, u8, 8, 0)
TC_UNSIGNED(uint16_t, uint32_t, u16, 16, 0)
TC_UNSIGNED(uint32_t, uint32_t, u32, 32, 0)
TC_UNSIGNED(uint64_t, uint64_t, u64, 64, 0)
TC_SHIFTS(int8_t, uint8_t, int8_t, i8, 8)
TC_SHIFTS(int16_t, uint16_t, int16_t, i16, 16)
TC_SHIFTS(int32_t, uint32_t, int32_t, i32, 32)
TC_SHIFTS(int64_t, uint64_t, int64_t, i64, 64)
TC_SHIFTS(uint8_t, uint8_t, int8_t, u8, 8)
TC_SHIFTS(uint16_t, uint16_t, int16_t, u16, 16)
TC_SHIFTS(uint32_t, uint32_t, int32_t, u32, 32)
TC_SHIFTS(uint64_t, uint64_t, int64_t, u64, 64)
TC int tc_popcnt(uint64_t x, int bits) {
  int n = 0;
  for (int i = 0; i < bits; ++i) n += (int)(x >> i & 1);
  return n;
}
TC int tc_clz(uint64_t x, int bits) {
  int n = 0;
  while (n < bits && (x >> (bits - 1 - n) & 1) == 0) ++n;
  return n;
}
TC int32_t tc_order_f(float x) {
  const int32_t b = tc_bits_f_i32(x);
  return b < 0 ? b ^ INT32_MAX : b;
}
TC int64_t tc_order_d(double x) {
  const int64_t b = tc_bits_d_i64(x);
  return b < 0 ? b ^ INT64_MAX : b;
}
)";

}  // namespace

std::string prelude_numbers() {
  return std::string(kBits) + std::string(kIntegers);
}

std::string_view c_prelude() {
  static const std::string text = std::string(kIncludes) + std::string(kBits) +
                                  std::string(kHalves) + std::string(kIntegers) +
                                  std::string(prelude_math()) + prelude_matrix();
  return text;
}

namespace {

// Branch-free, so that loops vectorise (tc_pick() selects on the bits, because a compiler would
// move one side of a ?: into a branch). Relative errors are about 1e-7 to 5e-7.
//   exp: Cody and Waite's reduction x = n ln 2 + r (ln 2 in two parts, n by adding 1.5 * 2^23),
//        Taylor's polynomial of degree 7 on |r| <= ln 2 / 2 (remainder 5e-9), 2^n in two factors.
//   log: x = 2^e m with m in [sqrt(1/2), sqrt 2), log m = 2 atanh((m - 1) / (m + 1)) as its series.
//   log1p: log(u) x / (u - 1) with u = 1 + x, which cancels u's rounding (Kahan).
//   expm1: Taylor's polynomial of degree 9 on |x| < 0.4, else exp(x) - 1.
//   tanh: d / (d + 2) with d = expm1(2|x|).   logistic: 1 / (1 + exp(-x)).
//   erf: x P(x^2) for |x| < 1, else 1 - exp(Q(|x|)): P and Q are Chebyshev interpolations of
//        erf(x)/x on [0, 1] (1.3e-9 relative) and of log(erfc(x)) on [1, 4] (5e-8 of erf), computed
//        for this project in double precision.
constexpr std::string_view kMath =
    R"(TC float tc_max_f(float a, float b) { return a != a ? a : a > b ? a : b; }
TC float tc_min_f(float a, float b) { return a != a ? a : a < b ? a : b; }
TC double tc_max_d(double a, double b) { return a != a ? a : a > b ? a : b; }
TC double tc_min_d(double a, double b) { return a != a ? a : a < b ? a : b; }
TC float tc_sign_f(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x; }
TC double tc_sign_d(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }
TC float tc_round_f(float x) { return truncf(x + copysignf(0x1.fffffep-2f, x)); }
TC double tc_round_d(double x) { return round(x); }
TC float tc_pick(int32_t which, float a, float b) {
  const uint32_t mask = 0u - (uint32_t)which;
  return tc_bits_u32_f((tc_bits_f_u32(a) & mask) | (tc_bits_f_u32(b) & ~mask));
}
TC float tc_exp_f(float x) {
  float y = x > 90.0f ? 90.0f : x;
  y = y < -105.0f ? -105.0f : y;
  const float z = y * 0x1.715476p0f + 0x1.8p23f;
  const float n = z - 0x1.8p23f;
  const float r = (y - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const int32_t e = (int32_t)(tc_bits_f_u32(z) - 0x4b400000u);
  const int32_t half = e >> 1;
  const float low = tc_bits_u32_f((uint32_t)(half + 127) << 23);
  const float high = tc_bits_u32_f((uint32_t)(e - half + 127) << 23);
  return p * low * high;
}
TC float tc_log_f(float x) {
  const float tiny = x < 0x1p-126f ? 0x1p23f : 1.0f;
  const uint32_t b = tc_bits_f_u32(x * tiny);
  const int32_t shifted = (int32_t)(b - 0x3f3504f3u);
  const float e = (float)(shifted >> 23) - (x < 0x1p-126f ? 23.0f : 0.0f);
  const float f = tc_bits_u32_f((uint32_t)(shifted & 0x7fffff) + 0x3f3504f3u) - 1.0f;
  const float s = f / (2.0f + f), q = s * s;
  float p = 2.0f / 11;
  p = p * q + 2.0f / 9;
  p = p * q + 2.0f / 7;
  p = p * q + 2.0f / 5;
  p = p * q + 2.0f / 3;
  const float l = 2.0f * s + s * q * p;
  float r = e * 0x1.62e4p-1f + (l + e * 0x1.7f7d1cp-20f);
  r = tc_pick(x == INFINITY, x, r);
  r = tc_pick(x == 0, -INFINITY, r);
  return tc_pick(x >= 0, r, NAN);
}
TC float tc_log1p_f(float x) {
  const float u = 1.0f + x, d = u - 1.0f;
  const float r = tc_log_f(u) * (x / d);
  return tc_pick(d == 0, x, tc_pick(u == INFINITY, u, tc_pick(x == -1, -INFINITY, r)));
}
TC float tc_expm1_f(float x) {
  float p = 1.0f / 362880;
  p = p * x + 1.0f / 40320;
  p = p * x + 1.0f / 5040;
  p = p * x + 1.0f / 720;
  p = p * x + 1.0f / 120;
  p = p * x + 1.0f / 24;
  p = p * x + 1.0f / 6;
  p = p * x + 0.5f;
  const float near = p * x * x + x, far = tc_exp_f(x) - 1.0f;
  return tc_pick(fabsf(x) < 0.4f, near, far);
}
TC float tc_tanh_f(float x) {
  const float a = 2.0f * fabsf(x);
  const float d = tc_expm1_f(a > 40.0f ? 40.0f : a);
  return copysignf(d / (d + 2.0f), x);
}
TC float tc_logistic_f(float x) { return 1.0f / (1.0f + tc_exp_f(-x)); }
TC float tc_erf_f(float x) {
  const float a = fabsf(x), q = x * x;
  float p = 7.87587505e-05f;
  p = p * q - 0.000801686428f;
  p = p * q + 0.00518908742f;
  p = p * q - 0.026854212f;
  p = p * q + 0.112835947f;
  p = p * q - 0.376126267f;
  p = p * q + 1.12837917f;
  const float y = a > 4.0f ? 4.0f : a;
  float g = -1.32723618e-05f;
  g = g * y + 0.000316937023f;
  g = g * y - 0.00343235138f;
  g = g * y + 0.0226047722f;
  g = g * y - 0.103281118f;
  g = g * y - 0.639141258f;
  g = g * y - 1.12589365f;
  g = g * y - 0.000765897778f;
  const float far = copysignf(1.0f - tc_exp_f(g), x);
  return tc_pick(a < 1.0f, x * p, far);
}
TC double tc_exp_d(double x) { return exp(x); }
TC double tc_expm1_d(double x) { return expm1(x); }
TC double tc_log_d(double x) { return log(x); }
TC double tc_log1p_d(double x) { return log1p(x); }
TC double tc_tanh_d(double x) { return tanh(x); }
TC double tc_logistic_d(double x) { return 1.0 / (1.0 + exp(-x)); }
TC double tc_erf_d(double x) { return erf(x); }
)";

}  // namespace

std::string_view prelude_math() {
  return kMath;
}

// Matrix product loops shared by all generated functions.
//
//   tc_mm:  c[i][j] += sum over p of a[i][p] * b[p][j]; vectors run along j. Blocks of rows times
//           vectors are held in registers over the whole of k: 4 x 4 (where there are 32 vector
//           registers), 4 x 2, 8 x 1 and single rows. b is read in panels as wide as a block.
//   tc_mmt: c[i][j] += sum over p of a[i][p] * b[j][p]; vectors run along p, four columns at once.
//   tc_mul: c[i][j] += a[i][j] * b[j]; k is not used.
// The last columns, fewer than a vector, are computed one by one.

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
