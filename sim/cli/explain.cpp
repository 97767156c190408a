#include "sim/explain.h"

#include <CLI/CLI.hpp>
#include <map>

#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/explain_loops.h"
#include "sim/views/explain.h"

namespace tilecast::sim::cli {
namespace {

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
  analytical::TileConfig tile;
  if (!arguments.tile.empty()) tile = analytical::parse_tile(arguments.tile);
  const hwdesc::Device device = load_devices(arguments.device).front();
  const PlacedProgram placed = place(ir::load_module(arguments.file, load), device, load);
  const ir::Kernel& kernel = find_kernel(placed.built.program, arguments.kernel, arguments.file);
  const ChosenModel model = model_with_tiles(arguments.model, arguments.tiles, {&device, 1});
  Explanation why = explain(placed, arguments.kernel, model,
                            arguments.tile.empty() ? nullptr : &tile, arguments.top);
  if (!arguments.headroom.empty() && !why.infeasible) {
    add_headroom(choose_model(arguments.headroom, {&device, 1}),
                 {kernel, arguments.tile.empty() ? nullptr : &tile}, device, why);
  }
  if (!arguments.loops.empty()) {
    add_loops(kernel, device, arguments.tile.empty() ? nullptr : &tile,
              kLoopForms.at(arguments.loops), why);
  }
  if (arguments.output.format == "json") return views::explain_json(why);
  return arguments.output.format == "csv" ? views::explain_csv(why) : views::explain_text(why);
}

}  // namespace

void add_explain(CLI::App& app) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App& verb = *app.add_subcommand("explain", "why one kernel takes its time; its best tiles");
  verb.add_option("program", arguments->file, "file of the program")->required()->type_name("FILE");
  add_kernel_option(verb, arguments->kernel);
  verb.add_option("--tile", arguments->tile, "tile to use instead of the compiler's or the best")
      ->type_name("TILE");
  add_top_option(verb, arguments->top, "tiles ranked");
  add_device_options(verb, arguments->device, Devices::kOne);
  add_load_options(verb, arguments->load);
  add_model_option(verb, arguments->model);
  add_ranker_option(verb, arguments->tiles);
  verb.add_option("--headroom", arguments->headroom,
                  "folder of a model trained with a quantile loss: what the fastest kernels like "
                  "this one take")
      ->type_name("DIR");
  verb.add_option("--loops", arguments->loops,
                  "the tile's code too: tiled loops, the same pipelined by its stages, C or CUDA")
      ->check(CLI::IsMember({"tiled", "pipelined", "c", "cuda"}))
      ->type_name("FORM");
  add_output_options(verb, arguments->output, {"table", "json", "csv"});
  verb.footer(
      "Tile sizes are physical, most major dimension first; the two minor ones count native "
      "tiles.");
  verb.callback([arguments] { write(arguments->output, run(*arguments)); });
}

}  // namespace tilecast::sim::cli
