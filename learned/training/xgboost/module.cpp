// The module loaded by learned/training/gbt_trainer.cpp: its C symbols, and training with XGBoost.
#include <fmt/format.h>
#include <xgboost/c_api.h>

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/plugin.h"
#include "learned/training/gbt_module_abi.h"
#include "learned/training/xgboost/gbt_objective.h"

namespace tilecast::learned {
namespace {

void check_xgboost(int result) {
  if (result == 0) return;
  const std::string_view message = XGBGetLastError();  // first line; a stack trace follows
  throw Error(fmt::format("XGBoost: {}", message.substr(0, message.find('\n'))));
}

class TrainingMatrix {
 public:
  TrainingMatrix(const GbtTable& table, int threads)
      : margins_(table.margins.empty() ? std::vector<float>(table.rows()) : table.margins) {
    check_xgboost(XGDMatrixCreateFromMat_omp(table.values.data(), table.rows(), table.columns,
                                             std::nanf(""), &handle_, threads));
    if (table.margins.empty()) return;
    check_xgboost(XGDMatrixSetFloatInfo(handle_, "base_margin", margins_.data(), margins_.size()));
  }
  ~TrainingMatrix() { XGDMatrixFree(handle_); }
  TrainingMatrix(const TrainingMatrix&) = delete;
  TrainingMatrix& operator=(const TrainingMatrix&) = delete;

  [[nodiscard]] DMatrixHandle handle() const { return handle_; }
  // Sum of the starting values and the predictions of the trees so far.
  [[nodiscard]] std::span<const float> margins() const { return margins_; }
  void set_margins(std::span<const float> margins) {
    TC_CHECK(margins.size() == margins_.size(), "a margin per row");
    margins_.assign(margins.begin(), margins.end());
  }

 private:
  DMatrixHandle handle_ = nullptr;
  std::vector<float> margins_;
};

class Booster {
 public:
  explicit Booster(std::span<const DMatrixHandle> matrices) {
    check_xgboost(XGBoosterCreate(matrices.data(), matrices.size(), &handle_));
  }
  ~Booster() { XGBoosterFree(handle_); }
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;

  void set(const char* name, const std::string& value) {
    check_xgboost(XGBoosterSetParam(handle_, name, value.c_str()));
  }

  void boost(const TrainingMatrix& matrix, Gradients gradients) {
    check_xgboost(XGBoosterBoostOneIter(handle_, matrix.handle(), gradients.first.data(),
                                        gradients.second.data(), gradients.first.size()));
  }

  // Adds the predictions of the trees since the last call; XGBoost caches the sums.
  void update_margins(TrainingMatrix& matrix) const {
    constexpr const char* kMargins =
        R"({"type": 1, "training": false, "iteration_begin": 0, "iteration_end": 0,)"
        R"( "strict_shape": false})";
    const bst_ulong* shape = nullptr;
    bst_ulong dimensions = 0;
    const float* out = nullptr;
    check_xgboost(
        XGBoosterPredictFromDMatrix(handle_, matrix.handle(), kMargins, &shape, &dimensions, &out));
    TC_CHECK(dimensions == 1, "one margin per row");
    matrix.set_margins({out, shape[0]});
  }

  [[nodiscard]] std::string first_trees(int count) const {
    Booster slice;
    check_xgboost(XGBoosterSlice(handle_, 0, count, 1, &slice.handle_));
    bst_ulong size = 0;
    const char* bytes = nullptr;
    check_xgboost(XGBoosterSaveModelToBuffer(slice.handle_, R"({"format": "ubj"})", &size, &bytes));
    return {bytes, size};
  }

 private:
  Booster() = default;

  BoosterHandle handle_ = nullptr;
};

void configure(Booster& booster, const GbtSpec& spec, int threads) {
  booster.set("verbosity", "0");
  booster.set("booster", "gbtree");
  booster.set("tree_method", "hist");
  booster.set("objective", "reg:squarederror");  // only for margins; gradients are computed here
  booster.set("base_score", "0");
  booster.set("nthread", std::to_string(threads));
  booster.set("seed", std::to_string(spec.seed % std::numeric_limits<std::int32_t>::max()));
  booster.set("max_depth", std::to_string(spec.depth));
  booster.set("learning_rate", parameter_text(spec.learning_rate));
  booster.set("colsample_bytree", parameter_text(spec.column_sample));
  booster.set("min_child_weight", parameter_text(spec.min_child_weight));
  booster.set("reg_lambda", parameter_text(spec.lambda));
}

// Selects the round to keep, and decides when to stop.
class BestRound {
 public:
  explicit BestRound(int patience) : patience_(patience) {}
  void add(int round, double score) {
    if (round_ > 0 && !(score < score_)) return;
    round_ = round;
    score_ = score;
  }
  [[nodiscard]] int round() const { return round_; }
  [[nodiscard]] bool is_stale(int round) const {
    return patience_ > 0 && round - round_ >= patience_;
  }

 private:
  int patience_, round_ = 0;  // rounds count from 1
  double score_ = 0;
};

GbtModel train(const GbtTable& train, const GbtTable& validation, const GbtSpec& spec,
               const GbtHooks& hooks) {
  TC_CHECK(hooks.threads > 0 && spec.trees > 0, "at least one thread and one tree");
  GbtLoss loss(train, spec, "training rows");
  TrainingMatrix matrix(train, hooks.threads);
  std::vector<DMatrixHandle> handles = {matrix.handle()};
  std::optional<GbtLoss> validation_loss;
  std::optional<TrainingMatrix> validation_matrix;
  if (validation.rows() > 0) {
    TC_CHECK(validation.columns == train.columns, "validation rows have the same columns");
    validation_loss.emplace(validation, spec, "validation rows");
    validation_matrix.emplace(validation, hooks.threads);
    handles.push_back(validation_matrix->handle());
  }
  Booster booster(handles);
  configure(booster, spec, hooks.threads);
  BestRound best(spec.early_stopping);
  int last = 0;
  while (last < spec.trees) {
    booster.boost(matrix, loss.gradients(matrix.margins()));
    booster.update_margins(matrix);
    GbtRound round{.round = ++last, .train = loss.score(matrix.margins()), .validation = 0};
    if (validation_matrix) {
      booster.update_margins(*validation_matrix);
      round.validation = validation_loss->score(validation_matrix->margins());
      best.add(last, round.validation);
    }
    const bool stop = hooks.round && !hooks.round(round);
    if (stop || (validation_matrix && best.is_stale(last))) break;
  }
  return GbtModel::load(booster.first_trees(validation_matrix ? best.round() : last),
                        train.columns);
}

std::string version() {
  int major = 0, minor = 0, patch = 0;
  XGBoostVersion(&major, &minor, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

constexpr GbtModule kModule = {&train, &version};

}  // namespace
}  // namespace tilecast::learned

TILECAST_PLUGIN(xgboost, tilecast::learned::kGbtModuleAbi, &tilecast::learned::kModule)
