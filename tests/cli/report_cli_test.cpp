// Tests `tilecast report` and its page in a browser: headless Chromium runs report_self_test.js in
// a copy of the page.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/command_test.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

constexpr const char* kConfigs = TILECAST_SOURCE_DIR "/configs/";

std::string program_file(const std::string& name) {
  return std::string(kConfigs) + "programs/" + name;
}

// All console output of scripts, including warnings and errors.
std::string console_lines(const std::string& log) {
  std::istringstream lines(log);
  std::string line, found;
  while (std::getline(lines, line)) {
    if (line.find("CONSOLE") != std::string::npos) found += line + "\n";
  }
  return found;
}

class ReportCommand : public CommandTest {
 protected:
  void simulate(const std::string& device, const std::string& program, const std::string& output) {
    tilecast_ok("simulate -d " + device + " -f json -o " + output + " " + program_file(program));
  }

  // Creates a page of the results; skips the test if it cannot.
  void make_page(const std::string& results, const std::string& output) {
    const Answer answer = tilecast("report " + results + " -o " + output);
    if (answer.err.find("node-d3") != std::string::npos) GTEST_SKIP() << answer.err;
    ASSERT_EQ(answer.exit_code, 0) << answer.err;
    EXPECT_FALSE(exists(output + ".tmp"));
  }

  struct Shown {
    std::string dom, log;
  };
  // The page after its scripts ran, and Chromium's messages.
  Shown show(const std::string& page, const std::string& options) {
    const std::string at = folder().string();
    const std::string command =
        "HOME='" + at +
        "' timeout 240 chromium --headless --no-sandbox --disable-gpu "
        "--disable-dev-shm-usage --enable-logging=stderr --window-size=1280,1800 --dump-dom " +
        options + " 'file://" + at + "/" + page + "' >'" + at + "/dom.html' 2>'" + at + "/log.txt'";
    const int status = std::system(command.c_str());
    EXPECT_EQ(status, 0) << read("log.txt");
    return {read("dom.html"), read("log.txt")};
  }

  static std::string source_of(const std::string& file) {
    return support::bytes_of(support::source_dir() / file);
  }

  // The data that a test's script wrote into its page.
  Json outcome_in(const std::string& html, const std::string& options) {
    write("tested.html", html);
    const Shown shown = show("tested.html", options);
    EXPECT_EQ(console_lines(shown.log), "");
    const std::string mark = "<pre id=\"outcome\">";
    const std::size_t begin = shown.dom.rfind(mark);
    if (begin == std::string::npos) {
      ADD_FAILURE() << "the self-test did not end\n" << shown.log;
      return {};
    }
    const std::size_t from = begin + mark.size();
    return Json::parse(shown.dom.substr(from, shown.dom.find("</pre>", from) - from));
  }

  // The results of the self-test in a copy of the page; null without a browser.
  Json outcome_of(const std::string& page, const std::string& options) {
    std::string html = read(page);
    html.insert(html.find("<title>"),
                "<script>window.tilecastFaults = []; addEventListener('error', (event) => "
                "window.tilecastFaults.push(event.message));</script>");
    html.insert(html.rfind("</body>"),
                "<script>" + source_of("tests/cli/report_self_test.js") + "</script>");
    return outcome_in(html, options);
  }
};

bool has_browser() {
  return std::system("command -v chromium >/dev/null 2>&1") == 0;
}

void expect_figures_work(const Json& view, std::size_t figures) {
  SCOPED_TRACE(view.dump());
  EXPECT_EQ(view["figures"].size(), figures);
  for (const Json& figure : view["figures"]) EXPECT_TRUE(figure["painted"]);
  EXPECT_TRUE(view["alone"]);
  for (const auto& [label, hover] : view["hover"].items()) {
    EXPECT_EQ(hover["rows"], 1) << label;
    EXPECT_TRUE(hover["tip"]) << label;
    EXPECT_TRUE(hover["same"]) << label;
    EXPECT_TRUE(hover["painted"]) << label;
    EXPECT_TRUE(hover["left"]) << label;
  }
}

