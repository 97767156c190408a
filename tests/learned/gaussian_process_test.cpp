// Is a Gaussian process what its equations say, and does it read back as it was?
#include "learned/gaussian_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "base/error.h"
#include "learned/training/gp_trainer.h"

namespace tilecast::learned {
namespace {

using ::testing::HasSubstr;

constexpr GpHyper kHyper{.amplitude = 0.7, .length = 1.3, .noise = 0.2};
constexpr double kFloat = 1e-5;  // covariances are in float

double squared(double x) {
  return x * x;
}
double signal(const GpHyper& hyper) {
  return squared(hyper.amplitude);
}
double covariance(const GpHyper& hyper, double squared_distance, double columns) {
  return signal(hyper) * std::exp(-squared_distance / (2 * columns * squared(hyper.length)));
}
double mean_at(const GaussianProcess& process, const std::vector<float>& row) {
  double mean = 0;
  process.predict(row, {&mean, 1});
  return mean;
}

// In [0, 1), the same everywhere.
double uniform(std::mt19937_64& engine) {
  return static_cast<double>(engine() >> 11) * 0x1p-53;
}
// `rows` points in [-2, 2]^columns and a smooth function of them.
GpTable smooth_table(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  GpTable table{.columns = columns, .values = {}, .targets = {}};
  for (std::size_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < columns; ++i) {
      const double x = 4 * uniform(engine) - 2;
      table.values.push_back(static_cast<float>(x));
      sum += std::sin(x + static_cast<double>(i)) / static_cast<double>(columns);
    }
    table.targets.push_back(0.4 * sum);
  }
  return table;
}
std::vector<float> row_of(const GpTable& table, std::size_t row) {
  const float* const first = table.values.data() + row * table.columns;
  return {first, first + table.columns};
}

TEST(GaussianProcess, OfOnePointShrinksItTowardsZero) {
  const GaussianProcess process =
      GaussianProcess::fit({.columns = 2, .values = {0.5F, 1}, .targets = {3}}, kHyper);
  const double k = signal(kHyper), noise = squared(kHyper.noise);
  EXPECT_NEAR(mean_at(process, {0.5F, 1}), k / (k + noise) * 3, kFloat);
  const double away = covariance(kHyper, squared(0.5) + squared(2), 2);
  EXPECT_NEAR(mean_at(process, {1, 3}), away / (k + noise) * 3, kFloat);
}

TEST(GaussianProcess, OfTwoPointsSolvesTheirEquations) {
  const double y0 = 1, y1 = -2;
  const GaussianProcess process =
      GaussianProcess::fit({.columns = 1, .values = {0, 1}, .targets = {y0, y1}}, kHyper);
  const double d = signal(kHyper) + squared(kHyper.noise), k = covariance(kHyper, 1, 1);
  const double determinant = d * d - k * k;
  const double alpha0 = (d * y0 - k * y1) / determinant, alpha1 = (d * y1 - k * y0) / determinant;
  for (const double x : {-1.0, 0.0, 0.4, 2.0}) {
    EXPECT_NEAR(
        mean_at(process, {static_cast<float>(x)}),
        alpha0 * covariance(kHyper, squared(x), 1) + alpha1 * covariance(kHyper, squared(x - 1), 1),
        kFloat);
  }
}

TEST(GaussianProcess, IsZeroFarFromEveryPointAndWithoutAny) {
  const GaussianProcess process = GaussianProcess::fit(smooth_table(40, 3, 1), kHyper);
  EXPECT_NEAR(mean_at(process, {100, 100, -100}), 0, 1e-30);
  EXPECT_EQ(mean_at(process, {3e38F, -3e38F, 3e38F}), mean_at(process, {1e30F, 1e30F, 1e30F}));
  const GaussianProcess none =
      GaussianProcess::fit({.columns = 1, .values = {}, .targets = {}}, {});
  EXPECT_EQ(mean_at(none, {1}), 0);
  EXPECT_EQ(mean_at(GaussianProcess(), {}), 0);
}

TEST(GaussianProcess, PassesThroughItsPointsWhereThereIsNoNoise) {
  const GpTable table = smooth_table(50, 2, 2);
  const GaussianProcess process =
      GaussianProcess::fit(table, {.amplitude = 0.5, .length = 0.5, .noise = 1e-3});
  for (std::size_t row = 0; row < table.rows(); ++row) {
    EXPECT_NEAR(mean_at(process, row_of(table, row)), table.targets[row], 1e-2);
  }
}

TEST(GaussianProcess, DoesNotCareForTheOrderOfRows) {
  const GpTable table = smooth_table(37, 3, 3);
  GpTable turned{.columns = 3, .values = {}, .targets = {}};
  for (std::size_t row = table.rows(); row-- > 0;) {
    const std::vector<float> values = row_of(table, row);
    turned.values.insert(turned.values.end(), values.begin(), values.end());
    turned.targets.push_back(table.targets[row]);
  }
  const GaussianProcess one = GaussianProcess::fit(table, kHyper);
  const GaussianProcess other = GaussianProcess::fit(turned, kHyper);
  for (const std::vector<float>& row : {std::vector<float>{0, 0, 0}, {1, -1, 0.5F}, {2, 2, 2}}) {
    EXPECT_NEAR(mean_at(one, row), mean_at(other, row), kFloat);
  }
  EXPECT_NEAR(evidence(table, kHyper).log_likelihood, evidence(turned, kHyper).log_likelihood,
              1e-9);
}

TEST(GaussianProcess, TakesAWeightOfFourForFourEqualRows) {
  const GpTable weighted{.columns = 1, .values = {0, 1}, .targets = {1, -1}, .weights = {4, 1}};
  const GpTable copied{.columns = 1, .values = {0, 0, 0, 0, 1}, .targets = {1, 1, 1, 1, -1}};
  const GaussianProcess one = GaussianProcess::fit(weighted, kHyper);
  const GaussianProcess other = GaussianProcess::fit(copied, kHyper);
  for (const float x : {-0.5F, 0.0F, 0.7F, 1.0F}) {
    EXPECT_NEAR(mean_at(one, {x}), mean_at(other, {x}), kFloat);
  }
}

TEST(GaussianProcess, ScalesColumnsAndPassesOverThoseOfScaleZero) {
  const GpTable table = smooth_table(30, 2, 4);
  GpTable scaled{.columns = 3, .values = {}, .targets = table.targets, .scales = {0.5F, 0, 2}};
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::vector<float> values = row_of(table, row);
    scaled.values.insert(scaled.values.end(), {2 * values[0], 7, values[1] / 2});
  }
  const GaussianProcess one = GaussianProcess::fit(table, kHyper);
  const GaussianProcess other = GaussianProcess::fit(scaled, kHyper);
  EXPECT_NEAR(mean_at(other, {1, 1e9F, 0.5F}), mean_at(one, {0.5F, 1}), kFloat);
  EXPECT_EQ(mean_at(other, {1, 1e9F, 0.5F}), mean_at(other, {1, 7, 0.5F}));
}

