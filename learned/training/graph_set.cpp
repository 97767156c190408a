#include "learned/training/graph_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <random>

#include "base/archive.h"
#include "base/error.h"
#include "learned/node_columns.h"
#include "measured/csv.h"
#include "measured/measurement_set.h"

namespace tilecast::learned {
namespace {

namespace fs = std::filesystem;
using measured::CsvRow;
using measured::CsvTable;

CsvTable read_table(const std::string& file, std::string& hashed) {
  const auto text = base::SourceText::read_file(file);
  hashed += measured::content_hash(text.text());
  return measured::read_csv(text);
}

// Appends blank-separated numbers to `to`.
void append_numbers(const CsvTable& table, const CsvRow& row, std::string_view column,
                    std::vector<float>& to) {
  const std::string_view text = table.cell(row, column);
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    if (*at == ' ') {
      ++at;
      continue;
    }
    float value = 0;
    const auto [next, failure] = std::from_chars(at, end, value);
    if (failure != std::errc() || !std::isfinite(value) || (next != end && *next != ' ')) {
      throw Error(fmt::format("{}: got '{}', expected finite numbers", table.where(row, column),
                              std::string_view(at, std::min<std::size_t>(end - at, 20))));
    }
    to.push_back(value);
    at = next;
  }
}

double positive_cell(const CsvTable& table, const CsvRow& row, std::string_view column) {
  std::vector<float> value;
  append_numbers(table, row, column, value);
  if (value.size() == 1 && value.front() > 0) return value.front();
  throw Error(fmt::format("{}: got '{}', expected a time above zero", table.where(row, column),
                          table.cell(row, column)));
}

void read_nodes(const CsvTable& table, GraphRuns& runs) {
  const auto opcodes = opcode_count(GraphEncoding::kTpuGraphs);
  std::map<std::int64_t, std::int32_t> configured;  // position -> node
  for (const CsvRow& row : table.rows) {
    const auto node = static_cast<std::int32_t>(runs.graph.opcodes.size());
    const std::int64_t opcode = measured::integer_cell(table, row, "opcode", 0);
    if (opcode >= opcodes) {
      throw Error(fmt::format("{}: got {}, expected less than {}", table.where(row, "opcode"),
                              opcode, opcodes));
    }
    runs.graph.opcodes.push_back(static_cast<std::int32_t>(opcode));
    if (const std::int64_t place = measured::integer_cell(table, row, "config_node", 0, -1);
        place >= 0) {
      configured.emplace(place, node);
    }
    for (std::size_t i = *table.find("config_node") + 1; i < table.columns.size(); ++i) {
      append_numbers(table, row, table.columns[i], runs.graph.features);
    }
  }
  for (const auto& [place, node] : configured) runs.configured_nodes.push_back(node);
}

// Operands are numbered before their users: node edge_index_0 reads node edge_index_1.
void read_edges(const CsvTable& table, KernelGraph& graph) {
  std::vector<bool> is_read(graph.nodes());
  for (const CsvRow& row : table.rows) {
    const std::int64_t consumer = measured::integer_cell(table, row, "edge_index_0", 0);
    const std::int64_t producer = measured::integer_cell(table, row, "edge_index_1", 0);
    if (consumer >= static_cast<std::int64_t>(graph.nodes()) || producer >= consumer) {
      throw Error(fmt::format("{}: got {} and {}, expected a node and an operand before it",
                              table.where(row, "edge_index_0"), consumer, producer));
    }
    graph.edges.push_back(
        {static_cast<std::int32_t>(producer), static_cast<std::int32_t>(consumer)});
    is_read[static_cast<std::size_t>(producer)] = true;
  }
  std::ranges::stable_sort(graph.edges, {}, &GraphEdge::consumer);
  const auto [first, last] = std::ranges::unique(graph.edges);
  graph.edges.erase(first, last);
  std::vector<std::int32_t> roots;
  for (std::size_t node = 0; node < graph.nodes(); ++node) {
    if (!is_read[node]) roots.push_back(static_cast<std::int32_t>(node));
  }
  order_nodes(roots, graph);
}

// A random sample of up to `count` rows, in their order.
std::vector<const CsvRow*> drawn(std::vector<const CsvRow*> rows, std::size_t count,
                                 std::mt19937_64& random) {
  if (count == 0 || rows.size() <= count) return rows;
  for (std::size_t i = 0; i < count; ++i)
    std::swap(rows[i], rows[i + random() % (rows.size() - i)]);
  rows.resize(count);
  std::ranges::sort(rows);
  return rows;
}

void read_runs(const CsvTable& table, const std::vector<const CsvRow*>& rows, GraphRuns& runs) {
  for (const CsvRow* row : rows) {
    const std::size_t before = runs.configs.size();
    const std::size_t expected = runs.times.empty() ? 0 : runs.config_size();
    append_numbers(table, *row, "x_config", runs.configs);
    const std::size_t got = runs.configs.size() - before;
    if (got == 0 || (expected > 0 && got != expected)) {
      throw Error(fmt::format("{}: got {} numbers, expected {}", table.where(*row, "x_config"), got,
                              expected == 0 ? "some" : fmt::format("{}", expected)));
    }
    constexpr double kNanoseconds = 1e-9;
    const bool relative = !table.cell(*row, "x_normalizer_ns").empty();
    runs.times.push_back(
        positive_cell(table, *row, "runtime_ns") /
        (relative ? positive_cell(table, *row, "x_normalizer_ns") : 1 / kNanoseconds));
  }
}

// Sets the widths of the set, or checks that this graph has the same ones.
void take_widths(const std::string& directory, const GraphRuns& runs, GraphSet& set) {
  const std::size_t nodes = runs.configured_nodes.size();
  const std::size_t node_width =
      runs.graph.features.size() / std::max<std::size_t>(runs.graph.nodes(), 1);
  const std::size_t config_width = runs.config_size() / std::max<std::size_t>(nodes, 1);
  if (set.graphs.empty()) {
    set.node_width = node_width;
    set.config_width = config_width;
    set.configures_nodes = nodes > 0;
  }
  const bool divides = config_width * std::max<std::size_t>(nodes, 1) == runs.config_size();
  if (set.node_width == node_width && set.config_width == config_width && divides &&
      set.configures_nodes == (nodes > 0)) {
    return;
  }
  throw Error(fmt::format(
      "{}: graph {}: got {} features of a node and {} of a configuration, expected {} and {} as "
      "those before it have",
      directory, runs.name, node_width, config_width, set.node_width, set.config_width));
}

measured::Manifest manifest_of(const std::string& directory) {
  const std::string file = (fs::path(directory) / "manifest.yaml").string();
  const auto text = base::SourceText::read_file(file, std::size_t{1} << 20);
  return measured::read_manifest(std::string(text.text()), file);
}

}  // namespace

