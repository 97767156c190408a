// Sets with wrong rows: these rows are reported and left out, and a hybrid of the others is nowhere
// worse than the analytical model. Rows that are merely predicted badly are kept.
#include <gmock/gmock.h>

#include "tests/hybrid/poisoned_sets.h"

namespace tilecast::hybrid {
namespace {

using hwdesc::Device;
using measured::SampleSet;
using testing::HasSubstr;

Device device(const std::string& name) {
  return hwdesc::load_device(name);
}

Screened screened(const std::vector<SampleSet>& sets, const std::vector<Device>& devices) {
  return screen(kPhysics, sets, devices, 1);
}

TEST(Screening, KeepsCleanRowsAndThoseThatPhysicsErrsOn) {
  const std::vector<Device> devices{device("v100_pcie"), device("t4"), device("p100_pcie")};
  for (const double factor : {1.0, 2.0, 4.0}) {
    std::vector<SampleSet> sets;
    for (const Device& each : devices) sets.push_back(products_on(each, {.factor = factor}));
    for (const SetApart& apart : screened(sets, devices).apart) ADD_FAILURE() << apart.text();
  }
  // A single device that is slow for one class: there is no evidence that the rows are wrong.
  const std::vector<SampleSet> one{products_on(devices[1], {.factor = 4}),
                                   products_on(devices[1], {.op_class = "linear", .seed = 2})};
  for (const SetApart& apart : screened(one, {devices[1], devices[1]}).apart) {
    ADD_FAILURE() << apart.text();
  }
}

// Like an L4 at its power limit: a quarter of the rate of its units, with normal memory.
TEST(Screening, AThrottledBoard) {
  const std::vector<Device> devices{device("v100_pcie"), device("t4"), device("p100_pcie")};
  std::vector<SampleSet> sets, clean;
  for (const Device& each : devices) {
    sets.push_back(products_on(each, {}));
    clean.push_back(products_on(each, {.count = 30, .seed = 7}));
  }
  const Lines slow = slow_down(sets[1], devices[1], 4, is_bound_by_units);
  ASSERT_GT(slow.size(), 10U);
  const FittedHybrid fitted = expect_no_harm(sets, devices, clean, devices);
  EXPECT_TRUE(std::ranges::includes(lines_apart(fitted.apart), slow));
  ASSERT_EQ(fitted.apart.size(), 1U);
  EXPECT_EQ(fitted.apart.front().rows.size(), sets[1].samples.size());  // all of the class
  ASSERT_FALSE(fitted.notes.empty());
  EXPECT_THAT(fitted.notes.front(), HasSubstr("t4 matmul: "));
  EXPECT_THAT(fitted.notes.front(), HasSubstr("on 2 alike devices"));
}

TEST(Screening, ASlipOfUnitsInOneClass) {
  const Device t4 = device("t4");
  for (const double factor : {60.0, 1e3, 1e-3}) {
    std::vector<SampleSet> sets{products_on(t4, {}),
                                products_on(t4, {.op_class = "linear", .seed = 2})};
    const Lines slipped = slow_down(sets[1], t4, factor);
    const FittedHybrid fitted =
        expect_no_harm(sets, {t4, t4}, {products_on(t4, {.count = 30, .seed = 7})}, {t4});
    EXPECT_EQ(lines_apart(fitted.apart), slipped) << factor;
  }
}

TEST(Screening, SingleRowsFarFromTheirClass) {
  const Device t4 = device("t4");
  std::vector<SampleSet> sets{products_on(t4, {})};
  for (const std::size_t i : {3U, 20U}) {
    sets[0].samples[i].measured = sets[0].samples[i].measured * 1000;
  }
  const Screened result = screened(sets, {t4});
  ASSERT_EQ(result.apart.size(), 1U);
  EXPECT_EQ(lines_apart(result.apart), (Lines{{sets[0].name, 5}, {sets[0].name, 22}}));
  EXPECT_THAT(result.apart.front().reason, HasSubstr("as ns for us"));
  EXPECT_EQ(result.sets.front().samples.size(), 58U);
}

// A row repeated a hundred times must not count a hundred times.
TEST(Screening, TheSameRowManyTimesCountsOnce) {
  const Device t4 = device("t4");
  std::vector<SampleSet> sets{products_on(t4, {})};
  sets[0].samples[0].measured = sets[0].samples[0].measured * 1.8;
  measured::Sample copy = sets[0].samples[0];
  Lines copies;
  for (int i = 0; i < 100; ++i) {
    copy.line = 100 + i;
    sets[0].samples.push_back(copy);
    copies.emplace(sets[0].name, copy.line);
  }
  const FittedHybrid fitted =
      expect_no_harm(sets, {t4}, {products_on(t4, {.count = 30, .seed = 7})}, {t4});
  EXPECT_EQ(lines_apart(fitted.apart), copies);
  EXPECT_EQ(fitted.rows, 60U);
}

TEST(Screening, EqualKernelsMeasuredFarApart) {
  const Device t4 = device("t4");
  SampleSet set = products_on(t4, {});
  for (int i = 0; i < 3; ++i) {  // two consistent repeats, one outlier
    measured::Sample again = set.samples[10];
    again.line = 100 + i;
    again.measured = again.measured * (i == 0 ? 5 : 1 + 0.01 * i);
    set.samples.push_back(again);
  }
  EXPECT_EQ(lines_apart(screened({set}, {t4}).apart), (Lines{{set.name, 100}}));
}

// Products labelled f16 that ran in f32: as slow as f32, unlike real f16 products.
TEST(Screening, AMislabelledType) {
  const Device v100 = device("v100_pcie");
  std::vector<SampleSet> sets{products_on(v100, {.dtype = "f32"}),
                              products_on(v100, {.dtype = "f16", .seed = 2})};
  const SampleSet truth = products_on(v100, {.dtype = "f32", .seed = 2});
  for (std::size_t i = 0; i < truth.samples.size(); ++i) {
    sets[1].samples[i].measured = truth.samples[i].measured;
  }
  sets[1].name += " f16";
  const FittedHybrid fitted =
      expect_no_harm(sets, {v100, v100},
                     {products_on(v100, {.dtype = "f32", .count = 30, .seed = 7}),
                      products_on(v100, {.dtype = "f16", .count = 30, .seed = 8})},
                     {v100, v100});
  const Lines apart = lines_apart(fitted.apart);
  EXPECT_EQ(apart.size(), sets[1].samples.size());
  EXPECT_EQ(apart.begin()->first, sets[1].name);
  EXPECT_EQ(apart.rbegin()->first, sets[1].name);
  EXPECT_THAT(fitted.notes.front(), HasSubstr("that is the rate of "));
}

// Times of a type that the machine multiplies faster: faster than the speed of light.
TEST(Screening, RowsFasterThanLight) {
  const Device v100 = device("v100_pcie");
  SampleSet set = products_on(v100, {.dtype = "f32"});
  const SampleSet truth = products_on(v100, {.dtype = "f16"});
  for (std::size_t i = 0; i < truth.samples.size(); ++i) {
    set.samples[i].measured = truth.samples[i].measured;
  }
  const Screened result = screened({set}, {v100});
  ASSERT_EQ(result.apart.size(), 1U);
  EXPECT_EQ(result.apart.front().rows.size(), set.samples.size());
  EXPECT_THAT(result.apart.front().reason, HasSubstr("of f32 are faster than"));
}

// A third of the rows comes from a host with 40 us more dispatch.
TEST(Screening, TwoHosts) {
  const Device t4 = device("t4");
  const Seconds dispatch = 10e-6 * Seconds{1}, more = 40e-6 * Seconds{1};
  const auto host_timed = [&](SampleSet set) {
    set.manifest.timing = measured::Timing::kHost;
    set.manifest.dispatch["matmul"] = dispatch;
    for (measured::Sample& sample : set.samples) {
      sample.holds_dispatch = true;
      sample.measured = sample.measured + dispatch;
    }
    return set;
  };
  SampleSet set = host_timed(products_on(t4, {.count = 120}));
  const SampleSet clean = host_timed(products_on(t4, {.count = 40, .seed = 7}));
  Lines second;
  for (std::size_t i = 0; i < set.samples.size(); i += 3) {
    set.samples[i].measured = set.samples[i].measured + more;
    second.emplace(set.name, set.samples[i].line);
  }
  const FittedHybrid fitted = expect_no_harm({set}, {t4}, {clean}, {t4});
  const Lines apart = lines_apart(fitted.apart);
  EXPECT_GT(apart.size(), 8U);  // the others are longer than the dispatch
  EXPECT_TRUE(std::ranges::includes(second, apart));
  EXPECT_THAT(fitted.notes.front(), HasSubstr("nothing of a kernel tells which"));
}

// Kernels that write more than they read take 3 x the analytical time, whatever their size.
TEST(Screening, KeepsRegimesThatAKernelExplains) {
  const Device t4 = device("t4");
  SampleSet set = products_on(t4, {.count = 120});
  const Lines slow =
      slow_down(set, t4, 3, [](const analytical::Estimate& e) { return e.hbm_write > e.hbm_read; });
  ASSERT_GT(slow.size(), 20U);
  ASSERT_LT(slow.size(), 100U);
  for (const SetApart& apart : screened({set}, {t4}).apart) ADD_FAILURE() << apart.text();
  // The same times assigned to other kernels of similar length: no kernel property explains them.
  SampleSet dealt = products_on(t4, {.count = 120});
  for (std::size_t i = 0; i < dealt.samples.size(); i += 4) {
    dealt.samples[i].measured = dealt.samples[i].measured * 3;
  }
  EXPECT_GT(lines_apart(screened({dealt}, {t4}).apart).size(), 20U);
}

}  // namespace
}  // namespace tilecast::hybrid