TEST(GaussianProcess, PredictsManyRowsAsOneByOne) {
  const GaussianProcess process = GaussianProcess::fit(smooth_table(33, 5, 5), kHyper);
  const GpTable rows = smooth_table(21, 5, 6);
  std::vector<double> all(rows.rows());
  process.predict(rows.values, all);
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    EXPECT_EQ(all[row], mean_at(process, row_of(rows, row)));
  }
}

TEST(GaussianProcess, EvidenceOfOnePointIsANormalDensity) {
  const GpTable table{.columns = 1, .values = {0}, .targets = {0.3}, .weights = {2}};
  const double variance = signal(kHyper) + squared(kHyper.noise) / 2;
  EXPECT_NEAR(evidence(table, kHyper).log_likelihood,
              -0.5 * (squared(0.3) / variance + std::log(2 * std::acos(-1) * variance)), 1e-12);
}

TEST(GaussianProcess, EvidenceHasTheSlopesOfFiniteDifferences) {
  GpTable table = smooth_table(25, 3, 7);
  table.scales = {1, 0.3F, 0};
  for (std::size_t row = 0; row < table.rows(); ++row) {
    table.weights.push_back(0.5 + static_cast<double>(row % 3));
  }
  const Evidence found = evidence(table, kHyper);
  constexpr double kStep = 1e-5;
  const auto slope = [&](double GpHyper::*member) {
    GpHyper more = kHyper, less = kHyper;
    more.*member *= std::exp(kStep);
    less.*member *= std::exp(-kStep);
    return (evidence(table, more).log_likelihood - evidence(table, less).log_likelihood) /
           (2 * kStep);
  };
  const auto close = [](double got, double expected) {
    EXPECT_NEAR(got, expected, 1e-5 * std::max(1.0, std::fabs(expected)));
  };
  close(found.by_log_amplitude, slope(&GpHyper::amplitude));
  close(found.by_log_length, slope(&GpHyper::length));
  close(found.by_log_noise, slope(&GpHyper::noise));
}

TEST(GaussianProcess, EvidenceIsMinusInfiniteWhereRowsCannotBeToldApart) {
  const GpTable table{.columns = 1, .values = {0, 0, 0}, .targets = {1, 2, 3}};
  const GpHyper tiny{.amplitude = 1000, .length = 1, .noise = 1e-9};
  EXPECT_TRUE(std::isinf(evidence(table, tiny).log_likelihood));
  EXPECT_THROW(static_cast<void>(GaussianProcess::fit(table, tiny)), Error);
}

