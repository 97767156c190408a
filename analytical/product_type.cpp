#include "analytical/product_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tilecast::analytical {
namespace {

using ir::DType;
using Widening = std::span<const DType>;

bool on_gpu(const hwdesc::Device& device) {
  return device.execution == hwdesc::Execution::kSimt;
}

bool takes(const hwdesc::Device& device, DType dtype) {
  return device.matrix_peak(ir::name(dtype)).value > 0;
}

// Types to widen to if a unit does not take `dtype`, in the order they are tried.
Widening wider(DType dtype, const hwdesc::Device& device) {
  using enum DType;
  static constexpr DType kLongFloats[] = {kBF16, kF16, kF32};
  static constexpr DType kLongFloatsOfGpus[] = {kF16, kBF16, kF32};
  static constexpr DType kF4[] = {kF8E4M3FN, kBF16, kF16, kF32};
  static constexpr DType kF4OfGpus[] = {kF8E4M3FN, kF16, kBF16, kF32};
  static constexpr DType kIntegers[] = {kS4, kS8, kBF16, kF16, kF32};
  static constexpr DType kIntegersOfGpus[] = {kS4, kS8, kF16, kBF16, kF32};
  static constexpr DType kF32Only[] = {kF32};
  static constexpr DType kShortFloats[] = {kBF16};
  const bool first_f16 = device.execution != hwdesc::Execution::kScratchpad;
  if (dtype == kF32) return first_f16 ? Widening{} : kShortFloats;
  if (dtype == kF4E2M1FN) return first_f16 ? kF4OfGpus : kF4;
  if (ir::is_floating(dtype) && ir::bits(dtype) <= 8)
    return first_f16 ? kLongFloatsOfGpus : kLongFloats;
  if (ir::is_floating(dtype) && ir::bits(dtype) == 16) return kF32Only;
  if (dtype == kPred || (ir::is_integer(dtype) && ir::bits(dtype) <= 8)) {
    const auto skipped = static_cast<std::size_t>(ir::bits(dtype) < 4   ? 0
                                                  : ir::bits(dtype) < 8 ? 1
                                                                        : 2);
    return (first_f16 ? Widening(kIntegersOfGpus) : Widening(kIntegers)).subspan(skipped);
  }
  return {};
}

DType on_unit_of(DType dtype, const hwdesc::Device& device) {
  if (takes(device, dtype)) return dtype;
  const Widening types = wider(dtype, device);
  const auto found = std::ranges::find_if(types, [&](DType t) { return takes(device, t); });
  return found == types.end() ? DType::kInvalid : *found;
}

// The type that contains both.
DType common(DType a, DType b) {
  if (a == b) return a;
  if (ir::is_floating(a) != ir::is_floating(b)) return ir::is_floating(a) ? a : b;
  if (ir::bits(a) != ir::bits(b)) return ir::bits(a) > ir::bits(b) ? a : b;
  return ir::is_floating(a) && ir::bits(a) == 16 ? DType::kF32 : a;  // f16 and bf16
}

bool is_e5m2(DType dtype) {
  return dtype == DType::kF8E5M2 || dtype == DType::kF8E5M2FNUZ;
}

// Whether a GPU's unit truncates f32 operands: TF32 has half the rate of 16-bit operands.
bool cuts_f32(const hwdesc::Device& device) {
  const double half =
      std::max(device.matrix_peak("f16").value, device.matrix_peak("bf16").value) / 2;
  constexpr double kRounding = 0.99;
  return on_gpu(device) && device.matrix_peak("f32").value >= kRounding * half &&
         !multiplies_on_lanes(device, "f32");
}

struct Precision {
  DType dtype = DType::kF32;
  int products = 1;
  bool full = false;  // f32 as it is
};

// Parses `dot_bf16_bf16_f32_x3`: operand type and number of products.
std::optional<Precision> precision_of_algorithm(std::string_view algorithm) {
  constexpr std::string_view kDot = "dot_";
  if (!algorithm.starts_with(kDot)) return std::nullopt;
  const std::string_view word =
      algorithm.substr(kDot.size(), algorithm.find('_', kDot.size()) - kDot.size());
  const auto dtype = word == "tf32" ? DType::kF32 : ir::parse_dtype(word);
  if (!dtype) return std::nullopt;
  Precision precision{.dtype = *dtype, .full = word == "f32"};
  if (const auto at = algorithm.rfind("_x"); at != std::string_view::npos) {
    std::from_chars(algorithm.data() + at + 2, algorithm.data() + algorithm.size(),
                    precision.products);
  } else if (word == "tf32") {
    precision.products = 0;  // as many as the machine needs
  }
  return precision;
}

Precision precision_of(const ir::Op& op) {
  const auto* dot = op.get<ir::DotAttrs>();
  const auto* conv = op.get<ir::ConvAttrs>();
  if (dot != nullptr) {
    if (const auto asked = precision_of_algorithm(dot->algorithm)) return *asked;
  }
  const std::vector<std::string> none;
  const auto& words = dot != nullptr ? dot->precision : conv != nullptr ? conv->precision : none;
  const auto has = [&](const char* word) { return std::ranges::find(words, word) != words.end(); };
  if (has("highest")) return {.full = true};
  return {.products = has("high") ? 3 : 1};
}

constexpr int kProductsOfFullF32 = 6, kProductsOfTf32 = 3;  // of bf16

// f32 operands.
ProductType f32_product(const Precision& asked, const hwdesc::Device& device) {
  const DType of_unit = on_unit_of(DType::kF32, device);
  switch (device.execution) {
    case hwdesc::Execution::kScratchpad: {
      const int products = asked.full            ? kProductsOfFullF32
                           : asked.products == 0 ? kProductsOfTf32
                                                 : asked.products;
      ProductType type{.dtype = of_unit, .products = static_cast<double>(products)};
      if (!type.on_unit()) return type;
      if (products > 1) {
        type.note = fmt::format("f32 product as {} of bf16", products);
      } else if (of_unit != DType::kF32) {
        type.note = "f32 product as one of bf16 (the description's passes have no f32)";
      }
      return type;
    }
    case hwdesc::Execution::kSimt: {
      const bool as_parts = asked.dtype != DType::kF32 && takes(device, asked.dtype);
      if (as_parts) {
        return {.dtype = asked.dtype,
                .products = std::max(asked.products, 1) * 1.0,
                .note = fmt::format("f32 product as {} of {}", std::max(asked.products, 1),
                                    ir::name(asked.dtype))};
      }
      if (!cuts_f32(device)) return {.dtype = of_unit};
      if (asked.full) return {.note = "f32 product in full: on the vector lanes"};
      return {.dtype = of_unit,
              .note = "f32 product as TF32 (operand_precision=highest: in full, on lanes)"};
    }
    case hwdesc::Execution::kCache:
      return {.dtype = of_unit};
  }
  return {};
}

ProductType product_of(DType dtype, const Precision& precision, const hwdesc::Device& device) {
  if (dtype == DType::kF32) return f32_product(precision, device);
  if (ir::is_complex(dtype)) {
    constexpr int kRealProducts = 4;
    const DType part = dtype == DType::kC64 ? DType::kF32 : DType::kF64;
    ProductType type = product_of(part, precision, device);
    type.products *= kRealProducts;
    type.note = fmt::format("{} product as {} real ones{}{}", ir::name(dtype), kRealProducts,
                            type.note.empty() ? "" : ", each ", type.note);
    return type;
  }
  ProductType type{.dtype = on_unit_of(dtype, device)};
  if (!type.on_unit()) {
    type.note =
        fmt::format("{} product emulated on the vector unit: the matrix unit has no such type",
                    ir::name(dtype));
  } else if (type.dtype != dtype) {
    type.note = fmt::format("{} product as one of {}", ir::name(dtype), ir::name(type.dtype));
  }
  return type;
}

}  // namespace