void expect_tables_work(const Json& view) {
  SCOPED_TRACE(view.dump());
  EXPECT_FALSE(view["tables"].empty());
  for (const Json& table : view["tables"]) {
    EXPECT_EQ(table["good"], table["tried"]);
    EXPECT_GT(table["tried"], 0);
  }
  if (!view["filter"].is_null()) {
    EXPECT_GT(view["filter"]["before"], 0);
    EXPECT_EQ(view["filter"]["none"], 0);
    EXPECT_EQ(view["filter"]["after"], view["filter"]["before"]);
  }
}

TEST_F(ReportCommand, WrongUsageAndFilesThatAreNoResultsAreErrors) {
  write("dot.hlo", "HloModule m\n");
  EXPECT_EQ(tilecast("report").exit_code, 2);
  for (const char* file : {"missing.json", "dot.hlo", "."}) {
    const Answer answer = tilecast(std::string("report ") + file + " -o page.html");
    EXPECT_EQ(answer.exit_code, 1) << file;
    EXPECT_THAT(answer.err, HasSubstr(file));
    EXPECT_FALSE(exists("page.html"));
  }
  EXPECT_THAT(tilecast("report dot.hlo").err, HasSubstr("dot.hlo:1:1: error: neither a result"));
}

TEST_F(ReportCommand, EqualResultsGiveEqualBytes) {
  simulate("tpu_v3", "mlp_train.hlo", "a.json");
  make_page("a.json", "one.html");
  make_page("a.json", "two.html");
  if (IsSkipped()) return;
  EXPECT_EQ(read("one.html"), read("two.html"));
  EXPECT_THAT(read("one.html"), HasSubstr("<title>a</title>"));
}

// The page's document readers, on the data of a page and on invented documents.
TEST_F(ReportCommand, ViewsSayWhatDocumentsSayAndDifferencesAddUp) {
  if (!has_browser()) GTEST_SKIP() << "no chromium";
  const std::string set = std::string(kConfigs) + "measurements/example_matmul";
  simulate("h100_sxm", "small_transformer_train.hlo", "a.json");
  tilecast_ok("compare -d tpu_v3 " + set + " -f json -o c.json");
  make_page("a.json c.json", "page.html");
  if (IsSkipped()) return;
  const std::string page = read("page.html");
  const std::size_t data = page.find("<script type=\"application/json\" id=\"data\">");
  std::string html = "<!doctype html><meta charset=\"utf-8\"><body>" +
                     page.substr(data, page.find("</script>", data) - data) + "</script><script>";
  for (const char* part : {"data", "difference", "tables"}) {
    html += source_of(std::string("sim/report/page/") + part + ".js");
  }
  html += "const kOriginals = [" + read("a.json") + "," + read("c.json") + "];" +
          source_of("tests/cli/report_views_test.js") + "</script>";
  EXPECT_EQ(outcome_in(html, ""), Json::array());
}

TEST_F(ReportCommand, TwoRunsAndTheirDifferenceWorkInABrowser) {
  if (!has_browser()) GTEST_SKIP() << "no chromium";
  simulate("tpu_v3", "small_transformer_train.hlo", "a.json");
  simulate("h100_sxm", "small_transformer_train.hlo", "b.json");
  make_page("a.json b.json", "page.html");
  if (IsSkipped()) return;
  const Json outcome = outcome_of("page.html", "--virtual-time-budget=4000");
  EXPECT_THAT(outcome["faults"], IsEmpty());
  ASSERT_EQ(outcome["views"].size(), 3u);
  EXPECT_EQ(outcome["views"][0]["kind"], "difference");
  expect_figures_work(outcome["views"][0], 1);
  for (const std::size_t run : {1u, 2u}) {
    const Json& view = outcome["views"][run];
    EXPECT_EQ(view["kind"], "simulation");
    expect_figures_work(view, 3);  // roofline, timeline, treemap
    EXPECT_EQ(view["hover"].size(), 3u);
    EXPECT_EQ(view["back"], 3);  // selecting a table row highlights it in all of them
    EXPECT_GT(view["bars"], 2);
  }
  for (const Json& view : outcome["views"]) expect_tables_work(view);
}

