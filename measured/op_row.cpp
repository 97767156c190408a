#include "measured/op_row.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"

namespace tilecast::measured {

std::string_view OpRow::text(std::string_view column) const {
  return table_.cell(row_, column);
}

std::int64_t OpRow::integer(std::string_view column, std::optional<std::int64_t> fallback) const {
  return integer_cell(table_, row_, column, /*minimum=*/1, fallback);
}

ir::DType OpRow::dtype_in(std::string_view column) const {
  const std::string_view spelled = text(column);
  const auto dtype = ir::parse_dtype(spelled);
  if (!dtype || !ir::is_array_element(*dtype)) {
    fail(column,
         fmt::format("got '{}', expected an HLO element type such as f32, bf16, f16, s8", spelled));
  }
  return *dtype;
}

ir::DType OpRow::dtype() const {
  return dtype_in("dtype");
}

ir::DType OpRow::out_dtype() const {
  return text("out_dtype").empty() ? dtype() : dtype_in("out_dtype");
}

// Parses `16x16x32`.
ir::Dims OpRow::sizes(std::string_view column) const {
  ir::Dims dims;
  std::string_view rest = text(column);
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('x'));
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (error != std::errc() || end != part.data() + part.size() || size < 1) break;
    dims.push_back(size);
    if (part.size() == rest.size()) return dims;
    rest.remove_prefix(part.size() + 1);
  }
  fail(column, fmt::format("got '{}', expected sizes such as 16x128", text(column)));
}

ir::Dims OpRow::elements() const {
  if (!text("shape").empty()) return sizes("shape");
  if (!text("elements").empty()) return {integer("elements")};
  if (text("rows").empty() && text("columns").empty()) {
    fail("elements", "nothing given; expected elements, shape, or rows and columns");
  }
  return {integer("rows"), integer("columns")};
}

void OpRow::fail(std::string_view column, std::string_view message) const {
  throw Error(fmt::format("{}: {}", table_.where(row_, column), message));
}

}  // namespace tilecast::measured
