#include "host/c_prelude.h"

namespace tilecast::host {
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

}  // namespace tilecast::host
