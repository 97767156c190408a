// XLA's own cost analysis expectations, if the case files are beside the checkout.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

#include "ir/counts/op_counts.h"
#include "ir/schedule_order.h"
#include "ir/text/hlo_parser.h"
#include "tests/support/csv_rows.h"
#include "tests/support/folders.h"

namespace tilecast::ir {
namespace {

// Sum over everything reachable from the root, as in XLA's tests.
WorkCounts total_from_root(const Module& module, WorkCounter& counter) {
  const Computation& entry = module.entry_computation();
  std::vector<GraphEdge> edges;
  for (const auto& [from, to] : dependence_edges(entry)) edges.emplace_back(to, from);
  const std::vector<std::uint32_t> root = {entry.root.value};
  std::vector<std::uint32_t> reached =
      depth_first(entry.instructions.size(), edges, root).post_order;
  std::sort(reached.begin(), reached.end());
  WorkCounts sum;
  for (const std::uint32_t id : reached) add_counts(sum, counter.of(module.entry, InstrId(id)));
  return sum;
}

float option(const std::string& options, const std::string& key) {
  const std::size_t at = options.find('"' + key + '"');
  return at == std::string::npos ? 0 : std::stof(options.substr(options.find(':', at) + 1));
}

WorkCountOptions options_of(const std::string& text) {
  WorkCountOptions o;
  o.count_multiple_input_accesses =
      text.find("\"count_multiple_input_accesses\": true") != std::string::npos;
  o.flops_per_s = option(text, "flops_per_second");
  o.bytes_per_s = option(text, "bytes_per_second");
  o.transcendentals_per_s = option(text, "transcendentals_per_second");
  o.flops_min_latency_s = option(text, "flops_min_latency_second");
  o.bytes_min_latency_s = option(text, "bytes_min_latency_second");
  o.transcendentals_min_latency_s = option(text, "transcendentals_min_latency_second");
  return o;
}

void expect_value(const support::CsvRow& row, const std::string& key, float got) {
  const auto it = row.find(key);
  if (it == row.end() || it->second.empty()) return;
  EXPECT_FLOAT_EQ(got, std::stof(it->second)) << row.at("test") << ": " << key;
}

void expect_operands(const support::CsvRow& row, std::span<const float> got) {
  std::string list = row.at("root_operand_bytes");
  if (list.empty()) return;
  std::vector<float> expected;
  for (std::size_t at = 1; at < list.size(); at = list.find_first_of(",]", at) + 1) {
    if (list[at] == ']') break;
    expected.push_back(std::stof(list.substr(at)));
  }
  ASSERT_LE(expected.size(), got.size()) << row.at("test");
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_FLOAT_EQ(got[i], expected[i]) << row.at("test") << ": operand " << i;
  }
}

TEST(XlaCostCases, AllComeOutAsXlaCountsThem) {
  const std::filesystem::path folder = support::shared_dir() / "hlo/xla_cases/cost_analysis";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const std::vector<support::CsvRow> rows = support::csv_rows(std::ifstream(folder / "index.csv"));
  EXPECT_FALSE(rows.empty());
  for (const support::CsvRow& row : rows) {
    const Module module = read_hlo_file((folder / row.at("file")).string());
    WorkCounter counter(module, options_of(row.at("options")));
    const WorkCounts total = total_from_root(module, counter);
    const WorkCounts& at_root = counter.of(module.entry, module.entry_computation().root);
    expect_value(row, "flops", total.flops);
    expect_value(row, "transcendentals", total.transcendentals);
    expect_value(row, "bytes_accessed", total.bytes_accessed);
    expect_value(row, "optimal_seconds", total.optimal_s);
    expect_value(row, "root_flops", at_root.flops);
    expect_value(row, "root_transcendentals", at_root.transcendentals);
    expect_value(row, "root_bytes_accessed", at_root.bytes_accessed);
    expect_value(row, "root_output_bytes", at_root.output_bytes);
    expect_operands(row, {at_root.operand_bytes.data(), at_root.operand_bytes.size()});
  }
}

TEST(PublishedDumps, HaveFiniteCountsThatHoldTheirOperands) {
  const std::filesystem::path folder = support::shared_dir() / "hlo" / "public";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const Module module = read_hlo_file(file.path().string());
    WorkCounter counter(module);
    const WorkCounts total = counter.total(module.entry);
    EXPECT_TRUE(std::isfinite(total.flops)) << file.path();
    EXPECT_TRUE(std::isfinite(total.bytes_accessed)) << file.path();
    EXPECT_GE(total.transcendentals, 0) << file.path();
  }
}

}  // namespace
}  // namespace tilecast::ir
