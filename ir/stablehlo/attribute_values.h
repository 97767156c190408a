// Attributes of StableHLO ops as plain values, for all spellings: `array<i64: 1, 2>`, `dense<[1,
// 2]> : tensor<2xi64>`, `[1, 2]`; `#stablehlo<precision HIGH>`, `"HIGH"`. An absent attribute gives
// the fallback; one of unexpected form is an Error at its position.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/source_text.h"
#include "ir/hlo.h"
#include "ir/mlir/mlir_tree.h"

namespace tilecast::ir::stablehlo {

using mlir::Attribute;
using mlir::Operation;
using mlir::Region;
using mlir::TypeId;
using mlir::ValueId;

class AttributeValues {
 public:
  AttributeValues(const mlir::Tree& tree, const base::SourceText& text)
      : tree_(tree), text_(text) {}

  [[nodiscard]] Dims integers(const Attribute& attribute) const;
  [[nodiscard]] Dims integers(const Operation& op, std::string_view name) const;
  // The values of a dense list of at most `most` integers; empty for anything else.
  [[nodiscard]] Dims try_integers(const Attribute& dense, std::size_t most) const;
  [[nodiscard]] Dims field(const Attribute& attribute, std::string_view name) const;
  [[nodiscard]] std::vector<Dims> rows(const Operation& op, std::string_view name) const;
  [[nodiscard]] std::int64_t integer(const Operation& op, std::string_view name,
                                     std::int64_t fallback) const;
  [[nodiscard]] std::int64_t required_integer(const Operation& op, std::string_view name) const;
  [[nodiscard]] bool flag(const Operation& op, std::string_view name) const;
  // The last word of an enumeration value: `LT`, `HIGHEST`; "" if absent.
  [[nodiscard]] std::string word(const Operation& op, std::string_view name) const;
  [[nodiscard]] std::string word(const Attribute& attribute) const;
  [[nodiscard]] const Attribute& required(const Operation& op, std::string_view name) const;
  // Strings without quotes, other attributes as MLIR text.
  [[nodiscard]] std::string spelt(const Attribute& attribute) const;

  [[nodiscard]] const mlir::Tree& tree() const { return tree_; }
  [[nodiscard]] std::string_view text() const { return text_.text(); }

  template <class... Args>
  [[noreturn]] void fail_at(std::size_t offset, fmt::format_string<Args...> format,
                            Args&&... args) const {
    throw Error(text_.describe(offset, fmt::format(format, std::forward<Args>(args)...)));
  }
  template <class... Args>
  [[noreturn]] void fail(const Operation& op, fmt::format_string<Args...> format,
                         Args&&... args) const {
    fail_at(op.offset, "{}: {}", op.name, fmt::format(format, std::forward<Args>(args)...));
  }

 protected:
  const mlir::Tree& tree_;
  const base::SourceText& text_;
};

}  // namespace tilecast::ir::stablehlo
