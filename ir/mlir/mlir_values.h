// SSA values by name, in nested scopes. Thread-compatible; names are views and must outlive the
// table.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/mlir/mlir_tree.h"

namespace tilecast::ir::mlir {

// The visible values, by name. Most names are a stem with consecutive numbers (`%17`, `%cst_4`), so
// each stem has a table.
class ValueNames {
 public:
  struct Definition {
    ValueId first;
    std::uint32_t count = 0;  // 0: no such name
  };
  // False if the name is already visible.
  bool define(std::string_view name, Definition definition);
  [[nodiscard]] Definition find(std::string_view name) const;
  // release() removes the names defined since mark().
  [[nodiscard]] std::size_t mark() const { return defined_.size(); }
  void release(std::size_t mark);

 private:
  [[nodiscard]] Definition* slot(std::string_view name) const;

  // By stem: the name itself, then stem0, stem1 ...
  mutable std::unordered_map<std::string_view, std::vector<Definition>> tables_;
  std::vector<std::string_view> defined_;
};

}  // namespace tilecast::ir::mlir
