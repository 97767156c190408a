// Gradient-boosted trees (Chen and Guestrin, KDD 2016), trained and saved by XGBoost.
//
//   GbtModel model = train_gbt(table, validation, spec);      learned/training/gbt_trainer.h
//   std::string bytes = model.save();
//   GbtModel again = GbtModel::load(bytes, columns);
//   again.predict(rows, out);
//
// The trees are evaluated here, not by XGBoost: faster, no allocation, and bytes from a file never
// reach XGBoost's own reader. Margins equal XGBoost's bit for bit: both add the leaves in the order
// of the trees.
//
// A value; reading is thread-safe.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tilecast::learned {

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
  // a rank score). Allocates nothing after the first call of a thread.
  void predict(std::span<const float> rows, std::span<float> out) const;
  [[nodiscard]] const std::string& save() const { return bytes_; }  // equal models: equal bytes

 private:
  struct Trees;
  [[nodiscard]] float walk(std::span<const float> rows, std::span<float> scratch) const;
  GbtModel(std::string bytes, std::size_t columns, std::unique_ptr<Trees> trees);

  std::string bytes_;
  std::size_t columns_;
  std::unique_ptr<Trees> trees_;
};

}  // namespace tilecast::learned
