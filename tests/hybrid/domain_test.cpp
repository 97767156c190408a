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
  [[nodiscard]] Coordinates at(std::size_t row) const {
    return coordinates_of(examples.queries[row].kernel, *examples.priors[row]);
  }

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
      coordinates_of(kernel, prior(kernel))[static_cast<std::size_t>(found - names.begin())]);
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
  for (const float value : coordinates_of(kernel, {})) EXPECT_TRUE(std::isfinite(value));
}

TEST(Domain, KnowsEachKernelOnceWithItsNameClassAndDevice) {
  const Known known(5, 4);
  const Domain domain = known.domain();
  ASSERT_EQ(domain.kernels().size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(domain.kernels()[i].name, fmt::format("sum {}", i));
    EXPECT_EQ(domain.kernels()[i].at, known.at(4 * i));
  }
  EXPECT_EQ(domain.op_classes(), std::vector<std::string>{"loop_fusion"});
  EXPECT_EQ(domain.devices(), std::vector<std::string>{"tpu_v3"});
  EXPECT_EQ(domain.covering(), 0);
}

TEST(Domain, HasAllTilesOfAKnownKernelAtDistanceNone) {
  const Known known(6, 5);
  const Domain domain = known.domain();
  for (std::size_t row = 0; row < known.examples.rows.size(); ++row) {
    const Position position = domain.locate(
        coordinates_of(known.examples.queries[row].kernel, *known.examples.priors[row]),
        "loop_fusion", known.on);
    EXPECT_EQ(position.distance, 0);
    EXPECT_EQ(position.nearest, row / 5);
    EXPECT_TRUE(position.known_class && position.known_device);
  }
}

TEST(Domain, OfOneKernelHoldsOthersAtTheDistanceThatFloorsGive) {
  const Known known(1, 20);
  const Coordinates other = coordinates_of(product(512, 512, 512), prior(product(512, 512, 512)));
  double squares = 0;
  for (std::size_t c = 0; c < kCoordinates; ++c) {
    const double apart =
        static_cast<double>(other[c] - known.at(0)[c]) / static_cast<double>(coordinate_floor(c));
    squares += apart * apart / static_cast<double>(kCoordinates);
  }
  const Position position = known.domain().locate(other, "dot", known.on);
  EXPECT_NEAR(position.distance, std::sqrt(squares), 1e-4 * std::sqrt(squares));
  EXPECT_GT(position.distance, 1);
  EXPECT_FALSE(position.known_class);
}

TEST(Domain, LocatesByTheNearestOfAllInUnitsOfDeviation) {
  const Known known(90, 1), asked(130, 1);
  const Domain domain = known.domain();
  const auto n = static_cast<double>(domain.kernels().size());
  std::array<double, kCoordinates> deviation{};
  for (std::size_t c = 0; c < kCoordinates; ++c) {
    double mean = 0, squares = 0;
    for (const KnownKernel& kernel : domain.kernels())
      mean += static_cast<double>(kernel.at[c]) / n;
    for (const KnownKernel& kernel : domain.kernels()) {
      squares += std::pow(static_cast<double>(kernel.at[c]) - mean, 2) / n;
    }
    deviation[c] = std::max(std::sqrt(squares), static_cast<double>(coordinate_floor(c)));
  }
  for (std::size_t row = 0; row < asked.examples.rows.size(); row += 3) {
    const Coordinates at = asked.at(row);
    std::vector<double> distances;
    for (const KnownKernel& kernel : domain.kernels()) {
      double sum = 0;
      for (std::size_t c = 0; c < kCoordinates; ++c) {
        sum += std::pow(static_cast<double>(at[c] - kernel.at[c]) / deviation[c], 2);
      }
      distances.push_back(std::sqrt(sum / static_cast<double>(kCoordinates)));
    }
    const double least = *std::ranges::min_element(distances);
    const Position position = domain.locate(at, "loop_fusion", asked.on);
    EXPECT_NEAR(position.distance, least, 1e-4);
    EXPECT_NEAR(distances[position.nearest], least, 1e-4);
    const std::vector<Domain::Neighbour> near = domain.nearest(at, 7);
    ASSERT_EQ(near.size(), 7U);
    EXPECT_EQ(near[0].kernel, position.nearest);
    EXPECT_EQ(near[0].distance, position.distance);
    std::ranges::sort(distances);
    for (std::size_t i = 0; i < near.size(); ++i) {
      EXPECT_NEAR(near[i].distance, distances[i], 1e-4);
    }
  }
  EXPECT_EQ(domain.nearest(asked.at(0), 1000).size(), domain.kernels().size());
}

