#include "sim/study/study_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tilecast::sim {
namespace {

constexpr std::size_t kMostStudyPoints = 100'000'000;

std::size_t axes_of(const Study& study, StudyAxis::Kind kind) {
  return static_cast<std::size_t>(std::ranges::count(study.axes, kind, &StudyAxis::kind));
}

}  // namespace

StudyPoints::StudyPoints(const Study& study) : study_(study) {
  const auto times = [&](std::size_t count) {
    if (count > kMostStudyPoints / size_) {
      throw Error(
          fmt::format("{}: the study has more than {} points", study.file, kMostStudyPoints));
    }
    size_ *= count;
  };
  times(study.devices.size());
  for (const StudyAxis& axis : study.axes) {
    if (axis.kind == StudyAxis::Kind::kGrid) times(axis.values.size());
  }
  times(study.samples);
  latin_ =
      search::latin_hypercube(study.samples, axes_of(study, StudyAxis::Kind::kLatin), study.seed);
  sobol_ = search::sobol(study.samples, axes_of(study, StudyAxis::Kind::kSobol));
}

const StudyDevice& StudyPoints::device(std::size_t point) const {
  return study_.devices[point / (size_ / study_.devices.size())];
}

hwdesc::Overrides StudyPoints::overrides(std::size_t point) const {
  const std::size_t sample = point % study_.samples;
  std::size_t rest = point / study_.samples;  // the last grid axis varies fastest
  hwdesc::Overrides result(study_.axes.size());
  std::size_t latin = 0, sobol = 0;
  for (std::size_t i = 0; i < study_.axes.size(); ++i) {
    const StudyAxis& axis = study_.axes[i];
    result[i].first = axis.key;
    if (axis.kind == StudyAxis::Kind::kLatin) {
      result[i].second = axis_value(axis, latin_[sample][latin++]);
    } else if (axis.kind == StudyAxis::Kind::kSobol) {
      result[i].second = axis_value(axis, sobol_[sample][sobol++]);
    }
  }
  for (std::size_t i = study_.axes.size(); i-- > 0;) {
    const StudyAxis& axis = study_.axes[i];
    if (axis.kind != StudyAxis::Kind::kGrid) continue;
    result[i].second = axis.values[rest % axis.values.size()];
    rest /= axis.values.size();
  }
  return result;
}

std::string axis_value(const StudyAxis& axis, double share) {
  const double top = axis.integer ? axis.high + 1 : axis.high;  // makes all integers equally likely
  double value = axis.logarithmic ? axis.low * std::pow(top / axis.low, share)
                                  : axis.low + (top - axis.low) * share;
  if (axis.integer) value = std::floor(value);
  if (share >= 1) value = axis.high;
  return hwdesc::format_quantity(std::clamp(value, axis.low, axis.high), axis.unit);
}

}  // namespace tilecast::sim
