#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "base/parallel.h"
#include "ir/read_module.h"
#include "ir/stablehlo/stablehlo.h"
#include "ir/text/hlo_printer.h"
#include "sim/answers.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/terminal.h"
#include "sim/explain.h"
#include "sim/report/page.h"
#include "sim/run_parts.h"
#include "sim/sensitivity.h"
#include "sim/tables.h"
#include "sim/views/explain.h"
#include "sim/views/simulation.h"

namespace tilecast::sim::cli {
namespace {

struct SimulateArguments {
  std::vector<std::string> files;
  DeviceOptions device;
  LoadArguments load;
  TileArguments tiles;
  OutputOptions output;
  std::string unknown_op = "error", model;
  std::size_t top = views::TableOptions{}.top;
  double tokens = 0;  // 0: as the program says
  bool all = false;
  int jobs = 1;
};

Simulation simulate_one(ir::LoadedModule loaded, const hwdesc::Device& device,
                        const ChosenModel& model, const SimulateArguments& arguments,
                        const ir::LoadOptions& load) {
  const SimulateOptions options{.skip_unknown = arguments.unknown_op == "skip",
                                .contents = arguments.output.format == "json",
                                .jobs = load.jobs};
  Simulation run = simulate(place(std::move(loaded), device, load), model, options);
  if (arguments.tokens > 0) run.tokens = arguments.tokens;
  const std::vector<ir::Note> changes = override_notes(arguments.device);
  run.notes.insert(run.notes.end(), changes.begin(), changes.end());
  return run;
}

constexpr std::size_t kMostListed = 20;  // files of a folder that are skipped

// The files to read; for a folder, its modules after optimisation.
std::vector<std::string> program_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    const ir::ModuleFiles found = ir::module_files(path);
    files.insert(files.end(), found.files.begin(), found.files.end());
    const std::size_t left_out = found.others.size();
    if (left_out == 0) continue;
    tell("note: {}: {} modules simulated, {} other files left out:", path, found.files.size(),
         left_out);
    for (std::size_t i = 0; i < std::min(left_out, kMostListed); ++i) {
      tell("  {}", found.others[i]);
    }
    if (left_out > kMostListed) tell("  ... {} more", left_out - kMostListed);
  }
  return files;
}

// Every program on every device, programs outermost.
std::vector<Simulation> simulate_all(const SimulateArguments& arguments) {
  const std::vector<hwdesc::Device> devices = load_devices(arguments.device);
  ir::LoadOptions load = load_options(arguments.load);
  const ChosenModel model = model_with_tiles(arguments.model, arguments.tiles, devices);
  const std::vector<std::string> files = program_files(arguments.files);
  std::vector<ir::LoadedModule> modules(files.size());
  base::parallel_for(modules.size(), arguments.jobs,
                     [&](std::size_t i) { modules[i] = ir::load_module(files[i], load); });
  std::vector<Simulation> runs(modules.size() * devices.size());
  load.jobs = std::max(1, arguments.jobs / static_cast<int>(std::max<std::size_t>(1, runs.size())));
  Progress progress("simulated", runs.size());
  base::parallel_for(runs.size(), arguments.jobs, [&](std::size_t i) {
    ir::LoadedModule& module = modules[i / devices.size()];
    runs[i] = simulate_one(devices.size() == 1 ? std::move(module) : module,
                           devices[i % devices.size()], model, arguments, load);
    progress.step();
  });
  return runs;
}

std::string report(const std::vector<Simulation>& runs, const SimulateArguments& arguments) {
  if (arguments.output.format == "json") return views::json(runs);
  if (arguments.output.format == "csv") return views::csv(runs);
  if (arguments.output.format == "trace") return views::trace(runs);
  if (runs.size() > 1) return views::comparison(runs, arguments.device.names.size());
  return views::table(runs.front(), {.top = arguments.top, .all = arguments.all});
}

const std::map<std::string, LoopForm> kLoopForms{{"tiled", LoopForm::kTiled},
                                                 {"pipelined", LoopForm::kPipelined},
                                                 {"c", LoopForm::kC},
                                                 {"cuda", LoopForm::kCuda}};

struct ExplainArguments {
  std::string file, kernel, tile, model, headroom, loops;
  DeviceOptions device;
  LoadArguments load;
  TileArguments tiles;
  OutputOptions output;
  std::size_t top = ExplainOptions{}.top;
};

