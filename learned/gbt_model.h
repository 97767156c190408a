// Gradient-boosted trees (Chen and Guestrin, KDD 2016) through XGBoost's C interface.
//
//   GbtModel model = train_gbt(table, validation, spec);      learned/training/gbt_trainer.h
//   std::string bytes = model.save();
//   GbtModel again = GbtModel::load(bytes, columns);
//   again.predict(rows, out);
//
// Prediction is thread-safe and allocates nothing of ours in the steady state.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tilecast::learned {

class GbtModel {
 public:
  // From XGBoost's UBJSON or JSON. Throws Error with the reason when the bytes are no model of
  // trees over `columns` columns: truncated, corrupted, hostile, of another kind or width.
  [[nodiscard]] static GbtModel load(std::string_view bytes, std::size_t columns);
  GbtModel(GbtModel&&) noexcept;
  GbtModel& operator=(GbtModel&&) noexcept;
  ~GbtModel();

  [[nodiscard]] std::size_t columns() const;
  [[nodiscard]] int trees() const;
  // `rows`: row-major, out.size() x columns(); NaN is a missing value. out: margins (log time, or
  // a rank score). `base`: a margin per row that the trees add to, or empty.
  void predict(std::span<const float> rows, std::span<const float> base,
               std::span<float> out) const;
  // What share of the loss all splits on a column removed ("total_gain"), by column; sums to 1.
  [[nodiscard]] std::vector<double> importance() const;
  [[nodiscard]] std::string save() const;  // UBJSON; equal models give equal bytes

  struct State;  // in gbt_model.cpp and training/gbt_trainer.cpp
  explicit GbtModel(std::unique_ptr<State> state);
  [[nodiscard]] State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::string xgboost_version();  // "1.7.4"

}  // namespace tilecast::learned
