// Gradient-boosted trees (Chen and Guestrin, KDD 2016), trained and saved by XGBoost.
//
//   GbtModel model = train_gbt(table, validation, spec);      learned/training/gbt_trainer.h
//   std::string bytes = model.save();
//   GbtModel again = GbtModel::load(bytes, columns);
//   again.predict(rows, {}, out);
//
// The trees are evaluated here (learned/gbt_trees.h), not by XGBoost: faster, no allocation, and
// bytes from a file never reach XGBoost's own reader. Margins equal XGBoost's bit for bit: both add
// the leaves in the order of the trees.
//
// A value; reading is thread-safe.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilecast::learned {

struct GbtTrees;

class GbtModel {
 public:
  // From XGBoost's UBJSON. Throws Error with the reason when the bytes are no model of trees over
  // `columns` columns for squared error with base score 0: truncated, corrupted, hostile, of
  // another kind or width.
  [[nodiscard]] static GbtModel load(std::string_view bytes, std::size_t columns);
  GbtModel(GbtModel&&) noexcept;
  GbtModel& operator=(GbtModel&&) noexcept;
  ~GbtModel();

  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] int trees() const;
  // `rows`: row-major, out.size() x columns(); NaN is a missing value. out: margins (log time, or
  // a rank score). `base`: a margin per row that the trees add to, or empty. Allocates nothing
  // after the first call of a thread.
  void predict(std::span<const float> rows, std::span<const float> base,
               std::span<float> out) const;
  // What share of the loss all splits on a column removed ("total_gain"), by column; sums to 1, or
  // is 0 everywhere when no tree splits.
  [[nodiscard]] std::vector<double> importance() const;
  [[nodiscard]] const std::string& save() const { return bytes_; }  // equal models: equal bytes

 private:
  GbtModel(std::string bytes, std::size_t columns, GbtTrees trees);

  std::string bytes_;
  std::size_t columns_;
  std::unique_ptr<GbtTrees> trees_;
};

[[nodiscard]] std::string xgboost_version();  // "1.7.4"

}  // namespace tilecast::learned