std::string run(const ExplainArguments& arguments) {
  const ir::LoadOptions load = load_options(arguments.load);
  analytical::TileConfig given;
  if (!arguments.tile.empty()) given = analytical::parse_tile(arguments.tile);
  const analytical::TileConfig* const tile = arguments.tile.empty() ? nullptr : &given;
  const hwdesc::Device device = load_devices(arguments.device).front();
  const PlacedProgram placed = place(ir::load_module(arguments.file, load), device, load);
  const ir::Kernel& kernel = find_kernel(placed.built.program, arguments.kernel, arguments.file);
  const ChosenModel model = model_with_tiles(arguments.model, arguments.tiles, {&device, 1});
  Explanation why = explain(placed, arguments.kernel, model, arguments.tile, arguments.top);
  if (!arguments.headroom.empty() && !why.infeasible) {
    add_headroom(choose_model(arguments.headroom, {&device, 1}), {kernel, tile}, device, why);
  }
  if (!arguments.loops.empty()) {
    add_loops(kernel, device, tile, kLoopForms.at(arguments.loops), why);
  }
  if (arguments.output.format == "json") return views::explain_json(why);
  return arguments.output.format == "csv" ? views::explain_csv(why) : views::explain_text(why);
}

struct KernelsArguments {
  std::string file;
  DeviceOptions device;
  LoadArguments load;
  OutputOptions output;
  bool memory = false;
};

void run(const KernelsArguments& arguments) {
  const ir::LoadOptions load = load_options(arguments.load);
  const std::vector<hwdesc::Device> devices = load_devices(arguments.device);
  const ir::LoadedModule loaded = ir::load_module(arguments.file, load);
  const ir::DeviceProgram built =
      devices.empty() ? ir::program_as_dumped(loaded, load)
                      : ir::program_for(loaded, analytical::layout_rules(devices.front()), load);
  if (arguments.memory) {
    write_rows(arguments.output, memory_list(built.program, arguments.file), "tilecast.memory/1");
    return;
  }
  write_rows(arguments.output, kernel_list(built.program, arguments.file), "tilecast.kernels/1");
}

struct SensitivityArguments {
  std::string file, model;
  DeviceOptions device;
  LoadArguments load;
  OutputOptions output;
  std::size_t top = 20;
  int jobs = 1;
};

std::string run_sensitivity(const SensitivityArguments& arguments) {
  const ir::LoadOptions load = load_options(arguments.load);
  const hwdesc::DeviceSource source(arguments.device.names.front(),
                                    device_overrides(arguments.device.set));
  const hwdesc::Device device = source.with({});
  const ChosenModel model = choose_model(arguments.model, {&device, 1});
  Sensitivity result = sensitivity(ir::load_module(arguments.file, load), load, source,
                                   *model.model, {.jobs = arguments.jobs});
  result.model = model.name;
  if (arguments.output.format == "json") return views::sensitivity_json(result);
  if (arguments.output.format == "csv") return views::sensitivity_csv(result);
  return views::sensitivity_text(result, arguments.top);
}

struct ConvertArguments {
  std::string file, output, to, module;
  LoadArguments load;
};

bool is_stablehlo(const ConvertArguments& arguments) {
  if (!arguments.to.empty()) return arguments.to == "stablehlo";
  const std::string extension = std::filesystem::path(arguments.output).extension().string();
  if (extension == ".mlir") return true;
  if (extension == ".hlo" || extension == ".txt" || arguments.output == "-") return false;
  throw UsageError("-o: got '{}', expected FILE.hlo or FILE.mlir; or add --to", arguments.output);
}

// Whether `name` is the whole file name or one of its parts between dots.
bool is_named(const std::string& path, const std::string& name) {
  const std::string file = std::filesystem::path(path).filename().string();
  return file == name ||
         fmt::format(".{}.", file).find(fmt::format(".{}.", name)) != std::string::npos;
}

std::string choose_file(const ConvertArguments& arguments) {
  std::vector<std::string> files = ir::module_files(arguments.file).files;
  if (arguments.module.empty() && files.size() == 1) return files.front();
  const std::string all = fmt::format("{}", fmt::join(files, "\n  "));
  std::erase_if(files, [&](const std::string& file) { return !is_named(file, arguments.module); });
  if (files.size() == 1) return files.front();
  throw Error("{}: {} modules, expected one; choose it with --module NAME:\n  {}", arguments.file,
              arguments.module.empty() ? "several" : std::to_string(files.size()), all);
}

