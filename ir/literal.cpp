#include "ir/literal.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

namespace tilecast::ir {
namespace {

// Parameters of a binary floating-point format for rounding and printing.
struct FloatFormat {
  int mantissa_bits;  // without the leading one
  int min_exponent;   // smallest exponent of normal numbers, shared by subnormals
  double max_finite;
  int short_digits;  // tried first
  int long_digits;   // enough to distinguish all numbers (max_digits10)
  int payload_bits;
  bool saturates;  // rounds to max_finite instead of leaving the range
};

constexpr double kMaxF32 = std::numeric_limits<float>::max();
constexpr double kMaxF64 = std::numeric_limits<double>::max();
constexpr std::pair<DType, FloatFormat> kFormats[] = {
    {DType::kF16, {10, -14, 65504, 5, 5, 10, false}},
    {DType::kBF16, {7, -126, 0x1.FEp127, 4, 4, 7, false}},
    {DType::kF32, {23, -126, kMaxF32, 6, 9, 23, false}},
    {DType::kC64, {23, -126, kMaxF32, 6, 9, 23, false}},
    {DType::kF64, {52, -1022, kMaxF64, 15, 17, 52, false}},
    {DType::kC128, {52, -1022, kMaxF64, 15, 17, 52, false}},
    {DType::kF4E2M1FN, {1, 0, 6, 2, 2, 0, true}},
    {DType::kF8E3M4, {4, -2, 15.5, 3, 3, 4, false}},
    {DType::kF8E4M3, {3, -6, 240, 3, 3, 3, false}},
    {DType::kF8E4M3B11FNUZ, {3, -10, 30, 3, 3, 0, false}},
    {DType::kF8E4M3FN, {3, -6, 448, 3, 3, 0, false}},
    {DType::kF8E4M3FNUZ, {3, -7, 240, 3, 3, 0, false}},
    {DType::kF8E5M2, {2, -14, 57344, 2, 2, 2, false}},
    {DType::kF8E5M2FNUZ, {2, -15, 57344, 2, 2, 0, false}},
    {DType::kF8E8M0FNU, {0, -127, 0x1p127, 2, 2, 0, false}},
};

const FloatFormat* format_of(DType dtype) {
  for (const auto& [type, format] : kFormats) {
    if (type == dtype) return &format;
  }
  return nullptr;
}

std::string print(double value, int digits) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::general, digits);
  return {text.data(), end.ptr};
}

bool reads_back(const std::string& text, double value, DType dtype) {
  double read = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), read);
  return result.ec == std::errc{} && round_to(read, dtype) == value;
}

// Writes the nested braces of an array literal.
class ArrayWriter {
 public:
  ArrayWriter(std::string& out, const Dims& dims,
              const std::function<void(std::string&)>& append_element)
      : out_(out), dims_(dims), append_element_(append_element) {}

  void write(std::size_t level) {
    if (level == dims_.size()) {
      append_element_(out_);
      return;
    }
    const bool innermost = level + 1 == dims_.size();
    // Rows of a matrix have inner spaces, vectors and rows of at most one element do not.
    const bool spaced = !innermost || (dims_.size() > 1 && dims_[level] > 1);
    out_ += '{';
    if (spaced) out_ += ' ';
    if (!innermost && level > 0 && dims_.size() > 3) append_position(level - 1);
    for (index_[level] = 0; index_[level] < dims_[level]; ++index_[level]) {
      if (index_[level] > 0) out_ += ", ";
      write(level + 1);
    }
    if (spaced && (innermost || dims_[level] > 0)) out_ += ' ';
    out_ += '}';
  }

 private:
  // Appends `/*i0=2*/ `, the outer index, in arrays of more than three dimensions.
  void append_position(std::size_t level) {
    out_ += "/*i" + std::to_string(level) + "=" + std::to_string(index_[level]) + "*/ ";
  }

  std::string& out_;
  const Dims& dims_;
  const std::function<void(std::string&)>& append_element_;
  Dims index_ = Dims(dims_.size(), 0);
};

// True for types that use the bit pattern of -0 as their only NaN.
bool has_unsigned_zero(DType dtype) {
  return name(dtype).ends_with("fnuz");
}

}  // namespace

