#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "ir/canonical_hash.h"
#include "ir/load_program.h"
#include "ir/op_hash.h"
#include "ir/text/hlo_printer.h"
#include "sim/cli/commands.h"
#include "sim/cli/hardware_options.h"
#include "sim/cli/interrupt.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/views/program_tuning.h"

namespace tilecast::sim::cli {
namespace {

struct TuneProgramArguments {
  std::string program, model, listing = "ladder", output, hlo;
  DeviceOptions device;
  TileArguments tiles;
  LoadArguments load;
  HardwareArguments hardware;
  OutputOptions report;
  std::size_t top = search::VerifyTilesOptions{}.top;
  std::size_t most_tiles = search::TileListing{}.most;
  bool exhaustive = false;
  int jobs = 1;
};

// A hash of the kernels' contents, in order.
std::string hash_of(const ir::Program& program) {
  ir::Hash128 hash;
  for (const ir::ScheduledKernel& scheduled : program.kernels()) {
    hash.add(std::string_view(ir::canonical_hash(scheduled.kernel)));
  }
  const auto digits = hash.result();
  return fmt::format("{:016x}{:016x}", digits[0], digits[1]);
}

search::TunedTiles run_on_hardware(const ir::Module& fused, const std::string& program_hash,
                                   const std::vector<search::KernelTiles>& kernels,
                                   search::Hardware& hardware,
                                   const TuneProgramArguments& arguments) {
  const HardwareArguments& given = arguments.hardware;
  search::TuningJournal journal(given.journal, program_hash);
  if (journal.size() > 0) {
    tell(fmt::format("{}: going on after {} trials", given.journal, journal.size()));
  }
  Progress progress("tune: kernels", kernels.size());
  return search::verify_tiles(fused, program_hash, kernels, hardware,
                              {.top = arguments.top,
                               .exhaustive = arguments.exhaustive,
                               .budget_s = seconds_of(given.budget, "--hardware-budget"),
                               .now = now_s,
                               .step =
                                   [&](std::size_t done, std::size_t run) {
                                     progress.show(done, fmt::format(", {} tiles run", run));
                                     return !Interrupt::asked();
                                   }},
                              journal);
}

std::string fusions_of(const ir::LoadedModule& loaded, const LoadArguments& arguments) {
  if (arguments.fusion != "default") {
    return arguments.fusion == "none" ? "not fused" : "fused by " + arguments.fusion;
  }
  const bool by_rules = std::ranges::any_of(
      loaded.notes, [](const ir::Note& note) { return note.what.starts_with("not optimised"); });
  return by_rules ? "fused by the rules" : "fused as the file has it";
}

ProgramGain gain_of(const ir::Program& program, const hwdesc::Device& device,
                    const analytical::CostModel& times,
                    const std::vector<search::KernelTiles>& kernels) {
  const search::ChosenTiles before(times, {.fixed = search::default_tiles(kernels)});
  const search::ChosenTiles after(times, {.fixed = search::first_tiles(kernels)});
  return program_gain({program, before}, {program, after}, device);
}

void write_choice(const TuneProgramArguments& arguments, const search::TileChoices& chosen,
                  const std::vector<search::KernelTiles>& kernels, const ir::Module& fused) {
  if (!arguments.output.empty()) {
    std::map<std::string, std::string> names;
    for (const search::KernelTiles& kernel : kernels) names[kernel.hash] = kernel.name;
    write({.format = {}, .file = arguments.output}, search::text_of(chosen, names));
  }
  if (!arguments.hlo.empty()) {
    write({.format = {}, .file = arguments.hlo}, ir::print_hlo(fused));
  }
}

void run_program(const TuneProgramArguments& arguments) {
  const std::string& command = arguments.hardware.command;
  if (!command.empty() && command.find("{tiles}") == std::string::npos) {
    throw UsageError("--measure: expected {tiles} in the command: what says how kernels are cut");
  }
  const std::vector<hwdesc::Device> devices = load_devices(arguments.device);
  const hwdesc::Device& device = devices.front();
  const ChosenModel model = choose_model(arguments.model, devices);
  const std::string ranks =
      arguments.tiles.ranker.empty() ? arguments.model : arguments.tiles.ranker;
  const auto ranker = choose_ranker(ranks, devices);
  const auto hardware = make_hardware(arguments.hardware, device, arguments.jobs);
  const ir::LoadOptions load = load_options(arguments.load);
  const ir::LoadedModule loaded = ir::load_module(arguments.program, load);
  const ir::Program program =
      ir::program_for(loaded, analytical::layout_rules(device), load).program;
  search::KernelTilesOptions options{
      .listing = {.set = tile_set(arguments.listing), .most = arguments.most_tiles},
      .trip_count = load.trip_count,
      .alone = hardware != nullptr,
      .times = model.model.get()};
  if (hardware) {
    options.can_cut = [&](const ir::Kernel& kernel, const analytical::TileConfig& tile) {
      return hardware->can_cut(kernel, tile);
    };
  }
  const Interrupt interrupt;
  views::ProgramTuning tuning{
      .program = loaded.module.name,
      .file = arguments.program,
      .device = device.name,
      .model = model.name,
      .ranks = ranks,
      .listing = arguments.listing,
      .fusions = fusions_of(loaded, arguments.load),
      .top = arguments.top,
      .exhaustive = arguments.exhaustive,
      .kernels = search::kernels_with_tiles(loaded.module, device, *ranker, options)};
  if (tuning.kernels.empty()) {
    throw nothing_listed(fmt::format("{}: no kernel has a choice of tiles", arguments.program),
                         arguments.listing, device);
  }
  note_listing(arguments.listing);
  tuning.gain = gain_of(program, device, *model.model, tuning.kernels);
  search::TileChoices chosen = tuning.gain.accepted() ? search::first_tiles(tuning.kernels)
                                                      : search::default_tiles(tuning.kernels);
  if (hardware && !Interrupt::asked()) {
    tuning.tuned =
        run_on_hardware(loaded.module, hash_of(program), tuning.kernels, *hardware, arguments);
    chosen = tuning.tuned->chosen;
  }
  write_choice(arguments, chosen, tuning.kernels, loaded.module);
  write(arguments.report, arguments.report.format == "json" ? views::program_tuning_json(tuning)
                                                            : views::program_tuning_text(tuning));
  if (Interrupt::asked()) end_as_interrupted();
}

void add_tile_list_options(CLI::App& verb, TuneProgramArguments& arguments) {
  constexpr std::size_t kMost = 1'000'000;
  add_listing_option(verb, arguments.listing);
  verb.add_option("--most-tiles", arguments.most_tiles, "tiles listed of a kernel at most")
      ->check(CLI::Range(std::size_t{1}, kMost))
      ->capture_default_str();
  verb.add_option("--top", arguments.top, "tiles of each kernel that hardware runs")
      ->check(CLI::Range(std::size_t{1}, kMost))
      ->capture_default_str();
  verb.add_flag("--exhaustive", arguments.exhaustive,
                "hardware runs all listed tiles, and what that gains is reported beside");
}

}  // namespace

void add_tune_program(CLI::App& tune) {
  auto arguments = std::make_shared<TuneProgramArguments>();
  CLI::App& verb = *tune.add_subcommand("program", "the fastest tiles of all kernels of a program");
  verb.add_option("program", arguments->program, "file of the program")
      ->required()
      ->type_name("FILE");
  add_device_options(verb, arguments->device, Devices::kOne);
  add_model_option(verb, arguments->model);
  add_ranker_option(verb, arguments->tiles);
  add_tile_list_options(verb, *arguments);
  add_hardware_options(verb, arguments->hardware);
  add_load_options(verb, arguments->load);
  add_jobs_option(verb, arguments->jobs);
  add_output_file(verb, "-o,--output", arguments->output, "the chosen tiles, for simulate --tiles");
  add_output_file(verb, "--hlo", arguments->hlo, "HLO text of the fused program");
  add_format_option(verb, arguments->report.format, {"table", "json"});
  verb.footer(
      "A model ranks the tiles of every kernel; hardware runs the first of each kernel alone,\n"
      "then the program whole: with the tiles it has by default, with the first by the ranks, and\n"
      "with the fastest that ran. The fastest of these is kept. Results that differ from those\n"
      "with the default tile are failures. Without hardware the first tiles are taken only where\n"
      "the model's interval of the gain holds no loss.\n"
      "For fusions and tiles together: tune fusion first, then --fusion with its file.\n"
      "Ctrl-C stops after what is being timed and answers with what was found (exit code 130).");
  verb.callback([arguments] { run_program(*arguments); });
}

}  // namespace tilecast::sim::cli
