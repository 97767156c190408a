#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>

#include "analytical/analytical_model.h"
#include "analytical/layout_rules.h"
#include "base/error.h"
#include "learned/kernel_graph.h"
#include "learned/table_features.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"

namespace tilecast::sim::cli {
namespace {

using analytical::KernelQuery;
using learned::FeatureColumn;
using learned::FeatureGroup;

struct FeaturesArguments {
  std::string file, kernel, tile;
  std::vector<std::string> groups;
  DeviceOptions device;
  LoadArguments load;
  OutputOptions output;
};

// The requested groups, else all that need no measurement set.
std::vector<FeatureGroup> groups_of(const FeaturesArguments& arguments) {
  using enum FeatureGroup;
  if (arguments.groups.empty()) return {kStatic, kOps, kShape, kMachine, kTile, kPrior, kNode};
  std::vector<FeatureGroup> groups;
  for (const std::string& text : arguments.groups) {
    groups.push_back(*learned::parse_feature_group(text));
  }
  return groups;
}

learned::TableFeatures table_features(std::vector<FeatureGroup> groups) {
  std::erase(groups, FeatureGroup::kNode);
  return learned::TableFeatures({.groups = std::move(groups), .parameters = {}});
}

measured::CsvTable empty_table(std::vector<std::string> columns) {
  return {.file = "", .columns = std::move(columns), .rows = {}};
}

void add_row(measured::CsvTable& table, std::vector<std::string> cells) {
  table.rows.push_back({.line = 0, .cells = std::move(cells)});
}

void add_schema(measured::CsvTable& table, const learned::FeatureSchema& schema) {
  for (const FeatureColumn& column : schema.columns) {
    add_row(table,
            {schema.name, std::string(name(column.group)), column.name, column.unit, column.doc});
  }
}

measured::CsvTable explained(const std::vector<FeatureGroup>& groups) {
  measured::CsvTable table = empty_table({"schema", "group", "name", "unit", "meaning"});
  add_schema(table, table_features(groups).schema());
  if (std::ranges::find(groups, FeatureGroup::kNode) != groups.end()) {
    add_schema(table, learned::node_schema(learned::GraphEncoding::kTilecast));
    add_schema(table, learned::node_schema(learned::GraphEncoding::kTpuGraphs));
  }
  return table;
}

// Empty if there is no value.
std::string cell(float value) {
  return std::isnan(value) ? "" : fmt::format("{}", value);
}

struct Values {
  std::vector<std::string> kernels;
  learned::FeatureSchema schema;
  std::vector<float> rows;  // one of schema.columns.size() numbers per kernel
};

measured::CsvTable row_per_kernel(const Values& values) {
  std::vector<std::string> columns = {"kernel"};
  for (const FeatureColumn& column : values.schema.columns) columns.push_back(column.name);
  measured::CsvTable table = empty_table(std::move(columns));
  const std::size_t width = values.schema.columns.size();
  for (std::size_t i = 0; i < values.kernels.size(); ++i) {
    std::vector<std::string> cells = {values.kernels[i]};
    for (std::size_t c = 0; c < width; ++c) cells.push_back(cell(values.rows[i * width + c]));
    add_row(table, std::move(cells));
  }
  return table;
}

measured::CsvTable row_per_column(const Values& values) {
  measured::CsvTable table = empty_table({"name", "value", "unit", "meaning"});
  for (std::size_t c = 0; c < values.schema.columns.size(); ++c) {
    const FeatureColumn& column = values.schema.columns[c];
    add_row(table, {column.name, cell(values.rows[c]), column.unit, column.doc});
  }
  return table;
}

// The requested kernels: one by name, or all.
std::vector<KernelQuery> queries_of(const FeaturesArguments& arguments, const ir::Program& program,
                                    const analytical::TileConfig* tile) {
  if (!arguments.kernel.empty() || tile != nullptr) {
    return {{find_kernel(program, arguments.kernel, arguments.file), tile}};
  }
  std::vector<KernelQuery> queries;
  for (const ir::ScheduledKernel& scheduled : program.kernels()) {
    queries.push_back({scheduled.kernel});
  }
  return queries;
}

Values values_of(const std::vector<KernelQuery>& queries, const hwdesc::Device& device,
                 const std::vector<FeatureGroup>& groups) {
  const learned::TableFeatures features = table_features(groups);
  std::vector<std::optional<analytical::Estimate>> priors;
  if (features.needs_prior()) priors = analytical::AnalyticalModel().estimate(queries, device);
  Values values{.kernels = {}, .schema = features.schema(), .rows = {}};
  values.rows.resize(queries.size() * features.width());
  features.extract(queries, device, priors, values.rows);
  for (const KernelQuery& query : queries) values.kernels.push_back(query.kernel.name());
  return values;
}

measured::CsvTable values_table(const FeaturesArguments& arguments) {
  if (arguments.device.names.empty()) {
    throw UsageError("features: a program needs a machine; expected --device DEVICE");
  }
  std::vector<FeatureGroup> groups = groups_of(arguments);
  if (!arguments.groups.empty() && std::ranges::find(groups, FeatureGroup::kNode) != groups.end()) {
    throw UsageError("features: got group 'node', which describes ops; expected groups of kernels");
  }
  analytical::TileConfig tile;
  if (!arguments.tile.empty()) tile = analytical::parse_tile(arguments.tile);
  const ir::LoadOptions load = load_options(arguments.load);
  const hwdesc::Device device = load_devices(arguments.device).front();
  const ir::DeviceProgram built = ir::program_for(ir::load_module(arguments.file, load),
                                                  analytical::layout_rules(device), load);
  const std::vector<KernelQuery> queries =
      queries_of(arguments, built.program, arguments.tile.empty() ? nullptr : &tile);
  const bool by_column = arguments.output.format == "table";
  if (by_column && queries.size() != 1) {
    throw Error(
        fmt::format("{}: {} kernels, expected one for a table; choose it with --kernel "
                    "NAME, or see all with --format csv",
                    arguments.file, queries.size()));
  }
  const Values values = values_of(queries, device, groups);
  return by_column ? row_per_column(values) : row_per_kernel(values);
}

void run(const FeaturesArguments& arguments) {
  if (!arguments.file.empty()) {
    write_rows(arguments.output, values_table(arguments), "tilecast.feature_values/1");
    return;
  }
  for (const auto& [given, option] : {std::pair{!arguments.tile.empty(), "--tile"},
                                      std::pair{!arguments.kernel.empty(), "--kernel"},
                                      std::pair{!arguments.device.names.empty(), "--device"}}) {
    if (given) throw UsageError(fmt::format("features: {} needs a program", option));
  }
  write_rows(arguments.output, explained(groups_of(arguments)), "tilecast.features/1");
}

}  // namespace

void add_features(CLI::App& app) {
  auto arguments = std::make_shared<FeaturesArguments>();
  CLI::App& verb = *app.add_subcommand(
      "features", "what learned models see: every column, or a kernel's values");
  verb.add_option("program", arguments->file,
                  "file of the program; without it columns are explained")
      ->type_name("FILE");
  verb.add_option("-k,--kernel", arguments->kernel, "name of the kernel; all without it")
      ->type_name("NAME");
  verb.add_option("--tile", arguments->tile, "tile of the kernel; no tile without it")
      ->type_name("TILE");
  verb.add_option("-g,--group", arguments->groups, "group of columns; repeat it for several")
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"static", "ops", "shape", "machine", "tile", "prior", "node"}));
  add_device_options(verb, arguments->device, Devices::kOptional);
  add_load_options(verb, arguments->load);
  add_output_options(verb, arguments->output, {"table", "csv", "json"});
  verb.footer(
      "Columns of the table are of a kernel, columns of nodes of one op in its graph. Lists are\n"
      "their first six entries, sum and product. Empty: there is no such value.");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
