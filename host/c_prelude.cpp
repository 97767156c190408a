#include "host/c_prelude.h"

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

}  // namespace tilecast::host
