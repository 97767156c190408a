// The machines of a study by number: devices outermost, then the grid axes in the order written,
// the samples innermost. Thread-safe.
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
  // `study` outlives it. Throws Error for more than 1e8 points.
  explicit StudyPoints(const Study& study);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const StudyDevice& device(std::size_t point) const;
  [[nodiscard]] hwdesc::Overrides overrides(std::size_t point) const;
  [[nodiscard]] StudyMachine machine(std::size_t point) const {
    return {point, &device(point), overrides(point)};
  }

 private:
  const Study& study_;
  search::Points latin_, sobol_;  // by sample, then axis of the kind
  std::size_t size_ = 1;
};

// The value at `share` of [0, 1] of an axis that is a range, as overrides take it.
[[nodiscard]] std::string axis_value(const StudyAxis& axis, double share);

}  // namespace tilecast::sim
