#include "hybrid/trust.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilecast::hybrid {

double Trust::held(double residual) const {
  return std::clamp(residual, held_low_, held_high_);
}

Position Trust::example(Resource resource, bool far, double machine) const {
  const auto r = static_cast<std::size_t>(resource);
  Position position{.machine = machine};
  position.shares[r] = 1;
  position.distance.fill(std::numeric_limits<float>::infinity());
  position.distance[r] = static_cast<float>(far ? reach_[r].far : reach_[r].near);
  return position;
}

// 0: near; 1: as far as trials went.
double Trust::farness(const Position& position, std::size_t resource) const {
  const auto [near, far] = reach_[resource];
  const double distance = static_cast<double>(position.distance[resource]);
  if (near < 0 || !std::isfinite(distance)) return std::numeric_limits<double>::infinity();
  if (distance <= near) return 0;
  return far > near ? (distance - near) / (far - near) : std::numeric_limits<double>::infinity();
}

double Trust::weight_of(const Position& position, std::string_view kind, double farthest) const {
  const auto at = [](const Weights& weights, double farness) {
    return farness > 1 ? 0 : weights.near + farness * (weights.far - weights.near);
  };
  Weights blend;  // near: the weight here
  if (const auto known = by_kind_.find(kind); known != by_kind_.end()) {
    blend = {.near = at(known->second, farthest), .new_device = known->second.new_device};
  } else {
    const auto& weights = median_time_.contains(kind) ? by_resource_ : new_kind_weights_;
    for (std::size_t r = 0; r < kResources; ++r) {
      const double share = static_cast<double>(position.shares[r]);
      if (!(share > 0)) continue;
      blend.near += share * at(weights[r], farness(position, r));
      blend.new_device += share * weights[r].new_device;
    }
  }
  if (position.machine <= kSameMachine) return blend.near;
  if (position.machine > std::max(farthest_machine_, typical_machine_)) return 0;
  const double part = std::min(position.machine / typical_machine_, 1.0);
  return blend.near + part * (std::min(blend.near, blend.new_device) - blend.near);
}

const Trust::Band& Trust::find(const Bands& bands, std::string_view kind, double time) const {
  if (const auto sizes = bands.by_size.find(kind); sizes != bands.by_size.end()) {
    return sizes->second[time > median_time_.find(kind)->second ? 1 : 0];
  }
  const auto whole = bands.by_kind.find(kind);
  return whole == bands.by_kind.end() ? bands.all : whole->second;
}

Trust::Assessment Trust::assess(const Position& position, std::string_view kind, double time,
                                std::string_view device) const {
  using analytical::Verdict;
  Assessment result;
  const float binding = std::min(kLeastShare, std::ranges::max(position.shares));
  for (std::size_t r = 0; r < kResources; ++r) {
    if (position.shares[r] < binding) continue;
    const double far = farness(position, r);
    if (far < result.farness) continue;
    result.farness = far;
    result.farthest = static_cast<Resource>(r);
  }
  result.weight = weight_of(position, kind, result.farness);
  if (const auto of_kind = most_.find(kind); of_kind != most_.end()) {
    const auto most = of_kind->second.find(device);
    if (most != of_kind->second.end()) result.weight = std::min(result.weight, most->second);
  }
  const bool reached = result.farness <= 1;
  const bool new_machine = position.machine > kSameMachine;
  const bool machine_reached = !new_machine || position.machine <= farthest_machine_;
  result.verdict = !reached || !machine_reached        ? Verdict::kOut
                   : result.farness > 0 || new_machine ? Verdict::kEdge
                                                       : Verdict::kIn;
  Band band = find(near_bands_, kind, time);
  if (!median_time_.contains(kind)) band.widen(new_kind_.value_or(Band{}));
  if (result.farness > 0) band.widen(find(far_bands_, kind, time));
  if (!reached) {
    if (physics_) band.widen(*physics_);
    band.widen(new_kind_.value_or(Band{}));
  }
  if (new_machine) band.widen(new_device_ ? find(*new_device_, kind, time) : Band{});
  result.low = band.low;
  result.high = band.high;
  return result;
}

}  // namespace tilecast::hybrid
