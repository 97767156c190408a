// Chooses a Gaussian process' three hyper-parameters and fits it; learned/gaussian_process.h
// predicts.
//
// The hyper-parameters have the most evidence (Rasmussen and Williams 2006, section 5.4), held by
// log-normal priors about GpSpec's values so that five rows move them little: BFGS from there.
// Large tables: they are chosen on a sample of `hyper_rows`, and at most `rows` rows are kept.
// Deterministic, thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "learned/gaussian_process.h"
#include "learned/parameter_table.h"

namespace tilecast::learned {

struct GpSpec {
  double amplitude = 0.15, length = 2, noise = 0.03;  // centres of the priors
  double prior_deviation = 1;                         // of the logarithms about them
  int hyper_rows = 400;
  int rows = 1500;  // at most; a random sample of more
  std::uint64_t seed = 1;
};
// Name, range and meaning of each parameter.
[[nodiscard]] const ParameterTable<GpSpec>& gp_parameters();

// Throws Error when there are no rows or a value is not finite.
[[nodiscard]] GaussianProcess train_gp(const GpTable& table, const GpSpec& spec);

[[nodiscard]] std::string eigen_version();  // "3.4.0"

}  // namespace tilecast::learned
