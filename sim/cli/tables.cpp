#include "sim/tables.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>

#include "analytical/analytical_model.h"
#include "analytical/layout_rules.h"
#include "base/error.h"
#include "ir/fusion/fusion.h"
#include "learned/kernel_graph.h"
#include "learned/table_features.h"
#include "sim/advice.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/model_choice.h"
#include "sim/views/rows.h"

namespace tilecast::sim::cli {
namespace {

struct OpsArguments {
  std::string table, model;
  DeviceOptions device;
  OutputOptions output;
  OpTableOptions options;
};

void run(const OpsArguments& arguments) {
  const hwdesc::Device device = load_devices(arguments.device).front();
  const measured::CsvTable table = measured::read_csv(base::SourceText::read_file(arguments.table));
  note_unread(table.file, unread_op_columns(table));
  const ChosenModel model = choose_model(arguments.model, {&device, 1});
  const measured::CsvTable answered =
      estimate_operators(table, device, *model.model, arguments.options);
  note_model(model);
  write_rows(arguments.output, answered, "tilecast.ops/1");
}

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

void add_schema(measured::CsvTable& table, const learned::FeatureSchema& schema) {
  for (const FeatureColumn& column : schema.columns) {
    views::add_row(table, schema.name, name(column.group), column.name, column.unit, column.doc);
  }
}

measured::CsvTable explained(const std::vector<FeatureGroup>& groups) {
  measured::CsvTable table{"", {"schema", "group", "name", "unit", "meaning"}, {}};
  add_schema(table, table_features(groups).schema());
  if (std::ranges::find(groups, FeatureGroup::kNode) != groups.end()) {
    add_schema(table, learned::node_schema(learned::GraphEncoding::kTilecast));
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
  measured::CsvTable table{"", std::move(columns), {}};
  const std::size_t width = values.schema.columns.size();
  for (std::size_t i = 0; i < values.kernels.size(); ++i) {
    std::vector<std::string> cells = {values.kernels[i]};
    for (std::size_t c = 0; c < width; ++c) cells.push_back(cell(values.rows[i * width + c]));
    table.rows.push_back({0, std::move(cells)});
  }
  return table;
}

measured::CsvTable row_per_column(const Values& values) {
  measured::CsvTable table{"", {"name", "value", "unit", "meaning"}, {}};
  for (std::size_t c = 0; c < values.schema.columns.size(); ++c) {
    const FeatureColumn& column = values.schema.columns[c];
    views::add_row(table, column.name, cell(values.rows[c]), column.unit, column.doc);
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
        "{}: {} kernels, expected one for a table; choose it with --kernel NAME, or see all with "
        "--format csv",
        arguments.file, queries.size());
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
    if (given) throw UsageError("features: {} needs a program", option);
  }
  write_rows(arguments.output, explained(groups_of(arguments)), "tilecast.features/1");
}

struct AdviseArguments {
  std::string file, kernel, models;
  std::vector<int> unroll;
  std::vector<std::string> fuse;
  DeviceOptions device;
  LoadArguments load;
  OutputOptions output;
};

constexpr double kNsPerSecond = 1e9;

std::string nanoseconds(const std::optional<Seconds>& time) {
  return time ? fmt::format("{:.1f}", time->value * kNsPerSecond) : std::string();
}

measured::CsvTable table_of(const Advisor& advisor, const std::string& file) {
  measured::CsvTable table{file, {"choice", "kernel", "unroll"}, {}};
  for (const learned::Target& one : advisor.quantities()) table.columns.push_back(one.quantity);
  table.columns.insert(table.columns.end(), {"estimate_ns", "verdict"});
  return table;
}

void add_row(measured::CsvTable& table, const std::string& choice, const Prospect& prospect,
             const std::string& verdict) {
  std::vector<std::string> cells{choice, prospect.kernel, fmt::to_string(prospect.unroll)};
  for (const double value : prospect.values) cells.push_back(fmt::format("{:.4g}", value));
  cells.push_back(nanoseconds(prospect.time));
  cells.push_back(verdict);
  table.rows.push_back({0, std::move(cells)});
}

measured::CsvTable of_unrolling(const AdviseArguments& arguments, const Advisor& advisor,
                                const hwdesc::Device& device) {
  const ir::LoadOptions load = load_options(arguments.load);
  const ir::DeviceProgram built = ir::program_for(ir::load_module(arguments.file, load),
                                                  analytical::layout_rules(device), load);
  measured::CsvTable table = table_of(advisor, arguments.file);
  const auto answer = [&](const ir::Kernel& kernel) {
    const std::vector<Prospect> choices = advisor.unrolled(kernel, device, arguments.unroll);
    const std::size_t best = advised(choices);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      add_row(table, fmt::format("unroll {}", choices[i].unroll), choices[i],
              i == best ? "best" : "");
    }
  };
  if (!arguments.kernel.empty()) {
    answer(find_kernel(built.program, arguments.kernel, arguments.file));
    return table;
  }
  for (const ir::ScheduledKernel& one : built.program.kernels()) answer(one.kernel);
  return table;
}

std::optional<Seconds> sum_of(std::span<const Prospect> kernels) {
  Seconds sum;
  for (const Prospect& one : kernels) {
    if (!one.time) return std::nullopt;
    sum += *one.time;
  }
  return sum;
}

measured::CsvTable of_fusing(const AdviseArguments& arguments, const Advisor& advisor,
                             const hwdesc::Device& device) {
  const ir::LoadedModule loaded =
      ir::load_module(arguments.file, {.read = load_options(arguments.load).read, .fuse = false});
  if (ir::is_optimised(loaded.module)) {
    throw Error("{}: is fused already; --fuse expects a program that is not", arguments.file);
  }
  const FusionProspect prospect =
      advisor.fused(loaded.module, arguments.fuse[0], arguments.fuse[1], device);
  measured::CsvTable table = table_of(advisor, arguments.file);
  const auto apart = sum_of(prospect.apart), fused = sum_of(prospect.fused);
  const bool known = apart && fused;
  const auto add = [&](const char* choice, const std::vector<Prospect>& kernels,
                       const std::optional<Seconds>& time, bool is_best) {
    for (const Prospect& one : kernels) add_row(table, choice, one, "");
    Prospect all{fmt::format("all {}", kernels.size()), 1, {}, time};
    all.values.assign(advisor.quantities().size(), 0);
    add_row(table, choice, all, known && is_best ? "best" : "");
    for (std::size_t q = 0; q < all.values.size(); ++q) table.rows.back().cells[3 + q].clear();
  };
  add("apart", prospect.apart, apart, known && *apart <= *fused);
  add("fused", prospect.fused, fused, known && *fused < *apart);
  return table;
}

// configs/models/advice, or the advice folder beside the shipped models.
std::string models_of(const AdviseArguments& arguments) {
  if (!arguments.models.empty()) return arguments.models;
  const std::string shipped = shipped_folder("advice");
  if (!shipped.empty()) return shipped;
  throw Error("no models of advice are shipped here; expected --models FOLDER (docs/learning.md)");
}

void run(const AdviseArguments& arguments) {
  if (arguments.unroll.empty() == arguments.fuse.empty()) {
    throw UsageError("expected --unroll N,... or --fuse ARRAY,READER, one of them");
  }
  if (!arguments.fuse.empty() && arguments.fuse.size() != 2) {
    throw UsageError("--fuse: got {} names, expected two: ARRAY,READER", arguments.fuse.size());
  }
  const Advisor advisor(models_of(arguments));
  const hwdesc::Device device = load_devices(arguments.device).front();
  if (const std::string note = advisor.note(device); !note.empty()) {
    tell("note: {}", note);
  }
  write_rows(arguments.output,
             arguments.fuse.empty() ? of_unrolling(arguments, advisor, device)
                                    : of_fusing(arguments, advisor, device),
             "tilecast.advice/1");
}

}  // namespace