TEST(GaussianProcess, RefusesWhatIsNotFiniteOrTooMuch) {
  const auto fits = [](const GpTable& table) {
    static_cast<void>(GaussianProcess::fit(table, kHyper));
  };
  const float nan = std::nanf("");
  const double infinite = INFINITY;
  EXPECT_THROW(fits({.columns = 1, .values = {nan}, .targets = {1}}), Error);
  EXPECT_THROW(fits({.columns = 1, .values = {1}, .targets = {infinite}}), Error);
  EXPECT_THROW(fits({.columns = 1, .values = {1}, .targets = {1}, .weights = {0}}), Error);
  EXPECT_THROW(fits({.columns = 1, .values = {1}, .targets = {1}, .weights = {}, .scales = {-1}}),
               Error);
  constexpr std::size_t kTooMany = GaussianProcess::kMostRows + 1;
  EXPECT_THROW(fits({.columns = 0, .values = {}, .targets = std::vector<double>(kTooMany)}), Error);
  EXPECT_THROW(static_cast<void>(GaussianProcess::fit({.columns = 1, .values = {1}, .targets = {1}},
                                                      {.amplitude = 0})),
               Error);
}

// --- files

GaussianProcess some_process() {
  GpTable table = smooth_table(19, 3, 8);
  table.scales = {1.0F / 3, 0, 1e-3F};
  return GaussianProcess::fit(table, {.amplitude = 0.1, .length = 1.0 / 3, .noise = 0.02});
}

TEST(GaussianProcessFile, ReadsBackEqual) {
  const GaussianProcess process = some_process();
  const std::string text = process.save();
  const GaussianProcess again = GaussianProcess::load(text, "process.bin", 3);
  EXPECT_EQ(again.save(), text);
  EXPECT_EQ(again.rows(), 19U);
  EXPECT_EQ(again.hyper().length, process.hyper().length);
  const GpTable rows = smooth_table(20, 3, 9);
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    EXPECT_EQ(mean_at(again, row_of(rows, row)), mean_at(process, row_of(rows, row)));
  }
  const GaussianProcess none = GaussianProcess::load(GaussianProcess().save(), "p", 0);
  EXPECT_EQ(none.rows(), 0U);
}

std::string refusal(const std::string& text, std::size_t columns = 3) {
  try {
    static_cast<void>(GaussianProcess::load(text, "process.bin", columns));
    return "read";
  } catch (const Error& error) {
    return error.what();
  }
}

// The bytes of a number that stands in a file.
template <class Number>
std::string bytes_of(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

TEST(GaussianProcessFile, MistakesAreNamed) {
  const GaussianProcess process = some_process();
  const std::string saved = process.save();
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = saved;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos);
    return refusal(changed.replace(at, from.size(), to));
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const float scale = 1.0F / 3;
  EXPECT_EQ(refusal(saved), "read");
  EXPECT_EQ(refusal(saved, 4), "process.bin: got 19 rows of 3 columns, expected at most 4000 of 4");
  EXPECT_EQ(with(bytes_of(0.1), bytes_of(0.0)),
            "process.bin: hyper-parameter 0: got 0, expected 1e-09 to 1000000");
  EXPECT_THAT(with(bytes_of(0.1), bytes_of(nan)), HasSubstr("hyper-parameter 0: got nan"));
  EXPECT_EQ(with(bytes_of(scale), bytes_of(-1.0F)),
            "process.bin: scale 0: got -1, expected 0 to 1000000");
  EXPECT_THAT(with(bytes_of(scale), bytes_of(2e6F)), HasSubstr("scale 0: got 2000000"));
  EXPECT_THAT(refusal(saved.substr(0, saved.size() - 4) + bytes_of(2e12F)),
              HasSubstr("value 37: got 1999999991808"));
  EXPECT_EQ(refusal(saved.substr(0, saved.size() - 1)), "process.bin: ends too early");
  EXPECT_EQ(refusal(saved + "x"), "process.bin: 1 bytes too many");
  EXPECT_EQ(refusal("what,value\n"), "process.bin: is no file of a Gaussian process");
  EXPECT_EQ(refusal(""), "process.bin: is no file of a Gaussian process");
}

