// How much of a learned correction to believe, and how wrong the result may be: decided by trials
// in which the learner was asked about what it had not seen. Groups of trials are rows, kernels or
// families (Trials::base), whole op classes (by_class), whole devices (by_device).
//   weight    of {0, 0.05 ... 1} the one with the least mean absolute log error of prior x exp(w r)
//             in the row's whole time, dispatch included, every group counting alike; 0 unless it
//             beats 0 by a standard error over groups. Up to `near` (80 % quantile of distances)
//             and beyond apart, linear between `near` and `far` (the largest distance tried), 0
//             beyond. A class or device never seen: the weight that the trials without classes or
//             devices deserved, up to their largest distance, no held-out class or device losing
//             more than 1 % to physics; 0 without such trials.
//   verdict   in: near, class and device known; edge: up to far; out: beyond, or one never seen.
//   interval  90 %, split conformal (Vovk et al. 2005; cross-validated: Barber et al. 2021) on
//   signed
//             log errors of the weighted trials: of the op class and half of sizes where it has
//             enough trials, else of the class, else of all. Edge and out widen it by the far
//             trials, by physics alone, and by the trials without classes or devices. n is the
//             effective number of trials: over the design effect of groups (Kish 1965). Errors are
//             of the row's whole time: where rows hold an unmeasured dispatch, kernels much shorter
//             than it are less certain than their intervals say.
//   correlation  of log errors within a family: ANOVA estimator of the intraclass correlation
//             (Donner 1986), 0 ... 1; 0 for fewer than 3 families, 1 for none.
// Plain values after construction, thread-safe, deterministic.
#pragma once

#include <map>
#include <optional>

#include "hybrid/domain.h"
#include "measured/metrics.h"

namespace tilecast::hybrid {

inline constexpr std::size_t kLeastTrials = 20, kTwoSided = 60;

struct Trial {
  double residual = 0;   // log(measured / prior)
  double predicted = 0;  // the learner's
  double share = 1;      // of the row's time that is the kernel's (learned/training/examples.h)
  double distance = 0;   // to the kernels the learner was fitted to
  double time = 0;       // prior, seconds
  std::string op_class;
  std::uint32_t group = 0, family = 0;
};

struct Trials {
  std::vector<Trial> base, by_class, by_device;  // the latter two may be empty
};

class Trust {
 public:
  Trust() = default;  // believes nothing; its interval is kUnknown on both sides
  static constexpr double kUnknown = 1.6094379124341003;  // log 5
  explicit Trust(const Trials& trials);

  struct Assessment {
    double weight = 0;
    analytical::Verdict verdict = analytical::Verdict::kOut;
    double low = -kUnknown, high = kUnknown;  // of log(measured / predicted), dispatch included
  };
  [[nodiscard]] Assessment assess(const Position& position, const std::string& op_class,
                                  double time) const;

  [[nodiscard]] double correlation() const { return correlation_; }
  [[nodiscard]] double near() const { return near_; }
  [[nodiscard]] double far() const { return far_; }

  // YAML text of every number; load() throws Error with file and line.
  [[nodiscard]] std::string save() const;
  [[nodiscard]] static Trust load(const std::string& text, const std::string& file);

 private:
  struct Weights {
    double near = 0, far = 0, new_class = 0, new_device = 0;
  };
  struct Reach {  // largest distances of the trials without classes, without devices
    double new_class = 0, new_device = 0;
  };
  struct Band {
    double low = -kUnknown, high = kUnknown;
    std::size_t trials = 0;

    void widen(const Band& other);
  };
  struct Point;  // a trial's error
  struct Bands {
    Band all;
    std::map<std::string, Band> by_class;                // at least kLeastTrials
    std::map<std::string, std::array<Band, 2>> by_size;  // short, long
  };

  void decide_weights(const Trials& trials);
  [[nodiscard]] double weight_at(double distance) const;
  [[nodiscard]] double weight_of(const Position& position) const;
  void decide_bands(const Trials& trials);
  [[nodiscard]] static Band band_of(std::vector<Point> points);
  [[nodiscard]] static std::vector<Point> farthest(std::vector<Point> points, std::size_t count);
  [[nodiscard]] static bool enough(const std::vector<Point>& points);
  [[nodiscard]] static std::optional<Band> trusted_band(std::vector<Point> points);
  [[nodiscard]] Bands bands_of(const std::vector<Point>& points) const;
  [[nodiscard]] const Band& find(const Bands& bands, const std::string& op_class,
                                 double time) const;
  struct Text;  // trust_yaml.cpp

  double near_ = 0, far_ = 0, correlation_ = 1;
  Weights weights_;
  Reach reach_;
  Bands near_bands_, far_bands_;
  std::optional<Band> new_class_, new_device_, physics_;  // physics_: without any correction
  std::map<std::string, double> median_time_;             // by class
};

}  // namespace tilecast::hybrid