TEST(Domain, OfManyKernelsKeepsThoseThatCoverAll) {
  const Known known(1300, 1);
  const Domain domain = known.domain();
  EXPECT_EQ(domain.kernels().size(), Domain::kMostKernels);
  EXPECT_GT(domain.covering(), 0);
  double farthest = 0;
  for (std::size_t row = 0; row < known.examples.rows.size(); ++row) {
    farthest = std::max(farthest, domain.locate(known.at(row), "loop_fusion", known.on).distance);
  }
  EXPECT_DOUBLE_EQ(farthest, domain.covering());
  // What is kept is at least as far apart: otherwise another would have been kept instead.
  for (std::size_t i = 0; i < domain.kernels().size(); i += 16) {
    const auto near = domain.nearest(domain.kernels()[i].at, 2);
    EXPECT_GE(near[1].distance, domain.covering() * (1 - 1e-5));
  }
}

TEST(Domain, KnowsDevicesByNameAndLineage) {
  const Known known(3, 1);
  const Domain domain = known.domain();
  const auto knows = [&](const hwdesc::Device& asked) {
    return domain.locate(known.at(0), "loop_fusion", asked).known_device;
  };
  hwdesc::Device other = known.on;
  EXPECT_TRUE(knows(other));
  other.name = "mine";
  EXPECT_FALSE(knows(other));
  other.lineage = {"ours", "tpu_v3"};
  EXPECT_TRUE(knows(other));
}

TEST(Domain, ThatKnowsNothingHasEverythingInfinitelyFar) {
  const Position position =
      Domain().locate(coordinates_of(product(8, 8, 8), prior(product(8, 8, 8))), "dot", device());
  EXPECT_TRUE(std::isinf(position.distance));
  EXPECT_FALSE(position.known_class);
  EXPECT_FALSE(position.known_device);
  EXPECT_TRUE(Domain().nearest(Coordinates{}, 3).empty());
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
  const Coordinates at = coordinates_of(row_sums(100, 300), prior(row_sums(100, 300)));
  const Position a = domain.locate(at, "loop_fusion", known.on);
  const Position b = read.locate(at, "loop_fusion", known.on);
  EXPECT_EQ(a.distance, b.distance);
  EXPECT_EQ(a.nearest, b.nearest);
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

TEST(DomainText, ThatIsWrongIsNamedByFileLineAndColumn) {
  const std::string text = Known(3, 1).domain().save();
  EXPECT_EQ(message_of(text), "no error");
  EXPECT_THAT(message_of(""), HasSubstr("domain.csv"));
  EXPECT_THAT(message_of(replaced(text, "log_flops", "flops")),
              HasSubstr("domain.csv:1: got column 'flops', expected log_flops"));
  EXPECT_THAT(message_of(replaced(text, "covering,,,0", "covering,,,-1")),
              HasSubstr("domain.csv:2: column 'log_speed_of_light': got '-1', expected"));
  EXPECT_THAT(message_of(replaced(text, "covering,,,0", "covering,,,inf")),
              HasSubstr("expected a finite number"));
  EXPECT_THAT(message_of(replaced(text, "covering", "covers")), HasSubstr("got 'covers'"));
  EXPECT_THAT(message_of(replaced(text, "deviation,,,", "deviation,,,-")), HasSubstr("at least"));
  EXPECT_THAT(message_of(replaced(text, "sum 1,loop_fusion,", "sum 1,loop_fusion,1e30")),
              HasSubstr("column 'log_speed_of_light'"));
  EXPECT_THAT(message_of(replaced(text, "sum 1,loop_fusion", "sum 1,dot")),
              HasSubstr("column 'op_class': got 'dot'"));
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