void add_ops(CLI::App& app) {
  auto arguments = std::make_shared<OpsArguments>();
  CLI::App& verb = *app.add_subcommand("ops", "a CSV of single operators, with their times");
  add_required(verb, "table", arguments->table, "FILE", "CSV file");
  add_device_options(verb, arguments->device, Devices::kOne);
  add_output_options(verb, arguments->output, {"csv", "table", "json"});
  add_model_option(verb, arguments->model);
  verb.add_flag("--keep-going", arguments->options.keep_going,
                "put the message of a bad row into the column error and continue");
  verb.add_flag("--repeated", arguments->options.repeated,
                "the operators belong to programs that run again and again: on TPUs the largest\n"
                "operand of a product stays on chip between runs where it fits");
  add_jobs_option(verb, arguments->options.jobs);
  verb.footer(
      R"(Every row has op and dtype (f32, bf16, f16 ...); out_dtype (that of the result: matmul,
conv2d*, convert), transposed (rhs: a matmul's right operand is stored n x k) and
execution (of softmax and layernorm: fused, reductions: a kernel up to every
reduction, ops: one per op) are optional. TPUs end kernels at reductions.
By op:
  matmul                                    batch (1), m, n, k; block (128x64: of the
                                            library's only kernel on a GPU)
  conv2d conv2d_grad_input conv2d_grad_weight  n, h, w, ci, co, kh, kw, stride (1),
                                            padding (0; pixels, same or valid); conv2d
                                            also groups (1)
  attention                                 batch (1), heads, kv_heads (heads), q_len, kv_len
                                            (q_len), head_dim, value_dim (head_dim),
                                            causal (0 or 1: no keys behind a query; the last
                                            query and key are abreast), window (keys that a
                                            query sees; 0: all), kv_dtype (dtype), backward
                                            (0 or 1); fused, as libraries do it; writes_kv
                                            (0 or 1): a kernel before copies the keys and
                                            values of the queries into their cache
  experts (a layer of a mixture)            tokens, hidden, inter, topk, experts; tp (1),
                                            ep (1), skew (balanced, uniform, or the exponent
                                            of a power law), weight_dtype; on GPUs library
                                            (triton, grouped) and block (64x64)
  softmax layernorm reduce transpose        rows, columns; transpose also batch (1)
  gelu copy, and elementwise HLO opcodes (add, exponential ...)
                                            elements, shape (16x16x128), or rows and
                                            columns
  all_reduce all_gather reduce_scatter all_to_all collective_permute
                                            the same, of one device's larger array: the
                                            result of all_gather, else the operand;
                                            devices (those of one host)
Other columns are kept, not read, and named in a note (x_* are not named).
Added columns: estimate_ns, bound, utilisation (speed of light / time, 0 to 1); where
the device describes energy, of a core energy_uJ (with idle power), power_W, clock_MHz
(lower under a power limit: of launches that last, or of all with
--set energy.power_state=sustained).)");
  verb.callback([arguments] { run(*arguments); });
}

void add_features(CLI::App& app) {
  auto arguments = std::make_shared<FeaturesArguments>();
  CLI::App& verb = *app.add_subcommand(
      "features", "what learned models see: every column, or a kernel's values");
  add_value(verb, "program", arguments->file, "FILE",
            "file of the program; without it columns are explained");
  add_value(verb, "-k,--kernel", arguments->kernel, "NAME", "name of the kernel; all without it");
  add_value(verb, "--tile", arguments->tile, "TILE", "tile of the kernel; no tile without it");
  verb.add_option("-g,--group", arguments->groups, "group of columns; repeat it for several")
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"static", "ops", "shape", "machine", "tile", "prior", "node"}));
  add_device_options(verb, arguments->device, Devices::kOptional);
  add_load_options(verb, arguments->load);
  add_output_options(verb, arguments->output, {"table", "csv", "json"});
  verb.footer(
      R"(Columns of the table are of a kernel, columns of nodes of one op in its graph. Lists are
their first six entries, sum and product. Empty: there is no such value.)");
  verb.callback([arguments] { run(*arguments); });
}

