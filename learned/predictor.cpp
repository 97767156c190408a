#include "learned/predictor.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analytical/analytical_model.h"
#include "base/error.h"

namespace tilecast::learned {
namespace {

using analytical::KernelQuery;

constexpr std::size_t kChunk = 1024;  // queries whose features exist at a time

class GbtPredictor final : public Predictor {
 public:
  explicit GbtPredictor(GbtPredictorParts parts)
      : parts_(std::move(parts)), features_(parts_.features) {
    TC_CHECK(parts_.model.columns() == features_.width(), "trees of another width");
  }

  [[nodiscard]] bool ranks_only() const override { return parts_.ranks_only; }
  [[nodiscard]] bool needs_prior() const override { return features_.needs_prior(); }
  [[nodiscard]] const GbtPredictorParts* trees() const override { return &parts_; }

  void predict(std::span<const KernelQuery> queries, const hwdesc::Device& device, Priors priors,
               std::span<double> out) const override {
    TC_CHECK(out.size() == queries.size(), "one place per query");
    std::vector<std::optional<analytical::Estimate>> asked;
    if (needs_prior()) priors = given_or_asked(priors, queries, device, asked);
    for (std::size_t first = 0; first < queries.size(); first += kChunk) {
      const std::size_t count = std::min(kChunk, queries.size() - first);
      predict_chunk(queries.subspan(first, count), device,
                    needs_prior() ? priors.subspan(first, count) : Priors{},
                    out.subspan(first, count));
    }
  }

 private:
  void predict_chunk(std::span<const KernelQuery> queries, const hwdesc::Device& device,
                     Priors priors, std::span<double> out) const {
    static thread_local std::vector<float> rows, margins;
    rows.resize(queries.size() * features_.width());
    margins.resize(queries.size());
    features_.extract(queries, device, priors, rows);
    parts_.model.predict(rows, {}, margins);
    std::ranges::transform(margins, out.begin(), [this](float margin) {
      return static_cast<double>(margin) * parts_.target.deviation + parts_.target.mean;
    });
  }

  GbtPredictorParts parts_;
  TableFeatures features_;
};

class OnPrior final : public Predictor {
 public:
  explicit OnPrior(std::unique_ptr<Predictor> residual) : residual_(std::move(residual)) {
    TC_CHECK(residual_ && !residual_->ranks_only(), "residuals are of times");
  }

  [[nodiscard]] bool ranks_only() const override { return false; }
  [[nodiscard]] bool needs_prior() const override { return true; }
  [[nodiscard]] const GbtPredictorParts* trees() const override { return residual_->trees(); }
  [[nodiscard]] const NetworkPredictorParts* network() const override {
    return residual_->network();
  }
  [[nodiscard]] const GpPredictorParts* process() const override { return residual_->process(); }

  void predict(std::span<const KernelQuery> queries, const hwdesc::Device& device, Priors priors,
               std::span<double> out) const override {
    std::vector<std::optional<analytical::Estimate>> asked;
    priors = given_or_asked(priors, queries, device, asked);
    residual_->predict(queries, device, priors, out);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] += priors[i] ? std::log(priors[i]->time.value) : std::nan("");
    }
  }

 private:
  std::unique_ptr<Predictor> residual_;
};

}  // namespace

Priors given_or_asked(Priors priors, std::span<const KernelQuery> queries,
                      const hwdesc::Device& device,
                      std::vector<std::optional<analytical::Estimate>>& asked) {
  if (!priors.empty()) return priors;
  asked = analytical::AnalyticalModel().estimate(queries, device);
  return asked;
}

std::unique_ptr<Predictor> on_prior(std::unique_ptr<Predictor> residual) {
  return std::make_unique<OnPrior>(std::move(residual));
}

std::unique_ptr<Predictor> make_predictor(GbtPredictorParts parts) {
  return std::make_unique<GbtPredictor>(std::move(parts));
}

}  // namespace tilecast::learned
