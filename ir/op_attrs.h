// OpAttrs: the attributes of one instruction, as one of the structs of ir/hlo_attributes.h.
//
//   OpAttrs attrs = SliceAttrs{...};
//   if (const auto* slice = attrs.get<SliceAttrs>()) use(slice->dims);
//   attrs.edit<SliceAttrs>().dims.clear();
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

#include "ir/hlo_attributes.h"
#include "ir/shared.h"

namespace tilecast::ir {

// Empty, or one of the structs. Copies share it until one of them is edited.
class OpAttrs {
 public:
  OpAttrs() = default;
  template <class T>
  OpAttrs(T attrs) : held_(Shared<T>(std::move(attrs))) {}  // NOLINT(google-explicit-constructor)

  template <class T>
  [[nodiscard]] const T* get() const {  // null if empty or of another kind
    const auto* held = std::get_if<Shared<T>>(&held_);
    return held == nullptr ? nullptr : &**held;
  }
  template <class T>
  [[nodiscard]] const T& as() const {  // throws std::bad_variant_access
    return *std::get<Shared<T>>(held_);
  }
  // Edits this object only; copies that share the value are not affected.
  template <class T>
  [[nodiscard]] T* edit_if() {  // null as for get()
    auto* held = std::get_if<Shared<T>>(&held_);
    return held == nullptr ? nullptr : &held->edit();
  }
  template <class T>
  [[nodiscard]] T& edit() {  // throws as as()
    return std::get<Shared<T>>(held_).edit();
  }
  // visitor(std::monostate) or visitor(const T&).
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) const {
    return std::visit(
        [&](const auto& held) -> decltype(auto) {
          if constexpr (std::is_same_v<decltype(held), const std::monostate&>) {
            return visitor(held);
          } else {
            return visitor(*held);
          }
        },
        held_);
  }

 private:
  template <class... Kinds>
  using OneOf = std::variant<std::monostate, Shared<Kinds>...>;
  OneOf<ParameterAttrs, ConstantAttrs, IndexAttrs, DotAttrs, ConvAttrs, WindowAttrs, SliceAttrs,
        PadAttrs, DynamicSliceAttrs, GatherAttrs, ScatterAttrs, CompareAttrs, FusionAttrs,
        CollectiveAttrs, CustomCallAttrs, FftAttrs, TriangularAttrs, BatchNormAttrs, AsyncAttrs>
      held_;
};

}  // namespace tilecast::ir
