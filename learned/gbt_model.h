// Gradient-boosted trees (Chen and Guestrin, KDD 2016), trained and saved by XGBoost.
//
//   GbtModel model = train_gbt(table, validation, spec);      learned/training/gbt_trainer.h
//   std::string bytes = model.save();
//   GbtModel again = GbtModel::load(bytes, columns);
//   again.predict(rows, out);
//
// Trees are evaluated here, not by XGBoost: this is faster, does not allocate, and never passes
// file contents to XGBoost's reader. Margins equal XGBoost's bit for bit, since both add the leaves
// in the order of the trees. Movable; const functions are thread-safe.
#pragma once

#include <memory>
#include <span>
#include <string>

namespace tilecast::learned {

class GbtModel {
 public:
  // Reads XGBoost's UBJSON or compact(). Throws Error with the reason unless the bytes are a tree
  // model over `columns` columns for squared error with base score 0. Safe for truncated, corrupted
  // and hostile input.
  [[nodiscard]] static GbtModel load(std::string bytes, std::size_t columns);
  GbtModel(GbtModel&&) noexcept;
  GbtModel& operator=(GbtModel&&) noexcept;
  ~GbtModel();

  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] int trees() const;
  // `rows`: row-major, out.size() x columns(); NaN is a missing value. out: margins (log time, or a
  // rank score). Does not allocate after a thread's first call.
  void predict(std::span<const float> rows, std::span<float> out) const;
  [[nodiscard]] const std::string& save() const { return bytes_; }  // equal models give equal bytes
  // The same model for load() in a fifth of the bytes, without what only XGBoost reads.
  [[nodiscard]] std::string compact() const;

 private:
  struct Trees;
  [[nodiscard]] float walk(std::span<const float> rows, std::span<float> scratch) const;
  GbtModel(std::string bytes, std::size_t columns, std::unique_ptr<Trees> trees);

  std::string bytes_;
  std::size_t columns_;
  std::unique_ptr<Trees> trees_;
};

}  // namespace tilecast::learned
