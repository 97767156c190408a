// Enumerates the machines of a study: devices outermost, then grid axes in the order written,
// samples innermost. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/device_yaml.h"
#include "search/sampling.h"
#include "sim/study/study.h"

namespace tilecast::sim {

struct StudyMachine {
  std::size_t point = 0;
  const StudyDevice* base = nullptr;
  hwdesc::Overrides overrides;  // one per axis, in their order
};

class StudyPoints {
 public:
  // `study` must outlive it. Throws Error for more than 1e8 points.
  explicit StudyPoints(const Study& study);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const StudyDevice& device(std::size_t point) const;
  [[nodiscard]] hwdesc::Overrides overrides(std::size_t point) const;
  [[nodiscard]] StudyMachine machine(std::size_t point) const {
    return {point, &device(point), overrides(point)};
  }

 private:
  const Study& study_;
  search::Points latin_, sobol_;  // [sample][axis of the kind]
  std::size_t size_ = 1;
};

// The value at the fraction `share` (0 to 1) of a range axis, as an override text.
[[nodiscard]] std::string axis_value(const StudyAxis& axis, double share);

}  // namespace tilecast::sim
