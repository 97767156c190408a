// The rows a learner is trained on, from measurement sets: kernels with tile and log time.
//
// Rows of whole programs (several kernels in one time) cannot train a model of kernels: they are
// left out and counted. Times are on the device: if a row's time contains an unmeasured dispatch,
// the dispatch of its class is subtracted (measured/samples.h, dispatch_of). A row that is mostly
// dispatch says little about the kernel: an error of 1 % in the row is an error of 1 % / share in
// the kernel's time, with share = kernel time / row time, so the row's weight is share^2. The share
// is at least kLeastShare and comes from the analytical model if priors are requested (the row's
// own share is noisy), else from the row. No device time is below kLeastShare of the row's time.
// Holds references to the sample sets, devices and the analytical model, which must outlive it.
#pragma once

#include "base/error.h"
#include "learned/predictor.h"
#include "measured/samples.h"

namespace tilecast::learned {

inline constexpr double kLeastShare = 0.02;

// Thrown if there are too few rows for a fit, so that callers can fall back to another model.
class TooFewRows final : public Error {
 public:
  using Error::Error;
};

struct Example {
  std::size_t set = 0, sample = 0;  // the source of the row
  const hwdesc::Device* device = nullptr;
  double target = 0;         // log(seconds); scaled() for other quantities
  double weight = 1;         // 1 / variance of log(seconds), relative to a row without dispatch
  std::uint32_t kernel = 0;  // the same number for equal work on one device
  std::uint32_t family = 0;
};

struct Examples {
  std::vector<Example> rows;
  std::vector<analytical::KernelQuery> queries;             // by row
  std::vector<std::optional<analytical::Estimate>> priors;  // by row; empty: not requested
  std::vector<std::string> kernels, families;               // names by number
  std::vector<std::vector<std::string>> parameter_names;    // by set, for its queries' parameters
  Target target;                                            // the target of the rows, with its unit
  std::size_t programs = 0;                                 // number of program rows left out
  std::size_t unlabelled = 0;  // number of rows left out without the target
  // Rows whose time is at most, or barely above, their dispatch; set to kLeastShare.
  std::size_t below_dispatch = 0;

  // The query of a row as learners see it: with the tile of its prior if it has none.
  [[nodiscard]] analytical::KernelQuery shown(std::size_t row) const;
  // These rows, in this order, with the same names and numbers; no rows count as left out.
  [[nodiscard]] Examples subset(std::span<const std::size_t> rows) const;
};

// All samples that have the target (compared by quantity and scale; the unit is the sets'), in
// order. `devices`: one per set. with_priors: also estimates with `prior_model`, the analytical
// model (on `jobs` threads). Throws Error if no set has the quantity, their units differ, or a
// value cannot be scaled.
[[nodiscard]] Examples make_examples(std::span<const measured::SampleSet> sets,
                                     std::span<const hwdesc::Device> devices,
                                     const analytical::CostModel& prior_model, bool with_priors,
                                     int jobs, const Target& target = {});

// Splits `chosen` into runs [first, end) of rows on one device, each of at most `most` rows.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> device_runs(
    const Examples& examples, std::span<const std::size_t> chosen, std::size_t most);

// Features of these rows, in order, row-major; rows of one kernel should be adjacent.
[[nodiscard]] std::vector<float> feature_rows(const TableFeatures& features,
                                              const Examples& examples,
                                              std::span<const std::size_t> rows, int threads);

// Draws whole families, kernels or rows until they contain `share` of the rows, for early stopping.
// With fewer than three families, draws kernels; with a single kernel, rows. A share of 0: no rows.
enum class ValidateBy { kFamily, kKernel, kRow };
inline constexpr std::string_view kValidateBy[] = {"family", "kernel", "row"};
struct TrainValidation {
  std::vector<std::size_t> train, validation;  // rows, ascending
  ValidateBy by = ValidateBy::kKernel;         // the unit that was drawn
};
[[nodiscard]] TrainValidation split_validation(const Examples& examples, ValidateBy by,
                                               double share, std::uint64_t seed);

}  // namespace tilecast::learned