void note_lost(const std::string& text) {
  tell(
      "note: StableHLO keeps no layouts, memory spaces, schedule, fusions or backend notes; HLO "
      "text (-o FILE.hlo) keeps all");
  std::size_t count = 0;
  constexpr std::string_view kOp = "call_target_name = \"mhlo.";
  for (std::size_t at = text.find(kOp); at != std::string::npos; at = text.find(kOp, at + 1)) {
    ++count;
  }
  if (count == 0) return;
  tell("note: instructions that StableHLO has no op for are custom calls mhlo.*: {}", count);
}

void note_elided(const ir::Module& module) {
  std::size_t count = 0;
  for (const ir::Computation& computation : module.computations) {
    count += static_cast<std::size_t>(
        std::ranges::count_if(computation.instructions, [](const ir::Instruction& instruction) {
          const auto* constant = instruction.get<ir::ConstantAttrs>();
          return constant != nullptr && constant->literal.elided;
        }));
  }
  if (count > 0) tell("note: constants without their values ({{...}}): {}", count);
}

void run(const ConvertArguments& arguments) {
  const bool to_stablehlo = is_stablehlo(arguments);
  const ir::Module module = ir::read_module(choose_file(arguments), read_options(arguments.load));
  for (const std::string& warning : module.warnings) tell("note: {}", warning);
  const std::string text = to_stablehlo ? ir::print_stablehlo(module) : ir::print_hlo(module);
  note_elided(module);
  if (to_stablehlo) note_lost(text);
  write({.format = {}, .file = arguments.output == "-" ? "" : arguments.output}, text);
}

struct ReportArguments {
  std::vector<std::string> results;
  std::string output, title;
};

std::string title_of(const ReportArguments& arguments) {
  if (!arguments.title.empty()) return arguments.title;
  std::string title;
  for (const std::string& result : arguments.results) {
    title += (title.empty() ? "" : ", ") + std::filesystem::path(result).stem().string();
  }
  return title;
}

void run(const ReportArguments& arguments) {
  std::vector<report::Result> results;
  for (const std::string& file : arguments.results) {
    results.push_back(report::read_result_file(file));
  }
  write({.format = "html", .file = arguments.output},
        report::page(results, {.title = title_of(arguments)}));
}

}  // namespace

void add_simulate(CLI::App& app) {
  auto arguments = std::make_shared<SimulateArguments>();
  CLI::App& verb = *app.add_subcommand("simulate", "how long a program runs on a device, and why");
  add_required(verb, "program", arguments->files, "FILE",
               "files of programs, or folders that XLA dumped into");
  add_device_options(verb, arguments->device, Devices::kOneOrMore);
  add_load_options(verb, arguments->load);
  add_output_options(verb, arguments->output, {"table", "json", "csv", "trace"});
  add_model_option(verb, arguments->model);
  add_tile_options(verb, arguments->tiles);
  add_choice(verb, "--unknown-op", arguments->unknown_op, {"error", "skip"},
             "kernels without a model: error, or skip (no time, and the report says so)");
  add_top_option(verb, arguments->top, "kernels in the table, by total time");
  verb.add_flag("--all", arguments->all, "all kernels in the table, and all notes");
  add_value(verb, "--tokens", arguments->tokens, "N",
            "tokens (images, samples) of a run, for tokens/s; without it: those of the program's "
            "integer arguments [batch, sequence], if all have one shape")
      ->check(CLI::PositiveNumber);
  add_jobs_option(verb, arguments->jobs);
  verb.callback(
      [arguments] { write(arguments->output, report(simulate_all(*arguments), *arguments)); });
}

