// Scales features to [0, 1] by the minimum and maximum of the training set (Kaufman et al., MLSys
// 2021, section 3.1), optionally after sign(x) log(1 + |x|). A column that is constant in the
// training set becomes 0, and so does NaN. Values outside the training range may exceed [0, 1] by
// at most a quarter of the range on either side. Thread-safe value.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "learned/feature_schema.h"

namespace tilecast::learned {

class FeatureScaler {
 public:
  FeatureScaler() = default;
  // `rows`: row-major, any number of rows of `width` columns. `logarithmic`: uses the log scale.
  FeatureScaler(std::span<const float> rows, std::size_t width, bool logarithmic);

  [[nodiscard]] std::size_t width() const { return low_.size(); }
  void apply(std::span<float> rows) const;  // in place

  // CSV "column,low,high,scale" with the schema's names, and back; numbers round-trip exactly.
  // Throws Error (file, line) if the text is malformed or does not match the schema.
  [[nodiscard]] std::string to_csv(const FeatureSchema& schema) const;
  [[nodiscard]] static FeatureScaler from_csv(const std::string& text, const std::string& file,
                                              const FeatureSchema& schema);

 private:
  std::vector<float> low_, high_;  // after the logarithm, if used
  std::vector<bool> logarithmic_;  // by column
};

}  // namespace tilecast::learned
