#include <algorithm>
#include <vector>

#include "base/error.h"
#include "learned/predictor.h"

namespace tilecast::learned {
namespace {

using analytical::KernelQuery;

constexpr std::size_t kChunk = 1024;  // queries whose features exist at a time

class GpPredictor final : public Predictor {
 public:
  explicit GpPredictor(GpPredictorParts parts)
      : parts_(std::move(parts)), features_(parts_.features) {
    TC_CHECK(
        parts_.scaler.width() == features_.width() && parts_.process.columns() == features_.width(),
        "a process of another width");
  }

  [[nodiscard]] bool ranks_only() const override { return false; }
  [[nodiscard]] bool needs_prior() const override { return features_.needs_prior(); }
  [[nodiscard]] const GpPredictorParts* process() const override { return &parts_; }

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
    static thread_local std::vector<float> rows;
    rows.resize(queries.size() * features_.width());
    features_.extract(queries, device, priors, rows);
    parts_.scaler.apply(rows);
    parts_.process.predict(rows, out);
    for (double& value : out) value = value * parts_.target.deviation + parts_.target.mean;
  }

  GpPredictorParts parts_;
  TableFeatures features_;
};

}  // namespace

std::unique_ptr<Predictor> make_predictor(GpPredictorParts parts) {
  return std::make_unique<GpPredictor>(std::move(parts));
}

}  // namespace tilecast::learned
