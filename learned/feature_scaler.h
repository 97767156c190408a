// Brings features into [0, 1] by the least and the greatest value of the training set (Kaufman et
// al., MLSys 2021, section 3.1), optionally on the scale of log(1 + |x|) with the sign kept.
// A column that is constant there becomes 0; NaN becomes `missing`, 0. Values outside the training
// range go beyond [0, 1], up to a quarter of the range on either side. Thread-safe value.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "learned/feature_schema.h"

namespace tilecast::learned {

class FeatureScaler {
 public:
  FeatureScaler() = default;
  // `rows`: row-major, any number of rows of `width` columns. logarithmic: see above.
  FeatureScaler(std::span<const float> rows, std::size_t width, bool logarithmic);

  [[nodiscard]] std::size_t width() const { return low_.size(); }
  void apply(std::span<float> rows) const;  // in place

  // CSV "column,low,high,scale" with the names of the schema, and back; numbers survive exactly.
  // Throws Error (file, line) where text, schema and form do not agree.
  [[nodiscard]] std::string to_csv(const FeatureSchema& schema) const;
  [[nodiscard]] static FeatureScaler from_csv(const std::string& text, const std::string& file,
                                              const FeatureSchema& schema);

 private:
  std::vector<float> low_, high_;  // on the scale used
  std::vector<bool> logarithmic_;  // by column
};

}  // namespace tilecast::learned
