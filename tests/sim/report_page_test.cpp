// Results are read strictly, and the page contains them.
#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/report/json_reader.h"
#include "sim/report/page.h"
#include "sim/version.h"
#include "sim/views/simulation.h"
#include "tests/support/damage.h"
#include "tests/support/errors.h"
#include "tests/support/small_run.h"
#include "tests/support/texts.h"

namespace tilecast::sim::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Simulation page_run() {
  Simulation run = support::small_run();
  for (SimulatedKernel& kernel : run.kernels) {
    kernel.content = "c" + kernel.name;
    kernel.estimate.edit().bounds[static_cast<std::size_t>(kernel.estimate->bound)] =
        kernel.estimate->time;
  }
  run.kernels[1].estimate.edit().correction = analytical::Correction{.analytical = Seconds{1e-6},
                                                                     .factor = 2,
                                                                     .weight = 0.75,
                                                                     .low = Seconds{1e-6},
                                                                     .high = Seconds{3e-6}};
  run.roofs.peaks = {{"matrix", "bf16", FlopsPerSecond{1e14}}};
  run.roofs.memory = {{"hbm", BytesPerSecond{1e12}, BytesPerSecond{1e12}, Bytes{1e10}}};
  return run;
}

std::string page_json() {
  const Simulation run = page_run();
  return views::json({&run, 1});
}

Result read_text(std::string text) {
  return read_result(base::SourceText("run.json", std::move(text)));
}

std::string fault_of(const std::string& text) {
  return support::error_of([&] { return read_text(text); }, "read without an error");
}

TEST(ReportResult, AFileSaysWhenItWasWritten) {
  const std::string path = ::testing::TempDir() + "report_written.json";
  std::ofstream(path) << page_json();
  const std::chrono::system_clock::time_point when =
      std::chrono::sys_days(std::chrono::year(2026) / 3 / 9) + std::chrono::minutes(7 * 60 + 5);
  std::filesystem::last_write_time(path, std::chrono::file_clock::from_sys(when));
  EXPECT_EQ(read_result_file(path).written, "2026-03-09 07:05 UTC");
  EXPECT_EQ(read_text(page_json()).written, "");
}

TEST(ReportResult, IsTheDocumentThatWasWritten) {
  EXPECT_EQ(read_text(page_json()).document, Json::parse(page_json()));
  EXPECT_EQ(read_text(page_json()).document["version"], version());
}

TEST(ReportResult, FaultsNameTheirPlaceAndWhatWasExpected) {
  const std::string good = page_json();
  const auto fault = [&](const std::string& from, const std::string& to) {
    return fault_of(support::replaced(good, from, to));
  };
  EXPECT_THAT(fault("\"multiplicity\": 2.0", "\"multiplicity\": \"2\""),
              HasSubstr("programs[0].kernels[1].multiplicity: got text, expected a number"));
  EXPECT_THAT(fault("\"total_s\"", "\"total_z\""), HasSubstr("key 'total_s' is missing; there is"));
  EXPECT_THAT(fault("\"kernels\": [", "\"kernels\": 3, \"others\": ["),
              HasSubstr("programs[0].kernels: got a number, expected a list"));
  EXPECT_THAT(fault("tilecast.simulate/2", "tilecast.simulate/3"), HasSubstr("schema"));
  EXPECT_THAT(fault("\"skipped\": false", "\"skipped\": 0"), HasSubstr("true or false"));
  EXPECT_THAT(fault("\"multiplicity\": 2.0", "\"multiplicity\": -2.0"), HasSubstr("0 or more"));
  EXPECT_THAT(fault("\"total_s\": 4e-06", "\"total_s\": 5e-06"), HasSubstr("add up to"));
  EXPECT_EQ(fault("tilecast.simulate/2", "tilecast.simulate/1"), "read without an error");
  EXPECT_THAT(fault_of(""), HasSubstr("run.json:1:1"));
  EXPECT_THAT(fault_of("{\n  \"schema\": \"tilecast.simulate/1\",\n}"), HasSubstr("run.json:3:1"));
  EXPECT_THAT(fault_of("name,time\nx,1\n"), HasSubstr("neither a result in JSON"));
  EXPECT_THAT(fault_of("{\"schema\": \"other/1\"}"), HasSubstr("got 'other/1'"));
  EXPECT_THAT(fault_of("{\"schema\": \"tilecast.x/1\",\n \"a\": 5e707}"),
              HasSubstr("run.json:2:7: error: got a number beyond double precision"));
}

TEST(ReportResult, DamagedResultsAreReadOrRefusedAndWhatIsReadMakesAPage) {
  const std::string rows =
      "set,line,work,class,split,tile,measured_ns,a ns,a low ns,a high ns\ns,2,w,m,t,,9,8,7,9\n";
  const std::string comparison =
      R"({"schema": "tilecast.compare/1", "sides": [{"name": "a", "kind": "model", "device": "d",
      "against": "a"}], "rows": [{"group": "g", "name": "n", "class": "c", "tile": "", "launches": 1,
      "times": [{"side": "a", "time_s": 1e-6, "bound": "matrix"}]}], "notes": []})";
  support::expect_answer_or_error({page_json(), rows, comparison}, 3000, 18,
                                  [](const std::string& text) {
                                    const std::vector<Result> results{read_text(text)};
                                    (void)page_data(results, {});
                                  });
}

