// One row of an operator table, read by column; every Error names file, row and column.
#pragma once

#include <string>
#include <string_view>

#include "ir/dtype.h"
#include "ir/shape.h"
#include "measured/csv.h"

namespace tilecast::measured {

class OpRow {
 public:
  OpRow(const CsvTable& table, const CsvRow& row) : table_(table), row_(row) {}

  [[nodiscard]] std::string_view text(std::string_view column) const;
  // At least 1. An empty or absent cell gives `fallback`, or throws Error without one.
  [[nodiscard]] std::int64_t integer(std::string_view column,
                                     std::optional<std::int64_t> fallback = std::nullopt) const;
  [[nodiscard]] ir::DType dtype() const;      // column dtype, required
  [[nodiscard]] ir::DType out_dtype() const;  // column out_dtype, else dtype
  // The sizes in column `shape`, else {elements}, else {rows, columns}.
  [[nodiscard]] ir::Dims elements() const;
  [[noreturn]] void fail(std::string_view column, std::string_view message) const;

 private:
  [[nodiscard]] ir::Dims sizes(std::string_view column) const;
  [[nodiscard]] ir::DType dtype_in(std::string_view column) const;

  const CsvTable& table_;
  const CsvRow& row_;
};

}  // namespace tilecast::measured
