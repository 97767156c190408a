#include "learned/table_features_columns.h"

#include <algorithm>

namespace tilecast::learned {

PartName list_part(std::size_t part) {
  if (part == kListEntries) return {"sum", "their sum"};
  if (part == kListEntries + 1) return {"product", "their product"};
  const std::string number = std::to_string(part);
  return {number, "entry " + number + ", 0 when the list is shorter"};
}

ListValues list_values(const ir::Dims& list, double empty_product) {
  ListValues values{};
  double sum = 0, product = list.empty() ? empty_product : 1;
  for (const std::int64_t entry : list) {
    sum += static_cast<double>(entry);
    product *= static_cast<double>(entry);
  }
  for (std::size_t i = 0; i < std::min(list.size(), kListEntries); ++i) {
    values[i] = static_cast<double>(list[i]);
  }
  values[kListEntries] = sum;
  values[kListEntries + 1] = product;
  return values;
}

}  // namespace tilecast::learned
