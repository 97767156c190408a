// Small tables for boosted trees: random rows with a target computed by a formula.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "learned/training/gbt_trainer.h"

namespace tilecast::learned {

constexpr std::size_t kFormulaColumns = 4;  // target_of uses the first three

inline float target_of(const float* row) {
  return std::sin(row[0]) + row[1] * row[2] / 4;
}

struct TableShape {
  std::size_t rows = 400;
  std::uint32_t group = 20;  // rows per group
  double missing = 0;        // share of cells removed after computing the target
};

inline GbtTable formula_table(std::uint64_t seed, const TableShape& shape = {}) {
  std::mt19937_64 random(seed);
  const auto draw = [&] { return static_cast<float>(random() >> 40) * 0x1p-24F; };
  GbtTable table{.columns = kFormulaColumns};
  for (std::size_t i = 0; i < shape.rows; ++i) {
    float row[kFormulaColumns];
    for (float& value : row) value = 4 * draw();
    table.targets.push_back(target_of(row));
    for (float& value : row) {
      if (draw() < shape.missing) value = std::nanf("");
    }
    table.values.insert(table.values.end(), row, row + kFormulaColumns);
    table.groups.push_back(static_cast<std::uint32_t>(i) / shape.group);
  }
  return table;
}

inline std::vector<float> predictions(const GbtModel& model, const GbtTable& table) {
  std::vector<float> margins(table.rows());
  model.predict(table.values, margins);
  return margins;
}

inline double rmse(const std::vector<float>& margins, const std::vector<float>& targets) {
  double sum = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    sum += std::pow(static_cast<double>(margins[i]) - targets[i], 2);
  }
  return std::sqrt(sum / static_cast<double>(targets.size()));
}

}  // namespace tilecast::learned
