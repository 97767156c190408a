// Does a kernel stand where it should among those that are known?
#include "hybrid/domain.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analytical/analytical_model.h"
#include "analytical/layout_rules.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "ir/kernels/kernel_sketch.h"
#include "ir/load_program.h"
#include "tests/hybrid/synthetic_set.h"

namespace tilecast::hybrid {
namespace {

using analytical::KernelQuery;
using testing::HasSubstr;

const analytical::AnalyticalModel kModel;

hwdesc::Device device() {
  return hwdesc::load_device("tpu_v3");
}

// A set of `kernels` sums, as examples with priors.
struct Known {
  Known(int kernels, int tiles) : on(device()), set(synthetic_set(on, kernels, tiles)) {
    examples = learned::make_examples({&set, 1}, {&on, 1}, kModel, true, 1);
  }
  [[nodiscard]] Domain domain() const { return Domain::of(examples, examples.kernels); }
  [[nodiscard]] Work work(std::size_t row) const {
    return work_of(examples.queries[row].kernel, *examples.priors[row]);
  }
  [[nodiscard]] Coordinates at(std::size_t row) const { return work(row).at; }

  hwdesc::Device on;
  measured::SampleSet set;
  learned::Examples examples;
};

ir::Kernel product(std::int64_t m, std::int64_t n, std::int64_t k) {
  ir::KernelSketch sketch("product", ir::Opcode::kDot, analytical::layout_rules(device()));
  const ir::OpId a = sketch.parameter(ir::DType::kBF16, {m, k});
  const ir::OpId b = sketch.parameter(ir::DType::kBF16, {k, n});
  return sketch.build({sketch.dot(a, b, {.lhs_contracting = {1}, .rhs_contracting = {0}}, {m, n},
                                  ir::DType::kBF16)});
}

ir::Kernel row_sums(std::int64_t rows, std::int64_t columns) {
  ir::KernelSketch sketch("sums", ir::Opcode::kFusion, analytical::layout_rules(device()));
  const ir::OpId x = sketch.row_major_parameter(ir::DType::kF32, {rows, columns});
  const ir::OpId e = sketch.elementwise(ir::Opcode::kExp, {x});
  return sketch.build({sketch.reduce(e, ir::Opcode::kAdd, 1)});
}

analytical::Estimate prior(const ir::Kernel& kernel) {
  const KernelQuery query{.kernel = kernel};
  return kModel.estimate({&query, 1}, device()).front().value();
}

double coordinate(const ir::Kernel& kernel, std::string_view name) {
  const auto names = coordinate_names();
  const auto found = std::ranges::find(names, name);
  EXPECT_NE(found, names.end()) << name;
  return static_cast<double>(
      work_of(kernel, prior(kernel)).at[static_cast<std::size_t>(found - names.begin())]);
}

TEST(Coordinates, HaveNamesOfTheirOwnAndFloors) {
  const auto names = coordinate_names();
  EXPECT_EQ(names.size(), kCoordinates);
  EXPECT_EQ(std::set<std::string_view>(names.begin(), names.end()).size(), kCoordinates);
  for (std::size_t c = 0; c < kCoordinates; ++c) EXPECT_GT(coordinate_floor(c), 0) << names[c];
}

TEST(Coordinates, OfAProductAreItsSizesWorkAndBytes) {
  const ir::Kernel kernel = product(512, 256, 1024);
  const double flops = 2.0 * 512 * 256 * 1024, bytes = 2.0 * (512 * 1024 + 1024 * 256 + 512 * 256);
  EXPECT_NEAR(coordinate(kernel, "log_m"), std::log(513), 1e-5);
  EXPECT_NEAR(coordinate(kernel, "log_n"), std::log(257), 1e-5);
  EXPECT_NEAR(coordinate(kernel, "log_k"), std::log(1025), 1e-5);
  EXPECT_NEAR(coordinate(kernel, "log_flops"), std::log(flops), 1e-4);
  EXPECT_NEAR(coordinate(kernel, "log_bytes"), std::log(bytes), 1e-4);
  EXPECT_NEAR(coordinate(kernel, "log_intensity"), std::log1p(flops / bytes), 1e-4);
  EXPECT_EQ(coordinate(kernel, "matrix"), 1);
  EXPECT_EQ(coordinate(kernel, "log_reduced"), 0);
  EXPECT_NEAR(coordinate(kernel, "log_element_bytes"), std::log1p(2), 1e-6);
  EXPECT_NEAR(coordinate(kernel, "log_speed_of_light"),
              std::log(prior(kernel).speed_of_light.value), 1e-5);
}

TEST(Coordinates, OfAReductionAreItsRowAndSharesOfWork) {
  const ir::Kernel kernel = row_sums(64, 4096);
  EXPECT_NEAR(coordinate(kernel, "log_reduced"), std::log(4097), 1e-5);
  EXPECT_EQ(coordinate(kernel, "minor_reduced"), 1);
  EXPECT_EQ(coordinate(kernel, "transcendental"), 0.5);  // as many exponentials as sums
  EXPECT_EQ(coordinate(kernel, "reduction"), 0.5);
  EXPECT_EQ(coordinate(kernel, "log_m"), 0);
}

TEST(Coordinates, AreTheSameForEveryTile) {
  const Known known(3, 8);
  for (std::size_t row = 0; row < known.examples.rows.size(); ++row) {
    EXPECT_EQ(known.at(row), known.at(row / 8 * 8)) << row;
  }
}

TEST(Coordinates, AreFiniteForKernelsThatDoNothing) {
  ir::KernelSketch sketch("empty", ir::Opcode::kFusion, analytical::layout_rules(device()));
  const ir::OpId x = sketch.parameter(ir::DType::kF32, {0});
  const ir::Kernel kernel = sketch.build({sketch.elementwise(ir::Opcode::kNegate, {x})});
  const Work work = work_of(kernel, {});
  for (const float value : work.at) EXPECT_TRUE(std::isfinite(value));
  EXPECT_EQ(work.kind, "other, latency");
}

// Busy times of an estimate, and what follows from them.
analytical::Estimate busy(std::initializer_list<std::pair<analytical::Bound, double>> times) {
  analytical::Estimate estimate{.time = Seconds{1.0}};
  for (const auto& [bound, seconds] : times) {
    estimate.bounds[static_cast<std::size_t>(bound)] = Seconds{seconds};
  }
  return estimate;
}
PerResource shares_of(const analytical::Estimate& estimate) {
  Work work;
  rebind(work, estimate);
  return work.shares;
}
float share(const PerResource& shares, Resource resource) {
  return shares[static_cast<std::size_t>(resource)];
}

TEST(Shares, AreFourthPowersOfBusyTimesAndAddUpToOne) {
  using analytical::Bound;
  const PerResource shares =
      shares_of(busy({{Bound::kMatrix, 1}, {Bound::kHbmRead, 0.5}, {Bound::kHbmWrite, 0}}));
  EXPECT_FLOAT_EQ(share(shares, Resource::kMatrix), 16.0F / 17);
  EXPECT_FLOAT_EQ(share(shares, Resource::kRead), 1.0F / 17);
  EXPECT_EQ(share(shares, Resource::kWrite), 0);
  EXPECT_EQ(share(shares_of({}), Resource::kLatency), 1);  // no time: nothing binds
}

TEST(MachineDistance, IsTheMeanLogRatioOfWhatBinds) {
  using analytical::Bound;
  const auto asked = busy({{Bound::kMatrix, 1}, {Bound::kHbmRead, 0.5}});
  const auto faster = busy({{Bound::kMatrix, 0.5}, {Bound::kHbmRead, 0.5}});
  EXPECT_EQ(machine_distance(asked, asked), 0);
  EXPECT_NEAR(machine_distance(asked, faster), 16.0 / 17 * std::log(2), 1e-6);
}

TEST(MachineDistance, IgnoresWhatPhysicsDoesNotReadForAKernel) {
  const ir::Kernel kernel = product(512, 512, 512);
  const KernelQuery query{.kernel = kernel};
  const auto on = [&](const hwdesc::Device& machine) {
    return kModel.estimate({&query, 1}, machine).front().value();
  };
  hwdesc::Device other = device();
  other.transcendental.per_cycle *= 7;  // a product has none
  EXPECT_EQ(machine_distance(on(device()), on(other)), 0);
  other.clock = other.clock * 1.5;
  EXPECT_GT(machine_distance(on(device()), on(other)), kSameMachine);
}

TEST(Kind, IsWhatAKernelComputesWithAndWhatBindsIt) {
  const ir::Kernel large = product(4096, 4096, 4096), thin = product(8, 4096, 4096);
  EXPECT_EQ(work_of(large, prior(large)).kind, "16-bit product, matrix");
  EXPECT_EQ(work_of(thin, prior(thin)).kind, "16-bit product, read");
  EXPECT_THAT(std::string(work_of(row_sums(64, 4096), prior(row_sums(64, 4096))).kind),
              testing::StartsWith("function reduction, "));
  for (const std::string& kind : all_kinds()) {
    const std::string_view name = kResourceNames[static_cast<std::size_t>(binding_of(kind))];
    EXPECT_THAT(kind, testing::EndsWith(std::string(name)));
  }
}

TEST(Domain, KnowsEachKernelOnceWithItsNameKindAndDevice) {
  const Known known(5, 4);
  const Domain domain = known.domain();
  ASSERT_EQ(domain.kernels().size(), 5U);
  std::set<std::string> kinds;
  for (std::size_t row = 0; row < known.examples.rows.size(); ++row) {
    const Work work = known.work(row);
    const KnownKernel& kernel = domain.kernels()[row / 4];
    kinds.emplace(work.kind);
    EXPECT_EQ(kernel.name, fmt::format("sum {}", row / 4));
    EXPECT_EQ(kernel.work.at, work.at);
    for (std::size_t r = 0; r < kResources; ++r) {
      EXPECT_GE(kernel.work.shares[r], work.shares[r]);
    }
  }
  EXPECT_EQ(domain.kinds(), std::vector<std::string>(kinds.begin(), kinds.end()));
  EXPECT_EQ(domain.devices(), std::vector<std::string>{"tpu_v3"});
  EXPECT_EQ(domain.covering(), 0);
}

// Root mean square over what is about a resource, by hand.
double distance(const Domain& domain, const Coordinates& a, const Coordinates& b,
                Resource resource) {
  const auto n = static_cast<double>(domain.kernels().size());
  const auto about = coordinates_about(resource);
  double squares = 0;
  for (const std::uint8_t c : about) {
    double mean = 0, spread = 0;
    for (const KnownKernel& kernel : domain.kernels()) {
      mean += static_cast<double>(kernel.work.at[c]) / n;
    }
    for (const KnownKernel& kernel : domain.kernels()) {
      spread += std::pow(static_cast<double>(kernel.work.at[c]) - mean, 2) / n;
    }
    const double unit = std::max(std::sqrt(spread), static_cast<double>(coordinate_floor(c)));
    squares += std::pow(static_cast<double>(a[c] - b[c]) / unit, 2);
  }
  return std::sqrt(squares / static_cast<double>(about.size()));
}

TEST(Domain, LocatesByTheNearestKernelThatAResourceBinds) {
  const Known known(90, 1), asked(130, 1);
  const Domain domain = known.domain();
  for (std::size_t row = 0; row < asked.examples.rows.size(); row += 3) {
    const Work work = asked.work(row);
    const Position position = domain.locate(work, "tpu_v3"), other = domain.locate(work, "mine");
    EXPECT_EQ(position.shares, work.shares);
    for (std::size_t r = 0; r < kResources; ++r) {
      double least = std::numeric_limits<double>::infinity();
      for (const KnownKernel& kernel : domain.kernels()) {
        if (kernel.work.shares[r] < kLeastShare) continue;
        least =
            std::min(least, distance(domain, work.at, kernel.work.at, static_cast<Resource>(r)));
      }
      if (std::isinf(least)) {
        EXPECT_TRUE(std::isinf(position.distance[r]));
        continue;
      }
      EXPECT_NEAR(position.distance[r], least, 1e-4);
      const auto penalty = static_cast<double>(kOtherDevice);
      EXPECT_NEAR(other.distance[r], std::hypot(least, penalty), 1e-4);
    }
  }
}

TEST(Domain, HasAllTilesOfAKnownKernelNearByWhatBindsThem) {
  const Known known(6, 5);
  const Domain domain = known.domain();
  for (std::size_t row = 0; row < known.examples.rows.size(); ++row) {
    const Position position = domain.locate(known.work(row), "tpu_v3");
    for (std::size_t r = 0; r < kResources; ++r) {
      if (position.shares[r] < kLeastShare) continue;
      EXPECT_EQ(position.distance[r], 0) << kResourceNames[r];
    }
    EXPECT_EQ(domain.nearest(known.work(row), 1).front().distance, 0);
  }
}

TEST(Domain, HasNoRowKernelNearWhatTheMatrixUnitBinds) {
  const Known known(20, 1);
  const ir::Kernel large = product(4096, 4096, 4096);
  const Position position = known.domain().locate(work_of(large, prior(large)), "tpu_v3");
  EXPECT_GT(share(position.shares, Resource::kMatrix), 0.5F);
  EXPECT_TRUE(std::isinf(share(position.distance, Resource::kMatrix)));
}

TEST(Domain, OfManyKernelsKeepsThoseThatCoverAll) {
  const Known known(1300, 1);
  const Domain domain = known.domain();
  EXPECT_EQ(domain.kernels().size(), Domain::kMostKernels);
  EXPECT_GT(domain.covering(), 0);
}

TEST(Domain, ThatKnowsNothingHasEverythingInfinitelyFar) {
  const ir::Kernel kernel = product(8, 8, 8);
  const Work work = work_of(kernel, prior(kernel));
  for (const float each : Domain().locate(work, "tpu_v3").distance) EXPECT_TRUE(std::isinf(each));
  EXPECT_TRUE(Domain().nearest(work, 3).empty());
}

TEST(Domain, LeavesOutRowsWithoutAPrior) {
  Known known(4, 2);
  known.examples.priors[2] = known.examples.priors[3] = std::nullopt;
  known.examples.priors[4] = std::nullopt;
  const Domain domain = known.domain();
  ASSERT_EQ(domain.kernels().size(), 3U);
  EXPECT_EQ(domain.kernels()[1].name, "sum 2");
}

TEST(DomainText, SurvivesSavingAndLoading) {
  const Known known(40, 1);
  std::vector<std::string> names = known.examples.kernels;
  names[0] = "a \"b\", c\nd";
  names[1] = "  spaces  ";
  const Domain domain = Domain::of(known.examples, names);
  const std::string text = domain.save();
  const Domain read = Domain::load(text, "domain.csv");
  EXPECT_EQ(read.save(), text);
  EXPECT_EQ(read.kernels()[0].name, names[0]);
  EXPECT_EQ(read.kernels()[1].name, names[1]);
  const Work work = work_of(row_sums(100, 300), prior(row_sums(100, 300)));
  EXPECT_EQ(domain.locate(work, "tpu_v3").distance, read.locate(work, "tpu_v3").distance);
  EXPECT_EQ(Domain::load(Domain().save(), "d").save(), Domain().save());
}

std::string message_of(const std::string& text) {
  try {
    static_cast<void>(Domain::load(text, "domain.csv"));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string replaced(std::string text, const std::string& old, const std::string& with) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return at == std::string::npos ? text : text.replace(at, old.size(), with);
}

const std::string kEmpty(kResources + 4, ',');  // up to the first coordinate

TEST(DomainText, ThatIsWrongIsNamedByFileLineAndColumn) {
  const std::string text = Known(3, 1).domain().save();
  EXPECT_EQ(message_of(text), "no error");
  EXPECT_THAT(message_of(""), HasSubstr("domain.csv"));
  EXPECT_THAT(message_of(replaced(text, "log_flops", "flops")),
              HasSubstr("domain.csv:1: got column 'flops', expected log_flops"));
  EXPECT_THAT(message_of(replaced(text, "covering" + kEmpty + "0", "covering" + kEmpty + "-1")),
              HasSubstr("domain.csv:2: column 'log_speed_of_light': got '-1', expected"));
  EXPECT_THAT(message_of(replaced(text, "covering" + kEmpty + "0", "covering" + kEmpty + "inf")),
              HasSubstr("expected a finite number"));
  EXPECT_THAT(message_of(replaced(text, "covering", "covers")), HasSubstr("got 'covers'"));
  EXPECT_THAT(message_of(replaced(text, "deviation" + kEmpty, "deviation" + kEmpty + "-")),
              HasSubstr("at least"));
  const std::string kind(Known(3, 1).domain().kernels()[1].work.kind);
  const std::string cell = "sum 1,\"" + kind + "\",tpu_v3,";
  EXPECT_THAT(message_of(replaced(text, cell, cell + "1e30")), HasSubstr("column 'share_matrix'"));
  EXPECT_THAT(message_of(replaced(text, cell, "sum 1,sums,tpu_v3,")),
              HasSubstr("column 'kind': got 'sums'"));
  EXPECT_THAT(message_of(replaced(text, cell, "sum 1,\"" + kind + "\",mine,")),
              HasSubstr("column 'device': got 'mine'"));
  EXPECT_THAT(message_of(replaced(text, "deviation", "device")), HasSubstr("domain.csv"));
}

TEST(DomainText, ThatIsCutAnywhereIsAnErrorOrWhole) {
  const std::string text = Known(3, 1).domain().save();
  for (std::size_t size = 0; size < text.size(); size += 5) {
    const std::string message = message_of(text.substr(0, size));
    if (message != "no error") {
      EXPECT_THAT(message, HasSubstr("domain.csv"));
    }
  }
}

}  // namespace
}  // namespace tilecast::hybrid