TEST(GaussianProcessFile, MutatedBytesAreRefusedOrPredictNumbers) {
  const std::string saved = some_process().save();
  std::mt19937_64 engine(13);
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string changed = saved;
    for (std::uint64_t edits = 1 + engine() % 3; edits > 0; --edits) {
      changed[engine() % changed.size()] = static_cast<char>(engine());
    }
    if (engine() % 8 == 0) changed.resize(engine() % changed.size());
    try {
      const GaussianProcess process = GaussianProcess::load(changed, "process.bin", 3);
      ASSERT_TRUE(std::isfinite(mean_at(process, {0, 1, -1}))) << i;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

// --- training

double rms_error(const GaussianProcess& process, const GpTable& table) {
  double sum = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    sum += squared(mean_at(process, row_of(table, row)) - table.targets[row]);
  }
  return std::sqrt(sum / static_cast<double>(table.rows()));
}
double rms(const std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0,
                                     [](double s, double x) { return s + x * x; });
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST(GpTrainer, LearnsASmoothFunctionFromFewRows) {
  GpTable table = smooth_table(60, 2, 10);
  const GpTable held = smooth_table(100, 2, 11);
  EXPECT_LT(rms_error(train_gp(table, {}), held), 0.05 * rms(held.targets));
}

TEST(GpTrainer, FindsHyperParametersThatFewChangesImprove) {
  GpTable table = smooth_table(60, 2, 10);
  std::mt19937_64 engine(16);
  for (double& target : table.targets) target += 0.05 * (2 * uniform(engine) - 1);
  const GpSpec spec;
  const GpHyper best = train_gp(table, spec).hyper();
  const auto posterior = [&](const GpHyper& hyper) {
    const double off[] = {std::log(hyper.amplitude / spec.amplitude),
                          std::log(hyper.length / spec.length), std::log(hyper.noise / spec.noise)};
    double value = evidence(table, hyper).log_likelihood;
    for (const double x : off) value -= squared(x / spec.prior_deviation) / 2;
    return value;
  };
  for (double GpHyper::*member : {&GpHyper::amplitude, &GpHyper::length, &GpHyper::noise}) {
    for (const double factor : {0.8, 1.25}) {
      GpHyper other = best;
      other.*member *= factor;
      EXPECT_LT(posterior(other), posterior(best));
    }
  }
}

TEST(GpTrainer, HasAFloorUnderTheNoiseOfExactRows) {
  const GpSpec spec;
  const GpHyper found = train_gp(smooth_table(60, 2, 10), spec).hyper();
  EXPECT_GE(found.noise, spec.noise * std::exp(-4));
  EXPECT_LT(found.noise, spec.noise / 10);
}

TEST(GpTrainer, FindsTheNoise) {
  GpTable table = smooth_table(200, 1, 12);
  std::mt19937_64 engine(13);
  constexpr double kHalfWidth = 0.2;
  for (double& target : table.targets) target += kHalfWidth * (2 * uniform(engine) - 1);
  const double deviation = kHalfWidth / std::sqrt(3);
  EXPECT_NEAR(train_gp(table, {}).hyper().noise / deviation, 1, 0.15);
}

TEST(GpTrainer, HeldTightlyKeepsToItsCentres) {
  const GpHyper found = train_gp(smooth_table(60, 2, 10), {.prior_deviation = 1e-3}).hyper();
  const GpSpec centres;
  EXPECT_NEAR(found.amplitude / centres.amplitude, 1, 0.01);
  EXPECT_NEAR(found.length / centres.length, 1, 0.01);
  EXPECT_NEAR(found.noise / centres.noise, 1, 0.01);
}

TEST(GpTrainer, KeepsAtMostSoManyRowsTheSameEveryTime) {
  const GpTable table = smooth_table(80, 2, 14);
  const GpSpec spec{.hyper_rows = 30, .rows = 50, .seed = 3};
  const GaussianProcess process = train_gp(table, spec);
  EXPECT_EQ(process.rows(), 50U);
  EXPECT_EQ(train_gp(table, spec).save(), process.save());
  EXPECT_NE(train_gp(table, {.hyper_rows = 30, .rows = 50, .seed = 4}).save(), process.save());
}

TEST(GpTrainer, HoldsOutlyingAndEqualRows) {
  const GpTable equal{.columns = 2, .values = {1, 1, 1, 1, 1, 1}, .targets = {0.3, 0.3, 0.3}};
  EXPECT_NEAR(mean_at(train_gp(equal, {}), {1, 1}), 0.3, 0.05);
  GpTable wild = smooth_table(40, 2, 15);
  wild.targets[7] = 8;
  EXPECT_LT(std::fabs(mean_at(train_gp(wild, {}), row_of(wild, 7))), 8);
  EXPECT_THROW(static_cast<void>(train_gp({.columns = 1, .values = {}, .targets = {}}, {})), Error);
}

}  // namespace
}  // namespace tilecast::learned
