#include "tests/host/array_bytes.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "analytical/iteration_space.h"
#include "base/error.h"
#include "tests/interpreter/evaluate_ops.h"

namespace tilecast::host {
namespace {

using ir::DType;

std::uint16_t f16_bits(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::abs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (std::isinf(value)) return sign | 0x7c00;
  if (size < 0x1p-14) return sign | static_cast<std::uint16_t>(std::ldexp(size, 24));
  const int exponent = std::ilogb(size);
  const auto mantissa = static_cast<std::uint16_t>(std::ldexp(size, 10 - exponent) - 1024);
  return static_cast<std::uint16_t>(sign | (exponent + 15) << 10 | mantissa);
}

double f16_value(std::uint16_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  const int exponent = bits >> 10U & 0x1fU, mantissa = bits & 0x3ffU;
  if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}
template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

void store_number(std::byte* to, DType dtype, double value) {
  const auto bf16 = [&] { return std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16U; };
  switch (dtype) {
    case DType::kF64:
      return store(to, value);
    case DType::kF32:
      return store(to, static_cast<float>(value));
    case DType::kBF16:
      return store(to, static_cast<std::uint16_t>(bf16()));
    case DType::kF16:
      return store(to, f16_bits(value));
    default:  // integers: the low bytes of two's complement
      break;
  }
  const std::uint64_t all = interpreter::integer_bits(value);
  std::memcpy(to, &all, static_cast<std::size_t>(ir::storage_bytes(dtype)));
}

double load_number(const std::byte* from, DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return load<double>(from);
    case DType::kF32:
      return load<float>(from);
    case DType::kBF16:
      return std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(from)} << 16U);
    case DType::kF16:
      return f16_value(load<std::uint16_t>(from));
    default:
      break;
  }
  std::uint64_t all = 0;
  std::memcpy(&all, from, static_cast<std::size_t>(ir::storage_bytes(dtype)));
  // A pred other than 0 and 1 is an error that must remain visible.
  return dtype == DType::kPred ? static_cast<double>(all) : interpreter::wrapped(all, dtype);
}

// Calls visit(byte offset) for all elements in row-major order.
template <class Visit>
void walk_bytes(const ir::Shape& shape, Visit&& visit) {
  static_assert(std::endian::native == std::endian::little);
  const ir::Dims order = analytical::physical_order(shape);
  ir::Dims steps(shape.dims.size(), 0);
  std::int64_t next = ir::storage_bytes(shape.dtype);
  for (std::size_t i = order.size(); i > 0; --i) {
    const auto dim = static_cast<std::size_t>(order[i - 1]);
    steps[dim] = next;
    next *= shape.dims[dim];
  }
  interpreter::walk(shape.dims, 0, steps, visit);
}

std::size_t byte_count(const ir::Shape& shape) {
  return static_cast<std::size_t>(ir::element_count(shape) * ir::storage_bytes(shape.dtype));
}

}  // namespace

std::vector<std::byte> to_bytes(const ir::Shape& shape, const interpreter::Elements& elements) {
  std::vector<std::byte> bytes(byte_count(shape));
  std::size_t i = 0;
  walk_bytes(shape, [&](std::int64_t offset) {
    store_number(bytes.data() + offset, shape.dtype, elements[i++]);
  });
  return bytes;
}

interpreter::Elements from_bytes(const ir::Shape& shape, const std::vector<std::byte>& bytes) {
  TC_CHECK(bytes.size() == byte_count(shape), "an array has its shape's bytes");
  interpreter::Elements elements;
  walk_bytes(shape, [&](std::int64_t offset) {
    elements.push_back(load_number(bytes.data() + offset, shape.dtype));
  });
  return elements;
}

}  // namespace tilecast::host
