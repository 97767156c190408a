#include "learned/training/graph_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <random>

#include "base/archive.h"
#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/config_values.h"
#include "hwdesc/yaml_text.h"
#include "learned/node_columns.h"
#include "measured/csv.h"
#include "measured/measurement_set.h"

namespace tilecast::learned {
namespace {

namespace fs = std::filesystem;
using hwdesc::ConfigNode;

constexpr std::string_view kGraphModelFormat = "tilecast.graph_model/1";
constexpr const char* kGraphModelCard = "model.yaml";
constexpr const char *kWeightsFile = "weights.bin", *kNodeScaler = "scaler_node.csv",
                     *kConfigScaler = "scaler_config.csv";
constexpr std::uint64_t kMostWidth = 100'000;
constexpr std::string_view kAnswers[] = {"no", "yes"};

FeatureSchema numbered_columns(const std::string& name, std::size_t count) {
  FeatureSchema schema{.name = name};
  for (std::size_t i = 0; i < count; ++i) {
    schema.columns.push_back({.name = fmt::format("{}.{}", name, i), .unit = "1", .doc = ""});
  }
  return schema;
}

std::string read_part(const fs::path& path) {
  return base::SourceText::read_bytes(path.string());
}

std::string card_text(const GraphModel& model) {
  const auto quoted = [](const std::string& text) { return hwdesc::yaml_text(text, "model.yaml"); };
  std::string text = fmt::format("format: {}\nname: {}\n", kGraphModelFormat, quoted(model.name));
  text += "trained_on:\n";
  for (const auto& [name, hash] : model.trained_on) {
    text += fmt::format("  - {{name: {}, hash: {}}}\n", quoted(name), quoted(hash));
  }
  text += fmt::format(
      "node_width: {}\nconfig_width: {}\nconfigures_nodes: {}\nconfig: {}\nranks_only: {}\n"
      "target: {{mean: {}, deviation: {}}}\nnetwork:\n",
      model.node_width, model.config_width, kAnswers[model.configures_nodes ? 1 : 0],
      kConfigPlaces[static_cast<std::size_t>(model.place)], kAnswers[model.ranks_only ? 1 : 0],
      parameter_text(model.target.mean), parameter_text(model.target.deviation));
  for (const auto& parameter : network_parameters().parameters()) {
    text += fmt::format("  {}: {}\n", parameter.name, parameter.get(model.spec));
  }
  return text;
}

double number_at(const ConfigNode& node, std::string_view key) {
  constexpr ParameterRange kAny{.low = -1e300, .high = 1e300};
  const ConfigNode& value = hwdesc::required(node, key);
  try {
    return parse_parameter(hwdesc::text_of(value), kAny);
  } catch (const Error& error) {
    hwdesc::fail_at(value, error.what());
  }
}

GraphModel read_card(const ConfigNode& root) {
  hwdesc::allow_only(root, {"format", "name", "trained_on", "node_width", "config_width",
                            "configures_nodes", "config", "ranks_only", "target", "network"});
  constexpr std::string_view kFormats[] = {kGraphModelFormat};
  static_cast<void>(hwdesc::choice(hwdesc::required(root, "format"), kFormats));
  GraphModel model{.name = hwdesc::text(root, "name")};
  for (const ConfigNode& entry : hwdesc::list(hwdesc::required(root, "trained_on"))) {
    hwdesc::allow_only(entry, {"name", "hash"});
    model.trained_on.emplace_back(hwdesc::text(entry, "name"), hwdesc::text(entry, "hash"));
  }
  model.node_width = hwdesc::whole_number(hwdesc::required(root, "node_width"), 1, kMostWidth);
  model.config_width = hwdesc::whole_number(hwdesc::required(root, "config_width"), 1, kMostWidth);
  model.configures_nodes =
      hwdesc::choice(hwdesc::required(root, "configures_nodes"), kAnswers) == 1;
  model.place =
      static_cast<ConfigPlace>(hwdesc::choice(hwdesc::required(root, "config"), kConfigPlaces));
  model.ranks_only = hwdesc::choice(hwdesc::required(root, "ranks_only"), kAnswers) == 1;
  const ConfigNode& target = hwdesc::required(root, "target");
  model.target = {.mean = number_at(target, "mean"), .deviation = number_at(target, "deviation")};
  for (const ConfigNode& entry : hwdesc::required(root, "network").children) {
    try {
      network_parameters().set(model.spec, entry.key, hwdesc::text_of(entry));
    } catch (const Error& error) {
      hwdesc::fail_at(entry, error.what());
    }
  }
  return model;
}

}  // namespace

NetworkWidths GraphModel::widths() const {
  const bool at_nodes = place == ConfigPlace::kAtNodes;
  return {.opcodes = kGraphOpcodes,
          .node = node_width,
          .at_nodes = !configures_nodes && at_nodes ? config_width : 0,
          .at_kernel = !configures_nodes && !at_nodes ? config_width : 0,
          .configured = configures_nodes ? config_width + 1 : 0};
}

ScaledRuns::ScaledRuns(const GraphModel& model, const GraphRuns& runs)
    : model_(model), runs_(runs), graph_(runs.graph) {
  const std::size_t nodes = runs.configured_nodes.size();
  if (graph_.features.size() != graph_.nodes() * model.node_width ||
      (nodes > 0) != model.configures_nodes ||
      runs.config_size() != model.config_width * std::max<std::size_t>(nodes, 1)) {
    throw Error(
        fmt::format("model {}: graph {} is of another collection: its nodes or its "
                    "configurations have other features",
                    model.name, runs.name));
  }
  model.node_scaler.apply(graph_.features);
  configs_ = runs.configs;
  model.config_scaler.apply(configs_);
  if (nodes == 0) return;
  std::vector<float> marked;  // distinguishes a configured node from one with zeros
  for (std::size_t i = 0; i < configs_.size(); i += model.config_width) {
    marked.insert(marked.end(), configs_.begin() + static_cast<std::ptrdiff_t>(i),
                  configs_.begin() + static_cast<std::ptrdiff_t>(i + model.config_width));
    marked.push_back(1);
  }
  configs_ = std::move(marked);
}

GraphInput ScaledRuns::input(std::size_t run) const {
  const std::size_t size = configs_.size() / runs_.times.size();
  const auto config = std::span(configs_).subspan(run * size, size);
  GraphInput input{.graph = &graph_, .at_nodes = {}, .at_kernel = {}};
  if (model_.configures_nodes) {
    input.configured_nodes = runs_.configured_nodes;
    input.configured = config;
  } else {
    (model_.place == ConfigPlace::kAtNodes ? input.at_nodes : input.at_kernel) = config;
  }
  return input;
}

std::vector<double> GraphModel::predict(const GraphRuns& runs) const {
  const ScaledRuns scaled(*this, runs);
  std::vector<GraphInput> inputs;
  for (std::size_t run = 0; run < runs.times.size(); ++run) inputs.push_back(scaled.input(run));
  std::vector<float> out(inputs.size());
  network->predict(inputs, out);
  std::vector<double> numbers;
  for (const float value : out) numbers.push_back(value * target.deviation + target.mean);
  return numbers;
}

measured::ScoreSheet score_sheet(
    const GraphSet& set, std::span<const std::pair<std::string, const GraphModel*>> columns) {
  constexpr double kMost = 300;  // maximum logarithm, so that the exponential is finite
  measured::ScoreSheet sheet;
  sheet.sets.push_back({.name = set.name, .hash = set.hash, .device = set.device});
  for (const auto& [name, model] : columns) {
    sheet.columns.push_back(name);
    sheet.ranks_only.push_back(model->ranks_only);
  }
  for (const GraphRuns& runs : set.graphs) {
    std::vector<std::vector<double>> answers;
    for (const auto& [name, model] : columns) answers.push_back(model->predict(runs));
    for (std::size_t run = 0; run < runs.times.size(); ++run) {
      measured::ScoredRow row{.work = sheet.works.size(),
                              .tile = fmt::format("run {}", run),
                              .measured_s = runs.times[run]};
      for (const std::vector<double>& answer : answers) {
        row.predicted_s.emplace_back(std::exp(std::clamp(answer[run], -kMost, kMost)));
      }
      sheet.rows.push_back(std::move(row));
    }
    sheet.works.push_back({.name = runs.name, .op_class = "graph", .family = runs.name});
  }
  sheet.sets.front().rows = sheet.rows.size();
  return sheet;
}

void save_graph_model(const GraphModel& model, const std::string& directory, bool force) {
  const fs::path folder(directory);
  if (fs::exists(folder) && !(force && is_graph_model(directory))) {
    throw Error(directory + (is_graph_model(directory)
                                 ? ": a model is there already; force replaces it"
                                 : ": exists and is not a model of graphs"));
  }
  fs::create_directories(folder);
  const std::pair<const char*, std::string> files[] = {
      {kGraphModelCard, card_text(model)},
      {kWeightsFile, model.network->save()},
      {kNodeScaler, model.node_scaler.to_csv(numbered_columns("node", model.node_width))},
      {kConfigScaler, model.config_scaler.to_csv(numbered_columns("config", model.config_width))}};
  for (const auto& [name, bytes] : files) {
    std::ofstream out(folder / name, std::ios::binary);
    out << bytes;
    out.close();
    if (!out) throw Error((folder / name).string() + ": cannot be written");
  }
}

bool is_graph_model(const std::string& directory) {
  std::error_code failed;
  const fs::path card = fs::path(directory) / kGraphModelCard;
  return fs::is_regular_file(card, failed) &&
         read_part(card).starts_with(fmt::format("format: {}\n", kGraphModelFormat));
}

GraphModel load_graph_model(const std::string& directory) {
  const fs::path folder(directory), card = folder / kGraphModelCard;
  const ConfigNode root = hwdesc::read_config(read_part(card), card.string());
  GraphModel model = read_card(root);
  const auto scaler = [&](const char* name, const std::string& columns, std::size_t count) {
    return FeatureScaler::from_csv(read_part(folder / name), (folder / name).string(),
                                   numbered_columns(columns, count));
  };
  model.node_scaler = scaler(kNodeScaler, "node", model.node_width);
  model.config_scaler = scaler(kConfigScaler, "config", model.config_width);
  model.network = graph_module().load(model.spec, model.widths(), read_part(folder / kWeightsFile));
  return model;
}

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
  std::map<std::int64_t, std::int32_t> configured;  // position -> node
  for (const CsvRow& row : table.rows) {
    const auto node = static_cast<std::int32_t>(runs.graph.opcodes.size());
    const std::int64_t opcode = measured::integer_cell(table, row, "opcode", 0);
    if (opcode >= kGraphOpcodes) {
      throw Error(fmt::format("{}: got {}, expected less than {}", table.where(row, "opcode"),
                              opcode, kGraphOpcodes));
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