TEST(ReportResult, DeepNestingIsAnErrorAndStringsDoNotNest) {
  const std::string deep = "{\"schema\": \"tilecast.x/1\", \"a\": " + std::string(100000, '[');
  EXPECT_THAT(fault_of(deep), HasSubstr("nested deeper than 64"));
  const std::string text = "\\\"" + std::string(1000, '[');
  EXPECT_EQ(fault_of("{\"schema\": \"tilecast.x/1\", \"a\": \"" + text + "\"}"),
            "read without an error");
}

TEST(ReportResult, ATextThatIsCutAnywhereIsAnError) {
  const std::string good = page_json();
  const std::size_t end = good.find_last_of('}');
  for (std::size_t length = 0; length < end; ++length) {
    EXPECT_NE(fault_of(good.substr(0, length)), "read without an error") << length;
  }
}

void expect_places(const std::string& text, const Json& json, std::vector<JsonStep>& path) {
  const std::string_view at = std::string_view(text).substr(offset_of(text, path));
  if (json.is_structured()) {
    EXPECT_EQ(at.front(), json.is_array() ? '[' : '{');
  } else {
    EXPECT_TRUE(at.starts_with(json.dump())) << at.substr(0, 40) << " " << json.dump();
    return;
  }
  std::size_t index = 0;
  for (const auto& item : json.items()) {
    path.push_back(json.is_array() ? JsonStep(index++) : JsonStep(item.key()));
    expect_places(text, item.value(), path);
    path.pop_back();
  }
}

TEST(ReportResult, TheOffsetOfEveryValueIsWhereItBegins) {
  Json json = Json::parse(page_json());
  json["odd \"key\" [{,"] = {{"a,b", {1, "x]},\\\"", nullptr}}, {"", Json::array()}};
  for (const int indent : {-1, 1, 7}) {
    std::vector<JsonStep> path;
    expect_places(json.dump(indent), json, path);
  }
}

TEST(ReportResult, RowsOfEvaluateAreADocument) {
  const Json rows =
      read_text(
          "set,line,work,class,split,tile,measured_ns,hybrid ns,roofline ns,hybrid low ns,hybrid "
          "high ns\ns,2,w,matmul,test,,1000,900,,800,1100\n")
          .document["rows"];
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["hybrid ns"], 900);
  EXPECT_EQ(rows[0]["roofline ns"], nullptr);
  EXPECT_THAT(fault_of("set,line,work,class,split,tile,measured_ns,a ns\ns,2,w,m,t,,soon,1\n"),
              HasSubstr("run.json:2: column 'measured_ns': got 'soon'"));
  EXPECT_THAT(fault_of("set,line,work,class,split,tile,measured_ns,a\ns,2,w,m,t,,1,1\n"),
              HasSubstr("run.json:1: column 'a': expected times of a model"));
}

// tests/cli/report_views_test.js tests the other half: the page reverses this.
TEST(ReportPage, HoldsEveryDocumentWithItsRecordsAsColumns) {
  Json rows = Json::array();
  for (int i = 0; i < 9; ++i) {
    rows.push_back(
        {{"number", i + 0.123456789}, {"word", i % 2 == 0 ? "a" : "b"}, {"in", {{"x", i}}}});
  }
  rows[3]["late"] = "c";
  const Json document = {{"schema", "tilecast.x/1"}, {"rows", rows}};
  const std::vector<Result> two{read_text(document.dump()), read_text(page_json())};
  const Json results = Json::parse(page_data(two, {.title = "t"}))["results"];
  ASSERT_EQ(results.size(), 2u);
  const Json& columns = results[0]["document"]["rows"]["#columns"];
  EXPECT_EQ(columns["number"][3], 3.123457);
  EXPECT_EQ(columns["word"]["#words"], (Json{"a", "b"}));
  EXPECT_EQ(columns["in"]["#columns"]["x"][8], 8);
  EXPECT_EQ(columns["late"]["#words"], (Json{nullptr, "c"}));
  EXPECT_EQ(results[1]["document"]["programs"][0]["kernels"][1]["total_s"], 2 * 2e-6);
  EXPECT_EQ(page_data(two, {}), page_data(two, {}));
}

TEST(ReportPage, NothingInAResultCanLeaveItsPlace) {
  if (page_parts().d3.empty()) GTEST_SKIP() << "built without node-d3";
  Simulation run = page_run();
  run.kernels[0].name = "</script><script>alert(1)</script><!--";
  run.notes.push_back({"</ScRiPt> \xff & \"", 1});
  const std::vector<Result> results{read_text(views::json({&run, 1}))};
  const std::string html = page(results, {.title = "<b>&'\"</title>"});
  std::size_t closers = 0;
  for (std::size_t at = 0; (at = html.find("</script", at)) != std::string::npos; ++at) ++closers;
  EXPECT_EQ(closers, 3u);  // data, D3, ours
  EXPECT_THAT(html, Not(HasSubstr("<!--")));
  EXPECT_THAT(html, HasSubstr("<title>&lt;b&gt;&amp;&#39;&quot;&lt;/title&gt;</title>"));
  for (const char* fetched : {" src=", "<link", "@import", "url("}) {
    EXPECT_THAT(html, Not(HasSubstr(fetched)));
  }
}

}  // namespace
}  // namespace tilecast::sim::report