double round_to(double value, DType dtype) {
  const FloatFormat* format = format_of(dtype);
  if (format == nullptr || value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), format->min_exponent);
  const int quantum = exponent - format->mantissa_bits;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -quantum)), quantum);
  if (std::abs(rounded) <= format->max_finite) return rounded;
  return std::copysign(format->saturates ? format->max_finite : INFINITY, value);
}

double from_bits(std::uint64_t pattern, DType dtype) {
  const FloatFormat* format = format_of(dtype);
  if (format == nullptr) return std::numeric_limits<double>::quiet_NaN();
  const int width = bits(dtype) / (is_complex(dtype) ? 2 : 1);
  if (dtype == DType::kF8E8M0FNU) {
    const int exponent = static_cast<int>(pattern & 0xFFU);
    return exponent == 0xFF ? std::numeric_limits<double>::quiet_NaN()
                            : std::ldexp(1.0, exponent + format->min_exponent);
  }
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  const std::uint64_t leading = std::uint64_t{1} << format->mantissa_bits;
  const std::uint64_t fraction = pattern & (leading - 1);
  const auto exponent = static_cast<int>((pattern & (sign - 1)) >> format->mantissa_bits);
  const bool negative = (pattern & sign) != 0;
  const auto significand = static_cast<double>(exponent == 0 ? fraction : fraction + leading);
  const double magnitude = std::ldexp(
      significand, std::max(exponent - 1, 0) + format->min_exponent - format->mantissa_bits);
  if (!(magnitude <= format->max_finite) ||
      (has_unsigned_zero(dtype) && negative && magnitude == 0)) {
    const bool infinite = format->payload_bits > 0 && fraction == 0;
    const double special = infinite ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
    return std::copysign(special, negative ? -1.0 : 1.0);
  }
  return negative ? -magnitude : magnitude;
}

bool representable(double value, DType dtype) {
  return !std::isfinite(value) || std::isfinite(round_to(value, dtype));
}

std::string canonical_float(double value, DType dtype) {
  const FloatFormat* own = format_of(dtype);
  const FloatFormat& format = own != nullptr ? *own : *format_of(DType::kF64);
  const double rounded = round_to(value, dtype);
  if (std::isnan(rounded)) return std::signbit(rounded) ? "-nan" : "nan";
  if (std::isinf(rounded)) return rounded < 0 ? "-inf" : "inf";
  std::string text = print(rounded, format.short_digits);
  if (format.short_digits == format.long_digits || reads_back(text, rounded, dtype)) return text;
  return print(rounded, format.long_digits);
}

int nan_payload_bits(DType dtype) {
  const FloatFormat* format = format_of(dtype);
  return format != nullptr ? format->payload_bits : 0;
}

std::string canonical_nan(bool negative, std::optional<std::uint64_t> payload, DType dtype) {
  std::string text = negative ? "-nan" : "nan";
  const int bits = nan_payload_bits(dtype);
  if (!payload || bits == 0 || *payload == std::uint64_t{1} << (bits - 1)) return text;
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *payload, 16);
  text += "(0x";
  text.append(digits.data(), end.ptr);
  return text + ")";
}

std::string canonical_float_bits(std::uint64_t bits, DType dtype) {
  const FloatFormat* format = format_of(dtype);
  if (format == nullptr) return std::to_string(bits);
  const double value = from_bits(bits, dtype);
  if (!std::isnan(value)) return canonical_float(value, dtype);
  std::optional<std::uint64_t> payload;
  if (format->payload_bits > 0) payload = bits & ((std::uint64_t{1} << format->mantissa_bits) - 1);
  return canonical_nan(std::signbit(value) && !has_unsigned_zero(dtype), payload, dtype);
}

bool fits_in_text(const Dims& dims) {
  std::int64_t parts = 1;
  for (const std::int64_t dim : dims) {
    if (dim == 0) break;
    if (dim < 0 || parts > kMostInText / dim) return false;
    parts *= dim;
  }
  return true;
}

void append_array_literal(std::string& out, const Dims& dims,
                          const std::function<void(std::string&)>& append_element) {
  ArrayWriter(out, dims, append_element).write(0);
}

}  // namespace tilecast::ir
