// The rows a learner is trained on, from measurement sets: kernels with their tile and log time.
//
// Rows of programs (several kernels in one time) cannot teach a model of kernels: they are left
// out and counted. Times are on the device: where a row still holds an unmeasured dispatch, the
// dispatch of its class is taken off (measured/samples.h, dispatch_of). What is left of a row that
// is mostly dispatch says little about the kernel: an error of 1 % in such a row is one of 1 % /
// share in the kernel's time, share = its time / the row's, so the row weighs share^2. The share is
// physics' (the row's own is noise) where priors are asked for, else the row's own, and at least
// kLeastShare. No row is taken to be shorter on the device than kLeastShare of itself.
// References into the sample sets, devices and the analytical model, which must outlive it.
#pragma once

#include "base/error.h"
#include "learned/predictor.h"
#include "measured/samples.h"

namespace tilecast::learned {

inline constexpr double kLeastShare = 0.02;

// Fewer rows than a fit needs: whoever has another answer than that fit may use it instead.
class TooFewRows final : public Error {
 public:
  using Error::Error;
};

struct Example {
  std::size_t set = 0, sample = 0;  // where it comes from
  const hwdesc::Device* device = nullptr;
  double target = 0;         // log(seconds); of a quantity that is no time: scaled()
  double weight = 1;         // 1 / variance of log(seconds), of a row without dispatch: 1
  std::uint32_t kernel = 0;  // equal work on one device: equal numbers
  std::uint32_t family = 0;
};

struct Examples {
  std::vector<Example> rows;
  std::vector<analytical::KernelQuery> queries;             // by row
  std::vector<std::optional<analytical::Estimate>> priors;  // by row; empty: not asked for
  std::vector<std::string> kernels, families;               // names by number
  std::vector<std::vector<std::string>> parameter_names;    // by set, of its queries' parameters
  Target target;                                            // what the rows teach, with its unit
  std::size_t programs = 0;                                 // rows left out
  std::size_t unlabelled = 0;                               // left out: no value of the target
  // Rows at or below their dispatch, or nearly: held at kLeastShare.
  std::size_t below_dispatch = 0;
  // The analytical model of the priors, and of the labels of pretraining.
  const analytical::CostModel* prior_model = nullptr;

  // What a learner is shown of a row: its query, with the tile of its prior where it states none.
  [[nodiscard]] analytical::KernelQuery shown(std::size_t row) const;
  // These rows, in this order; names and numbers stay, nothing counts as left out.
  [[nodiscard]] Examples subset(std::span<const std::size_t> rows) const;
};

// All samples that have the target (its quantity and scale count; the unit is the sets'), in order.
// `devices`: one per set. with_priors: also the answers of `prior_model`, the analytical model (on
// `jobs` threads). Throws Error where no set has the quantity, their units differ, or a value
// cannot be scaled.
[[nodiscard]] Examples make_examples(std::span<const measured::SampleSet> sets,
                                     std::span<const hwdesc::Device> devices,
                                     const analytical::CostModel& prior_model, bool with_priors,
                                     int jobs, const Target& target = {});

// Runs of the rows chosen that are of one device, each of at most `most`: [first, end) of `chosen`.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> device_runs(
    const Examples& examples, std::span<const std::size_t> chosen, std::size_t most);

// Whole families or kernels, or rows, at random, until `share` of the rows: what a training stops
// early on. Fewer than three families: kernels instead; a single kernel: rows. A share of 0: none.
enum class ValidateBy { kFamily, kKernel, kRow };
inline constexpr std::string_view kValidateBy[] = {"family", "kernel", "row"};
struct TrainValidation {
  std::vector<std::size_t> train, validation;  // rows, ascending
  ValidateBy by = ValidateBy::kKernel;         // what it came to
};
[[nodiscard]] TrainValidation split_validation(const Examples& examples, ValidateBy by,
                                               double share, std::uint64_t seed);

}  // namespace tilecast::learned
