// A cache of array shapes by their text, because most shapes occur many times in a module. The
// texts must outlive it. Not thread-safe.
#pragma once

#include <string_view>
#include <vector>

#include "base/strong_id.h"
#include "ir/name_table.h"
#include "ir/shape.h"

namespace tilecast::ir {

class KnownArrays {
 public:
  [[nodiscard]] const Shape* find(std::string_view text) const {  // valid until the next add()
    const Id id = ids_.find(text);
    return id.valid() ? &shapes_[id.index()] : nullptr;
  }
  // Does nothing if the text is present or kMost texts are stored.
  void add(std::string_view text, const Shape& shape) {
    constexpr std::size_t kMost = 4096;
    if (shapes_.size() < kMost && ids_.add(text)) shapes_.push_back(shape);
  }

 private:
  using Id = StrongId<struct KnownArrayTag>;
  NameTable<Id> ids_;
  std::vector<Shape> shapes_;
};

}  // namespace tilecast::ir