TEST_F(ReportCommand, TheDifferenceThatCompareWroteIsDrawn) {
  if (!has_browser()) GTEST_SKIP() << "no chromium";
  tilecast_ok("compare -d tpu_v3 --with hbm.bandwidth=900GB/s -f json -o d.json " +
              program_file("small_transformer_train.hlo"));
  make_page("d.json", "page.html");
  if (IsSkipped()) return;
  const Json outcome = outcome_of("page.html", "--virtual-time-budget=4000");
  EXPECT_THAT(outcome["faults"], IsEmpty());
  ASSERT_EQ(outcome["views"].size(), 1u);
  const Json& view = outcome["views"][0];
  EXPECT_EQ(view["kind"], "difference");
  expect_figures_work(view, 1);
  expect_tables_work(view);
  const std::size_t resources = Json::parse(read("d.json"))["difference"]["resources"].size();
  EXPECT_EQ(view["bars"], 2 + resources);  // before, after, a step of each resource
}

TEST_F(ReportCommand, MeasuredAgainstPredictedWorksInABrowser) {
  if (!has_browser()) GTEST_SKIP() << "no chromium";
  const std::string set = std::string(kConfigs) + "measurements/example_matmul";
  tilecast_ok("evaluate -d tpu_v3 " + set + " -f json -o e.json --rows r.csv");
  tilecast_ok("compare -d tpu_v3 " + set + " -f json -o c.json");
  for (const Json& row : Json::parse(read("c.json"))["rows"]) {
    if (row["name"] != "matmul bf16 m=128 n=1024 k=1024") continue;
    EXPECT_DOUBLE_EQ(row["times"][1]["spread_s"], 115e-9);  // as measurements.csv says
  }
  write("f.json", tilecast("calibrate -d tpu_v3 " + set + " -f json").out);
  make_page("e.json r.csv c.json f.json", "page.html");
  if (IsSkipped()) return;
  const Json outcome = outcome_of("page.html", "--virtual-time-budget=4000");
  EXPECT_THAT(outcome["faults"], IsEmpty());
  ASSERT_EQ(outcome["views"].size(), 4u);
  const char* kinds[] = {"scores", "paired", "paired", "tables"};
  const std::size_t figures[] = {1, 2, 2, 1};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(outcome["views"][i]["kind"], kinds[i]);
    expect_tables_work(outcome["views"][i]);
    EXPECT_EQ(outcome["views"][i]["figures"].size(), figures[i]);
  }
}

// As written by sensitivity, tune and sweep. In every two machines of the study the second takes
// longer and more energy; the first of every ten is infeasible.
struct OtherResults {
  Json sensitivity = {{"schema", "tilecast.sensitivity/1"},
                      {"time_s", 9e-6},
                      {"numbers", Json::array()},
                      {"path", Json::array()}};
  Json tune = {{"schema", "tilecast.tune/1"}, {"best", {{"index", 3}}}, {"trials", Json::array()}};
  Json sweep = {{"schema", "tilecast.sweep/2"}, {"rows", Json::array()}};

  OtherResults() {
    for (int i = 0; i < 40; ++i) {
      const std::string name = "n" + std::to_string(i);
      sensitivity["numbers"].push_back(
          {{"key", name},
           {"value", "1 GHz"},
           {"elasticity_up", -0.01 * i},
           {"elasticity_down", i == 5 ? Json(nullptr) : Json(0.02 * i)}});
      tune["trials"].push_back({{"index", 39 - i},
                                {"tile", "t" + name},
                                {"predicted_s", 1e-6 * (i + 1)},
                                {"measured_s", i == 7 ? Json(nullptr) : Json(1e-6 * (40 - i))}});
      sweep["rows"].push_back({{"device", name},
                               {"program", "some/program.hlo"},
                               {"time_s", 1.0 + i},
                               {"energy_J", (i % 2 == 0 ? 50.0 : 60.0) - i},
                               {"feasible", i % 10 == 0 ? 0 : 1}});
    }
    for (const auto& [bound, time_s] : {std::pair{"matrix", 7e-6}, {"hbm_read", 4e-6}}) {
      sensitivity["path"].push_back(
          {{"without", bound}, {"held_share", 0.5}, {"time_s", time_s}, {"kernels_moved", 3}});
    }
  }
};

