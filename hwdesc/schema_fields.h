// Helpers of the schema walks (hwdesc/device_schema.cpp, energy_schema.cpp) for quantities.
// Internal to hwdesc.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "hwdesc/device_schema.h"

namespace tilecast::hwdesc {

inline constexpr bool kRequired = true;
inline constexpr bool kOptional = false;

inline constexpr std::array<std::string_view, 14> kDtypes = {
    "f4", "f8", "f16", "bf16", "f32", "f64", "s4", "s8", "s16", "s32", "u8", "u16", "u32", "pred"};

template <class Tag>
void quantity(SchemaVisitor& visitor, const Field& field, Quantity<Tag>& value) {
  visitor.number(field, value.value);
}

template <class Tag>
void quantity(SchemaVisitor& visitor, const Field& field, std::optional<Quantity<Tag>>& value) {
  std::optional<double> plain;
  if (value) plain = value->value;
  visitor.optional_number(field, plain);
  value.reset();
  if (plain) value = Quantity<Tag>{*plain};
}

template <class Tag>
void quantities(SchemaVisitor& visitor, const Field& field,
                std::map<std::string, Quantity<Tag>>& values) {
  std::map<std::string, double> plain;
  for (const auto& [key, value] : values) plain[key] = value.value;
  visitor.numbers(field, plain);
  values.clear();
  for (const auto& [key, value] : plain) values[key] = Quantity<Tag>{value};
}

inline void integer(SchemaVisitor& visitor, const Field& field, int& value) {
  std::int64_t wide = value;
  visitor.integer(field, wide);
  value = static_cast<int>(wide);
}

inline void walk_provenance(SchemaVisitor& v, Provenance& p) {
  v.text({"source", UnitKind::kCount, 1, 2000, kRequired, "where the numbers come from"}, p.source);
  v.flag({"estimated", UnitKind::kCount, 0, 1, kOptional, "true: nobody publishes these numbers"},
         p.estimated);
}

void walk_energy(SchemaVisitor& visitor, std::optional<Energy>& described);
void walk_slice(SchemaVisitor& visitor, std::optional<Slice>& described);

}  // namespace tilecast::hwdesc