ProductType product_type(const ir::Kernel& kernel, const ir::Op& op, const hwdesc::Device& device) {
  const DType lhs = kernel.op(op.operands[0]).shape.dtype;
  const DType rhs = kernel.op(op.operands[1]).shape.dtype;
  DType both = common(lhs, rhs);
  if (on_gpu(device) && is_e5m2(lhs) && is_e5m2(rhs)) {  // no library has such a kernel
    ProductType type = product_of(DType::kF16, {}, device);
    if (type.note.empty()) type.note = fmt::format("{} product as one of f16", ir::name(lhs));
    return type;
  }
  const bool scales = takes(device, DType::kF4E2M1FN);  // units with f4 apply block scales
  if (op.opcode == ir::Opcode::kScaledDot && !scales) both = DType::kBF16;
  return product_of(both, precision_of(op), device);
}

ProductType full_product_type(DType dtype, const hwdesc::Device& device) {
  return product_of(dtype, {.full = true}, device);
}

ProductType call_product_type(const ir::Kernel& kernel, const hwdesc::Device& device) {
  const bool full = kernel.custom_call_cost() && kernel.custom_call_cost()->full_precision;
  std::optional<ProductType> fastest;
  for (const ir::OpId id : kernel.parameters()) {
    const DType dtype = kernel.op(id).shape.dtype;
    const bool indices = ir::is_integer(dtype) && ir::bits(dtype) > 8;
    if (indices || dtype == DType::kPred) continue;
    ProductType type = product_of(dtype, {.full = full}, device);
    if (!fastest || product_peak(type, device) > product_peak(*fastest, device)) {
      fastest = std::move(type);
    }
  }
  return fastest ? *fastest : product_of(DType::kBF16, {}, device);
}

double multiply_add_operations(const hwdesc::Device& device) {
  return device.execution == hwdesc::Execution::kScratchpad ? 1 : 2;
}

FlopsPerSecond product_peak(const ProductType& type, const hwdesc::Device& device) {
  if (type.on_unit()) return device.matrix_peak(ir::name(type.dtype)) / type.products;
  return device.vector_peak() * multiply_add_operations(device) / type.products;
}

bool multiplies_on_lanes(const hwdesc::Device& device, std::string_view dtype) {
  const hwdesc::VectorUnit& vector = device.vector;
  const double lanes = static_cast<double>(vector.lanes * vector.sublanes) * vector.alus;
  const double peak = 2 * device.multiplexing.workers * lanes * device.clock.value;
  constexpr double kRounding = 1.01;
  return device.matrix_peak(dtype).value <= kRounding * peak;
}

}  // namespace tilecast::analytical