TEST_F(ReportCommand, OtherResultsWorkInABrowser) {
  if (!has_browser()) GTEST_SKIP() << "no chromium";
  const OtherResults results;
  write("s.json", results.sensitivity.dump());
  write("t.json", results.tune.dump());
  write("w.json", results.sweep.dump());
  make_page("s.json t.json w.json", "page.html");
  if (IsSkipped()) return;
  const Json outcome = outcome_of("page.html", "--virtual-time-budget=4000");
  EXPECT_THAT(outcome["faults"], IsEmpty());
  ASSERT_EQ(outcome["views"].size(), 3u);
  for (const Json& view : outcome["views"]) {
    expect_figures_work(view, 1);
    expect_tables_work(view);
  }
  // What limits next: unchanged, two steps, the rest.
  EXPECT_EQ(outcome["views"][0]["bars"], 4);
  // Minimum time and energy: the feasible machines among the first ones, and the second where
  // nothing feasible is faster. Maximum of both: all second machines.
  EXPECT_EQ(outcome["views"][2]["front"], 16 + 1);
  EXPECT_EQ(outcome["views"][2]["flipped"], 20);
}

// A whole study as written by sweep.
TEST_F(ReportCommand, AStudyShowsItsFrontInABrowser) {
  if (!has_browser()) GTEST_SKIP() << "no chromium";
  const std::string study = std::string(kConfigs) + "examples/next_tpu.yaml";
  tilecast_ok("sweep " + study + " -f json -o w.json");
  const Json front = Json::parse(tilecast("sweep " + study + " -f json --front").out)["rows"];
  make_page("w.json", "page.html");
  if (IsSkipped()) return;
  const Json outcome = outcome_of("page.html", "--virtual-time-budget=4000");
  EXPECT_THAT(outcome["faults"], IsEmpty());
  ASSERT_EQ(outcome["views"].size(), 1u);
  expect_figures_work(outcome["views"][0], 2);  // the front, what each axis changes
  expect_tables_work(outcome["views"][0]);
  EXPECT_EQ(outcome["views"][0]["front"], front.size());  // by time and area, as in the study
}

// A program's kernels, repeated with distinct names.
std::string repeated(const std::string& text, std::size_t count) {
  Json document = Json::parse(text);
  Json& run = document["programs"][0];
  const Json kernels = run["kernels"];
  const double length = run["timeline_s"];
  run["kernels"] = Json::array();
  double total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Json kernel = kernels[i % kernels.size()];
    const double shift = static_cast<double>(i / kernels.size()) * length;
    kernel["name"] = kernel["name"].get<std::string>() + "." + std::to_string(i);
    kernel["start_s"] = kernel["start_s"].get<double>() + shift;
    kernel["end_s"] = kernel["end_s"].get<double>() + shift;
    total += kernel["total_s"].get<double>();
    run["kernels"].push_back(std::move(kernel));
  }
  run["time_s"] = total;
  run["timeline_s"] = run["kernels"].back()["end_s"];
  return document.dump(1);
}

// The bar is 2 s on an idle machine; the test allows for a busy one.
TEST_F(ReportCommand, FiveThousandKernelsAreASmallPageThatOpensSoon) {
  if (!has_browser()) GTEST_SKIP() << "no chromium";
  constexpr std::size_t kKernels = 5000, kMostBytes = 5'000'000;
  constexpr double kMostMs = 8000;
  simulate("tpu_v3", "transformer_block_train.hlo", "block.json");
  write("large.json", repeated(read("block.json"), kKernels));
  make_page("large.json", "page.html");
  if (IsSkipped()) return;
  const std::size_t bytes = read("page.html").size();
  EXPECT_LE(bytes, kMostBytes);
  const Json outcome = outcome_of("page.html", "");
  EXPECT_THAT(outcome["faults"], IsEmpty());
  EXPECT_LE(outcome["loaded_ms"], kMostMs);
  expect_tables_work(outcome["views"][0]);
  EXPECT_EQ(outcome["views"][0]["figures"].size(), 3u);
  std::cout << kKernels << " kernels: " << bytes << " bytes, shown after "
            << outcome["loaded_ms"].get<double>() << " ms\n";
}

}  // namespace
}  // namespace tilecast::sim