bool is_graph_set(const std::string& directory) {
  return base::is_file((fs::path(directory) / "manifest.yaml").string()) &&
         manifest_of(directory).subject == measured::Subject::kGraph;
}

GraphSet read_graph_set(const std::string& directory, const GraphSetOptions& options) {
  if (!is_graph_set(directory)) {
    throw Error(directory +
                ": expected the folder of a set of graphs; validation/sets/tpugraphs makes one");
  }
  const measured::Manifest manifest = manifest_of(directory);
  GraphSet set{.name = manifest.name, .device = manifest.device, .licence = manifest.licence};
  std::string hashed;
  const auto file = [&](const std::string& name) { return (fs::path(directory) / name).string(); };
  const CsvTable table = read_table(file("measurements.csv"), hashed);
  std::map<std::string, std::vector<const CsvRow*>, std::less<>> graphs;
  for (const CsvRow& row : table.rows) {
    graphs[std::string(table.cell(row, "graph"))].push_back(&row);
  }
  std::mt19937_64 random(options.seed);
  for (const auto& [name, rows] : graphs) {
    GraphRuns runs{.name = name};
    read_nodes(read_table(file("graphs/" + name + ".nodes.csv"), hashed), runs);
    read_edges(read_table(file("graphs/" + name + ".edges.csv"), hashed), runs.graph);
    read_runs(table, drawn(rows, options.runs, random), runs);
    take_widths(directory, runs, set);
    set.graphs.push_back(std::move(runs));
  }
  if (set.graphs.empty()) throw Error(directory + ": no run of any graph");
  set.hash = measured::content_hash(hashed);
  return set;
}

}  // namespace tilecast::learned
