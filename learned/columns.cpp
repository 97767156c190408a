#include "learned/columns.h"

#include <fmt/format.h>

namespace tilecast::learned {
namespace {

double as_number(std::int64_t value) {
  return value == ir::kUnboundedSize ? 0 : static_cast<double>(value);
}

}  // namespace

void Columns::name_column(const Text& text, std::string_view suffix, std::string doc) {
  schema_->columns.push_back({fmt::format("{}.{}{}", name(group_), text.name, suffix),
                              std::string(text.unit), std::move(doc), group_});
}

void Columns::entries(const Text& text, const ir::Dims& values, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if (schema_ != nullptr) {
      name_column(text, fmt::format(".{}", i),
                  fmt::format("{} Entry {}; 0 where absent.", text.doc, i));
    } else {
      value(text, i < values.size() ? as_number(values[i]) : 0);
    }
  }
}

void Columns::list(const Text& text, const ir::Dims* values, std::size_t n,
                   double product_of_none) {
  if (schema_ != nullptr) {
    entries(text, {}, n);
    name_column(text, ".sum", fmt::format("{} Sum of the list.", text.doc));
    name_column(text, ".product", fmt::format("{} Product of the list.", text.doc));
    return;
  }
  if (values == nullptr) {
    for (std::size_t i = 0; i < n + 2; ++i) value(text, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  entries(text, *values, n);
  double sum = 0, product = values->empty() ? product_of_none : 1;
  for (const std::int64_t value : *values) {
    sum += as_number(value);
    product *= as_number(value);
  }
  value(text, sum);
  value(text, product);
}

void Columns::parts(const Text& text, std::span<const double> values,
                    PartName (*part)(std::size_t)) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (schema_ == nullptr) {
      value(text, values[i]);
    } else {
      const PartName of = part(i);
      name_column(text, "." + of.name, fmt::format("{}: {}.", text.doc, of.doc));
    }
  }
}

}  // namespace tilecast::learned
