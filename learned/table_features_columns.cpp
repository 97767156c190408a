#include "learned/table_features_columns.h"

namespace tilecast::learned {

PartName list_part(std::size_t part) {
  if (part == kListEntries) return {"sum", "their sum"};
  if (part == kListEntries + 1) return {"product", "their product"};
  const std::string number = std::to_string(part);
  return {number, "entry " + number + " or 0"};
}

}  // namespace tilecast::learned
