#pragma once
#include "hwdesc/device_yaml.h"
namespace tilecast::hybrid {
inline bool present(const hwdesc::Calibration& c) {
  return !c.source.empty();
}
inline bool fitted_by_hybrid(const hwdesc::Calibration& c) {
  return c.source.starts_with("hybrid ");
}
inline void set_fitted_by_hybrid(hwdesc::Calibration&) {}
inline bool same_machine(const hwdesc::Device& a, const hwdesc::Device& b) {
  const auto of = [](const hwdesc::Device& d) {
    auto leaves = hwdesc::flatten(d);
    std::erase_if(leaves, [](const auto& l) {
      return l.first == "name" || l.first == "description" || l.first == "extends" ||
             l.first.starts_with("calibration");
    });
    return leaves;
  };
  return of(a) == of(b);
}
}  // namespace tilecast::hybrid
