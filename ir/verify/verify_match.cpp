// Comparison of shapes with a chosen strictness.
#include "ir/verify/verify_rules.h"

namespace tilecast::ir::verification {
namespace {

bool same_layout(const Layout& a, const Layout& b, const Match& how) {
  if (a.minor_to_major != b.minor_to_major) return false;
  if (how.minor_to_major_only) return true;
  return (how.ignore_tiles || (a.tiles == b.tiles && a.tail_alignment == b.tail_alignment)) &&
         a.element_bits == b.element_bits &&
         (how.ignore_memory_space || a.memory_space == b.memory_space);
}

const Shape& content(const Shape& shape) {
  return shape.dtype == DType::kBuffer && shape.elements.size() == 1 ? shape.elements[0] : shape;
}

}  // namespace

bool match(const Shape& a, const Shape& b, const Match& how) {
  if (how.ignore_buffer && (a.dtype == DType::kBuffer || b.dtype == DType::kBuffer)) {
    Match inner = how;
    inner.ignore_buffer = false;
    return match(content(a), content(b), inner);
  }
  if (a.dtype != b.dtype && !(how.ignore_fp && infer::same_type_ignoring_fp(a.dtype, b.dtype))) {
    return false;
  }
  if (a.dims != b.dims || a.elements.size() != b.elements.size()) return false;
  for (std::size_t i = 0; i < a.elements.size(); ++i) {
    if (!match(a.elements[i], b.elements[i], how)) return false;
  }
  if (!how.layout || !a.layout || !b.layout) return true;
  return same_layout(*a.layout, *b.layout, how);
}

bool same(const Site& site, const Shape& a, const Shape& b) {
  return match(a, b, {.layout = site.options.layout_sensitive});
}

const Shape* subshape(const Shape& shape, const Dims& index) {
  const Shape* at = &shape;
  for (const std::int64_t step : index) {
    if (!at->is_tuple() || step < 0 || static_cast<std::size_t>(step) >= at->elements.size()) {
      return nullptr;
    }
    at = &at->elements[static_cast<std::size_t>(step)];
  }
  return at;
}

bool holds_buffer(const Shape& shape) {
  if (shape.dtype == DType::kBuffer) return true;
  if (!shape.is_tuple()) return false;
  for (const Shape& element : shape.elements) {
    if (holds_buffer(element)) return true;
  }
  return false;
}

}  // namespace tilecast::ir::verification
