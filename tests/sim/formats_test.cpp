// This version reads files of earlier releases: tests/fixtures/formats/<version>/ contains files
// written by that release. A release that cannot read an older format must throw an Error that
// names the format, and this file expects it.
#include <gtest/gtest.h>

#include <filesystem>

#include "hwdesc/device_yaml.h"
#include "learned/model_dir.h"
#include "measured/measurement_set.h"
#include "sim/report/page.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

std::string fixture(const std::string& file) {
  return (support::source_dir() / "tests/fixtures/formats" / file).string();
}

TEST(FormatsOfReleases, SetsOf01) {
  const auto grown = measured::read_measurement_set(fixture("0.1/set"));  // by `measure host`
  EXPECT_EQ(grown.rows.size() + grown.faults.size(), 3U);
  EXPECT_EQ(grown.manifest.device, "cpu_generic");
  const auto table = measured::read_measurement_set(fixture("0.1/table"));  // by hand
  EXPECT_EQ(table.rows.size() + table.faults.size(), 24U);
}

TEST(FormatsOfReleases, DescriptionsOf01) {
  const hwdesc::Device device = hwdesc::load_device(fixture("0.1/device.yaml"));
  EXPECT_EQ(device.name, "tpu_v3");
  EXPECT_EQ(hwdesc::parse_device(hwdesc::print_device(device), "printed.yaml").name, "tpu_v3");
}

TEST(FormatsOfReleases, ModelsOf01) {
  const learned::LoadedModel model = learned::load_model(fixture("0.1/model"));
  EXPECT_EQ(model.card.kind, "xgboost");
  EXPECT_EQ(model.card.data.front().name, "made up");
  ASSERT_NE(model.predictor, nullptr);
}

TEST(FormatsOfReleases, ResultsOf01) {
  const auto result =
      report::read_result(base::SourceText::read_file(fixture("0.1/simulate.json")));
  EXPECT_EQ(result.document["schema"], "tilecast.simulate/1");
}

}  // namespace
}  // namespace tilecast::sim
