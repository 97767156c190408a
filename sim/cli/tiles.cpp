#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/tile_table.h"

namespace tilecast::sim::cli {
namespace {

struct TilesArguments {
  std::string file, table, kernel, model, listing = "ladder";
  std::size_t most = 10;
  DeviceOptions device;
  LoadArguments load;
  TileArguments tiles;
  OutputOptions output;
};

measured::CsvTable rows_to_answer(const TilesArguments& arguments) {
  const measured::CsvTable table = measured::read_csv(base::SourceText::read_file(arguments.table));
  measured::CsvTable rows = rows_of_file(table, arguments.file);
  if (rows.rows.empty() && !table.rows.empty()) {
    throw Error(fmt::format("{}: no row has a column 'file' that names {}", arguments.table,
                            arguments.file));
  }
  if (rows.rows.size() < table.rows.size()) {
    fmt::print(stderr, "note: {} of {} rows are of {}; the others are left out\n", rows.rows.size(),
               table.rows.size(), arguments.file);
  }
  return rows;
}

measured::CsvTable listed_tiles(const TilesArguments& arguments, const ir::Kernel& kernel,
                                const hwdesc::Device& device) {
  constexpr std::size_t kMost = 100'000;
  const auto tiles =
      analytical::KernelAnalysis(kernel, device).tiles(kMost, tile_set(arguments.listing));
  if (tiles.empty()) {
    throw nothing_listed(fmt::format("{}: {} has no tiles", arguments.file, kernel.name()),
                         arguments.listing, device);
  }
  return table_of_tiles(tiles);
}

// Where no tile of the caller's can run, nothing changes: says what the kernel keeps.
void note_default(const measured::CsvTable& answered, const ir::Kernel& kernel,
                  const hwdesc::Device& device) {
  const auto runs = [&](const measured::CsvRow& row) {
    return !answered.cell(row, "estimate_ns").empty();
  };
  if (answered.rows.empty() || std::ranges::any_of(answered.rows, runs)) return;
  const std::string tile =
      to_string(analytical::KernelAnalysis(kernel, device).estimate_best().tile);
  fmt::print(stderr, "note: {}: none of {} tiles can run on {}; {} keeps its default ({})\n",
             answered.file, answered.rows.size(), device.name, kernel.name(),
             tile.empty() ? "not cut" : tile);
}

void run(const TilesArguments& arguments) {
  const ir::LoadOptions load = load_options(arguments.load);
  const hwdesc::Device device = load_devices(arguments.device).front();
  const ir::DeviceProgram built = ir::program_for(ir::load_module(arguments.file, load),
                                                  analytical::layout_rules(device), load);
  const ir::Kernel& kernel = find_kernel(built.program, arguments.kernel, arguments.file);
  const measured::CsvTable rows =
      arguments.table.empty() ? listed_tiles(arguments, kernel, device) : rows_to_answer(arguments);
  note_unread(rows.file, unread_tile_columns(rows));
  const ChosenModel model = model_with_tiles(arguments.model, arguments.tiles, {&device, 1});
  if (!model.note.empty()) fmt::print(stderr, "note: {}\n", model.note);
  const bool physics = model.name == "analytical";
  measured::CsvTable answered =
      estimate_tiles(rows, kernel, device, physics ? nullptr : model.model.get(), model.ranker);
  note_default(answered, kernel, device);
  if (arguments.table.empty()) answered = fastest_rows(std::move(answered), arguments.most);
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
  verb.add_option("--most", arguments->most, "of listed tiles, the fastest so many")
      ->check(CLI::Range(1, 100000))
      ->excludes(table)
      ->capture_default_str();
  verb.add_option("-k,--kernel", arguments->kernel,
                  "name of the kernel; not needed when there is only one")
      ->type_name("NAME");
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
      "Added columns: estimate_ns, bound, utilisation (0 to 1), reason (why it cannot run); of a\n"
      "hybrid also analytical_ns, factor, verdict (in, edge, out), low_ns and high_ns (90 %); "
      "where a\n"
      "model of ranks chooses also rank (1 is fastest).");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
