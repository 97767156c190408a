#include "ir/mlir/mlir_values.h"

#include <algorithm>

#include "ir/mlir/mlir_scanner.h"

namespace tilecast::ir::mlir {
namespace {

// A name split into stem and number, `%cst_4` into `cst_` and 4; kNoNumber if it ends in none.
struct NameParts {
  std::string_view stem;
  std::size_t number;
};
constexpr std::size_t kNoNumber = SIZE_MAX;

NameParts split_name(std::string_view name) {
  constexpr std::size_t kMaxDigits = 9;
  std::size_t begin = name.size();
  while (begin > 0 && is_digit(name[begin - 1]) && name.size() - begin < kMaxDigits) --begin;
  while (begin + 1 < name.size() && name[begin] == '0') ++begin;  // x01 is not x1
  if (begin == name.size()) return {name, kNoNumber};
  std::size_t number = 0;
  for (const char c : name.substr(begin)) number = number * 10 + static_cast<std::size_t>(c - '0');
  return {name.substr(0, begin), number};
}

}  // namespace

// Null if not defined.
ValueNames::Definition* ValueNames::slot(std::string_view name) const {
  const auto [stem, number] = split_name(name);
  if (const auto table = tables_.find(stem); table != tables_.end()) {
    const std::size_t index = number + 1;  // 0 for kNoNumber
    if (index < table->second.size() && table->second[index].count > 0) {
      return &table->second[index];
    }
  }
  if (number == kNoNumber) return nullptr;
  const auto whole = tables_.find(name);  // for numbers too far from the others
  const bool known =
      whole != tables_.end() && !whole->second.empty() && whole->second.front().count > 0;
  return known ? &whole->second.front() : nullptr;
}

ValueNames::Definition ValueNames::find(std::string_view name) const {
  const Definition* known = slot(name);
  return known == nullptr ? Definition{} : *known;
}

bool ValueNames::define(std::string_view name, Definition definition) {
  if (slot(name) != nullptr) return false;
  auto [stem, number] = split_name(name);
  std::vector<Definition>* table = &tables_[stem];
  const std::size_t slack = stem.empty() ? 4096 : 16;  // outliers must not enlarge the table
  if (number != kNoNumber && number > 2 * table->size() + slack) {
    table = &tables_[name];
    number = kNoNumber;
  }
  const std::size_t index = number + 1;
  if (index >= table->size()) table->resize(std::max(index + 1, 2 * table->size()));
  (*table)[index] = definition;
  defined_.push_back(name);
  return true;
}

void ValueNames::release(std::size_t mark) {
  for (; defined_.size() > mark; defined_.pop_back()) *slot(defined_.back()) = {};
}

}  // namespace tilecast::ir::mlir
