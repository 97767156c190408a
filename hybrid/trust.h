// How much of a learned correction to believe, and how wrong the result may be: decided by trials
// in which the learner was asked about what it had not seen. Groups of trials are rows, kernels or
// families (Trials::base), whole kinds of work (by_kind; Work::kind), whole devices (by_device).
//   weight    0 to 1, in steps of 0.05: the one with the most gain over physics less a standard
//             error of it (Student's for few groups), every group counting alike, in mean absolute
//             log error of the row's whole time. Smooth in the number of trials: no weight appears
//             at once. By kind where it has enough trials, and 0 for a kind that lost to physics; a
//             device that lost by it has no more than its own trials of the kind deserve.
//             Other kinds: by resource, weighted by how much each binds; for kinds never measured
//             as trials without kinds deserved: with 95 % the next kind gains, too, and none of
//             the trials' lost more than 1 %. Up to `near` (80 % quantile of a resource's
//             distances) and at `far` (the largest tried), linear between, 0 beyond.
//   machine   of one that was not measured the weight goes to what trials without devices
//             deserved, linear in machine_distance() up to their median, 0 beyond the largest;
//             without such trials to 0 at kAlike.
//   residual  what the learner says is held within what 98 % of the trials saw.
//   verdict   in: near by every resource that binds; edge: up to far, or a new machine no farther
//             than trials went; out: beyond.
//   interval  90 %, split conformal (Vovk et al. 2005; cross-validated: Barber et al. 2021) on
//             signed log errors of the weighted trials: of the kind and half of sizes where it has
//             enough trials, else of the kind, else of all. Edge and out widen it by the far
//             trials, by physics alone, and by the trials without kinds or devices. n is the
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
inline constexpr double kAlike = 0.2;  // of machine_distance()

struct Trial {
  double residual = 0;   // log(measured / prior)
  double predicted = 0;  // the learner's
  double share = 1;      // of the row's time that is the kernel's (learned/training/examples.h)
  Position position;     // beside what the learner was fitted to
  double time = 0;       // prior, seconds
  std::string kind;      // Work::kind
  std::string device = {};
  std::uint32_t group = 0, family = 0;
};

struct Trials {
  std::vector<Trial> base, by_kind, by_device;  // the latter two may be empty
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
    // Farthest of the resources that bind the kernel: 0: near; up to 1: as far as trials went.
    Resource farthest = Resource::kMatrix;
    double farness = 0;
  };
  // `device`: the trained one it is asked about; of any other or of all: empty.
  [[nodiscard]] Assessment assess(const Position& position, std::string_view kind, double time,
                                  std::string_view device = {}) const;
  // Of a kernel that one resource binds, at that resource's near or far end; for reports.
  [[nodiscard]] Position example(Resource resource, bool far, double machine = 0) const;
  [[nodiscard]] double typical_machine() const { return typical_machine_; }
  // A learner's residual, held within what trials saw.
  [[nodiscard]] double held(double residual) const;

  struct Reach {                 // distances by a resource
    double near = -1, far = -1;  // -1: no trial
  };
  [[nodiscard]] const Reach& reach(Resource resource) const {
    return reach_[static_cast<std::size_t>(resource)];
  }
  [[nodiscard]] double correlation() const { return correlation_; }

  // YAML text of every number; load() throws Error with file and line.
  [[nodiscard]] std::string save() const;
  [[nodiscard]] static Trust load(const std::string& text, const std::string& file);

 private:
  struct Weights {
    double near = 0, far = 0, new_device = 0;
  };
  struct Band {
    double low = -kUnknown, high = kUnknown;
    std::size_t trials = 0;

    void widen(const Band& other);
  };
  using ByName = std::less<>;
  struct Bands {
    Band all;
    std::map<std::string, Band, ByName> by_kind;                 // at least kLeastTrials
    std::map<std::string, std::array<Band, 2>, ByName> by_size;  // short, long
  };
  struct Point;    // a trial's error
  struct Builder;  // from trials
  struct Yaml;     // trust_yaml.cpp

  [[nodiscard]] double farness(const Position& position, std::size_t resource) const;
  [[nodiscard]] double weight_of(const Position& position, std::string_view kind,
                                 double farness) const;
  [[nodiscard]] const Band& find(const Bands& bands, std::string_view kind, double time) const;

  std::array<Reach, kResources> reach_;
  std::array<Weights, kResources> by_resource_, new_kind_weights_;
  std::map<std::string, Weights, ByName> by_kind_;
  std::map<std::string, std::map<std::string, double, ByName>, ByName> most_;  // by kind, device
  double typical_machine_ = kAlike, farthest_machine_ = 0;  // 0: no trials without devices
  double held_low_ = 0, held_high_ = 0, correlation_ = 1;
  Bands near_bands_, far_bands_;
  std::optional<Bands> new_device_;
  std::optional<Band> new_kind_, physics_;             // physics_: without any correction
  std::map<std::string, double, ByName> median_time_;  // by kind
};

}  // namespace tilecast::hybrid
