#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "learned/predictor.h"

namespace tilecast::learned {
namespace {

class StackPredictor final : public Predictor {
 public:
  explicit StackPredictor(StackPredictorParts parts) : parts_(std::move(parts)) {}

  [[nodiscard]] bool ranks_only() const override { return false; }
  [[nodiscard]] bool needs_prior() const override { return true; }
  [[nodiscard]] const StackPredictorParts* stack() const override { return &parts_; }

  void predict(std::span<const analytical::KernelQuery> queries, const hwdesc::Device& device,
               Priors priors, std::span<double> out) const override {
    std::vector<double> of_member(queries.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] =
          priors[i] ? std::log(priors[i]->time.value) : std::numeric_limits<double>::quiet_NaN();
    }
    const std::vector<double> physics(out.begin(), out.end());
    for (const StackMember& member : parts_.members) {
      member.predictor->predict(queries, device, priors, of_member);
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] += member.weight * (of_member[i] - physics[i]);
      }
    }
  }

 private:
  StackPredictorParts parts_;
};

}  // namespace

std::unique_ptr<Predictor> make_predictor(StackPredictorParts parts) {
  constexpr double kRounding = 1e-9;
  if (parts.members.empty() || parts.members.size() > kMostMembers) {
    throw Error("a stack has 1 to 8 members");
  }
  double sum = 0;
  for (const StackMember& member : parts.members) {
    TC_CHECK(member.predictor != nullptr, "a member without a predictor");
    if (!(member.weight >= 0)) throw Error("a weight of a stack: expected at least 0");
    require_times(*member.predictor, member.name);
    if (member.predictor->ranks_only()) throw Error("a member of a stack only ranks");
    sum += member.weight;
  }
  if (!(sum <= 1 + kRounding)) throw Error("the weights of a stack: expected a sum of at most 1");
  return std::make_unique<StackPredictor>(std::move(parts));
}

}  // namespace tilecast::learned