void add_explain(CLI::App& app) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App& verb = *app.add_subcommand("explain", "why one kernel takes its time; its best tiles");
  add_required(verb, "program", arguments->file, "FILE", "file of the program");
  add_kernel_option(verb, arguments->kernel);
  add_value(verb, "--tile", arguments->tile, "TILE",
            "tile to use instead of the compiler's or the best");
  add_top_option(verb, arguments->top, "tiles ranked");
  add_device_options(verb, arguments->device, Devices::kOne);
  add_load_options(verb, arguments->load);
  add_model_option(verb, arguments->model);
  add_ranker_option(verb, arguments->tiles);
  add_value(verb, "--headroom", arguments->headroom, "DIR",
            "folder of a model trained with a quantile loss: what the fastest kernels like this "
            "one take");
  add_value(verb, "--loops", arguments->loops, "FORM",
            "the tile's code too: tiled loops, the same pipelined by its stages, C or CUDA")
      ->check(CLI::IsMember({"tiled", "pipelined", "c", "cuda"}));
  add_output_options(verb, arguments->output, {"table", "json", "csv"});
  verb.footer(
      "Tile sizes are physical, most major dimension first; the two minor ones count native "
      "tiles.");
  verb.callback([arguments] { write(arguments->output, run(*arguments)); });
}

void add_kernels(CLI::App& app) {
  auto arguments = std::make_shared<KernelsArguments>();
  CLI::App& verb = *app.add_subcommand("kernels", "the kernels of a program and their work");
  add_required(verb, "program", arguments->file, "FILE", "file of the program");
  add_device_options(verb, arguments->device, Devices::kOptional);
  add_load_options(verb, arguments->load);
  verb.add_flag("--memory", arguments->memory,
                "instead: the arrays in device memory at its peak, largest first");
  add_output_options(verb, arguments->output, {"table", "json", "csv"});
  verb.footer(
      R"(Work is per launch, counted as XLA does (a multiply-add is 2 FLOPs; -1: unknown). With
--device, arrays are laid out (padded_bytes) as that device stores them.)");
  verb.callback([arguments] { run(*arguments); });
}

void add_sensitivity(CLI::App& app) {
  auto arguments = std::make_shared<SensitivityArguments>();
  CLI::App& verb = *app.add_subcommand(
      "sensitivity", "how much each number of a description matters; what limits next");
  add_required(verb, "program", arguments->file, "FILE", "file of the program");
  add_device_options(verb, arguments->device, Devices::kOne);
  add_load_options(verb, arguments->load);
  add_model_option(verb, arguments->model);
  add_top_option(verb, arguments->top, "numbers in the table, by effect");
  add_output_options(verb, arguments->output, {"table", "json", "csv"});
  add_jobs_option(verb, arguments->jobs);
  verb.callback([arguments] { write(arguments->output, run_sensitivity(*arguments)); });
}

void add_convert(CLI::App& app) {
  auto arguments = std::make_shared<ConvertArguments>();
  CLI::App& verb = *app.add_subcommand("convert", "a program of any form as HLO or StableHLO text");
  add_required(verb, "program", arguments->file, "FILE",
               "file of the program, or a folder of XLA's");
  add_output_file(verb, "-o,--output", arguments->output,
                  "file to write, of HLO (.hlo) or StableHLO (.mlir) text; -: stdout")
      ->required();
  verb.add_option("--to", arguments->to, "form of the text; default: by the output's extension")
      ->check(CLI::IsMember({"hlo", "stablehlo"}));
  add_value(verb, "--module", arguments->module, "NAME", "which module of a folder");
  add_read_options(verb, arguments->load);
  verb.footer(
      R"(HLO text reads back to the same module. StableHLO text says what is computed: fusions and
asynchronous ops become calls, layouts, memory spaces and schedules are not kept.)");
  verb.callback([arguments] { run(*arguments); });
}

void add_report(CLI::App& app) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App& verb = *app.add_subcommand("report", "results as one HTML page of plots and tables");
  add_required(verb, "results", arguments->results, "RESULT",
               "what tilecast wrote with --format json, or evaluate with --rows");
  add_output_file(verb, "-o,--output", arguments->output, "page to write instead of stdout");
  add_value(verb, "--title", arguments->title, "TEXT",
            "heading of the page; without it: the files' names");
  verb.footer(
      R"(Two simulated programs are compared: the second against the first, kernel by kernel and
resource by resource; of more, each against the first of the same program. Kernels are
paired by what they compute, then by name.
The page needs no network. It shows roofline, timeline, time by kernel, what holds kernels
up and the table of kernels of simulate; times of sides against each other of compare and
evaluate --rows; scores of evaluate; any other result as tables.)");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
