#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/tune_candidates.h"
#include "sim/tile_table.h"

namespace tilecast::sim::cli {
namespace {

struct TilesArguments {
  std::string file, table, kernel, model, listing = "ladder";
  std::optional<std::size_t> most;
  DeviceOptions device;
  LoadArguments load;
  TileArguments tiles;
  OutputOptions output;
};

// The best of the listed tiles.
OfferedRows listed_rows(const TilesArguments& arguments, const ir::Kernel& kernel,
                        const hwdesc::Device& device, const analytical::TileRanker& order) {
  OfferedRows listed = fastest_listed(kernel, device, order, tile_set(arguments.listing),
                                      arguments.most.value_or(kShownTiles));
  if (listed.offered == 0) {
    throw nothing_listed(fmt::format("{}: {} has no tiles", arguments.file, kernel.name()),
                         arguments.listing, device);
  }
  note_listing(arguments.listing);
  return listed;
}

// The tiles given by the caller, or the best of them.
OfferedRows given_rows(const TilesArguments& arguments, const ir::Kernel& kernel,
                       const hwdesc::Device& device, const analytical::TileRanker& order) {
  measured::CsvTable rows = read_tile_rows(arguments.table, arguments.file);
  if (!arguments.most) return {std::move(rows)};
  return fastest_rows(rows, kernel, device, order, *arguments.most);
}

// If no tile is chosen: the reason, and the tile that the kernel keeps.
std::string default_note(const OfferedRows& offered, const measured::CsvTable& answered,
                         const ir::Kernel& kernel, const hwdesc::Device& device,
                         const analytical::TileRanker& order) {
  const auto runs = [&](const measured::CsvRow& row) {
    return !answered.cell(row, "estimate_ns").empty();
  };
  if (std::ranges::any_of(answered.rows, runs)) return {};
  const std::string why =
      !offered.why_none.empty()
          ? offered.why_none
          : rank_rows(tiles_of_table(offered.rows), kernel, device, order, 1).why_none;
  return why.empty() ? "" : fmt::format("{}; {}", why, kept_default(kernel, device));
}

void run(const TilesArguments& arguments) {
  const ir::LoadOptions load = load_options(arguments.load);
  const hwdesc::Device device = load_devices(arguments.device).front();
  const ir::DeviceProgram built = ir::program_for(ir::load_module(arguments.file, load),
                                                  analytical::layout_rules(device), load);
  const ir::Kernel& kernel = find_kernel(built.program, arguments.kernel, arguments.file);
  const ChosenModel model = model_with_tiles(arguments.model, arguments.tiles, {&device, 1});
  note_model(model);
  const analytical::CostModel* times = model.name == "analytical" ? nullptr : model.model.get();
  const auto by_times = analytical::make_time_ranker(times);
  const analytical::TileRanker& order = model.ranker != nullptr ? *model.ranker : *by_times;
  const OfferedRows offered = arguments.table.empty()
                                  ? listed_rows(arguments, kernel, device, order)
                                  : given_rows(arguments, kernel, device, order);
  const measured::CsvTable answered =
      estimate_tiles(offered.rows, kernel, device, times, model.ranker);
  const std::string note = default_note(offered, answered, kernel, device, order);
  if (!note.empty()) {
    tell(fmt::format("note: {}: {}", arguments.table.empty() ? arguments.file : arguments.table,
                     note));
  }
  write_rows(arguments.output, answered, "tilecast.tiles/1");
}

}  // namespace

void add_tiles(CLI::App& app) {
  auto arguments = std::make_shared<TilesArguments>();
  CLI::App& verb = *app.add_subcommand("tiles", "a CSV of tiles of one kernel, with their times");
  verb.add_option("program", arguments->file, "file of the kernel's program")
      ->required()
      ->type_name("FILE");
  auto* table = verb.add_option("table", arguments->table,
                                "tiles to answer; without: the fastest that are listed")
                    ->type_name("CSV");
  add_listing_option(verb, arguments->listing)->excludes(table);
  verb.add_option(
          "--most", arguments->most,
          "the fastest so many; default 10 of those listed, all rows of a table as they are")
      ->check(CLI::Range(1, 100000));
  add_kernel_option(verb, arguments->kernel);
  add_device_options(verb, arguments->device, Devices::kOne);
  add_load_options(verb, arguments->load);
  add_model_option(verb, arguments->model);
  add_ranker_option(verb, arguments->tiles);
  add_output_options(verb, arguments->output, {"csv", "table", "json"});
  verb.footer(
      "Read columns: kernel_bounds, output_bounds, input_bounds, numbers separated by spaces:\n"
      "physical, most major dimension first; the two minor ones count native tiles. On GPUs also\n"
      "stages (buffers of each operand) and warps of a block; or threads along each dimension of "
      "the\n"
      "output, vector (elements that a load of a thread brings) and direct (1: operands are read\n"
      "through the cache, not copied). With a column file, only the rows of this file are "
      "answered.\n"
      "Other columns (runtime_ns, compute_time_ns ...) are kept, not read, and named in a note.\n"
      "Added columns: estimate_ns, bound, utilisation (0 to 1), reason (why it cannot run), last\n"
      "energy_uJ where the device describes energy; of a\n"
      "hybrid also analytical_ns, factor, verdict (in, edge, out), low_ns and high_ns (90 %); "
      "where a\n"
      "model of ranks chooses also rank (1 is fastest).");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