void add_advise(CLI::App& app) {
  auto arguments = std::make_shared<AdviseArguments>();
  CLI::App& verb = *app.add_subcommand("advise", "unroll by how much, fuse or not, uncompiled");
  add_required(verb, "program", arguments->file, "FILE", "file of the program");
  add_value(verb, "-k,--kernel", arguments->kernel, "NAME", "one kernel; without: all of them");
  add_list(verb, "--unroll", arguments->unroll, "N,...",
           "by what the compiler may unroll parallel loops")
      ->check(CLI::Range(1, 64));
  add_list(verb, "--fuse", arguments->fuse, "ARRAY,READER",
           "an array's instruction and one that reads it, of a program not fused yet");
  add_value(verb, "--models", arguments->models, "FOLDER",
            "folder of trained models, each of one quantity; default: the shipped ones")
      ->check(CLI::ExistingDirectory);
  add_device_options(verb, arguments->device, Devices::kOne);
  add_load_options(verb, arguments->load);
  add_output_options(verb, arguments->output, {"table", "json", "csv"});
  verb.footer(
      R"(Kernels as generated C on a processor (measure host) under the tile that physics chooses.
Columns: what each model predicts, in its unit (docs/measurements.md lists labels), and
estimate_ns. best: the first choice within 1 % of the shortest time. --fuse lists the
kernels that differ and their sum. Nothing is compiled; measure host --unroll does that.)");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
