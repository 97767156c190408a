#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <limits>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "ir/canonical_hash.h"
#include "ir/load_program.h"
#include "ir/op_hash.h"
#include "ir/text/hlo_printer.h"
#include "search/fusion_tuner.h"
#include "search/hardware.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/terminal.h"
#include "sim/model_choice.h"
#include "sim/program_gain.h"
#include "sim/tables.h"
#include "sim/views/tuning.h"

namespace tilecast::sim::cli {
namespace {

// The hardware on which programs run.
struct HardwareArguments {
  std::string machine = "none", command, set;  // at most one of the three
  std::string budget = "60 s", timeout = "60 s", journal;
  int core = -1;
};

// Seconds on a monotonic clock.
double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Null if no hardware is requested. The device must outlive the result.
std::unique_ptr<search::Hardware> make_hardware(const HardwareArguments& arguments,
                                                const hwdesc::Device& device, int jobs) {
  const Seconds timeout{seconds_of(arguments.timeout, "--timeout")};
  const int asked = (arguments.machine == "host" ? 1 : 0) + (arguments.command.empty() ? 0 : 1) +
                    (arguments.set.empty() ? 0 : 1);
  if (asked > 1) throw UsageError("--hardware, --measure and --from: expected one of them");
  if (arguments.machine == "host") {
    return search::host_hardware(device,
                                 {.core = arguments.core, .timeout = timeout, .jobs = jobs});
  }
  if (!arguments.command.empty()) {
    return std::make_unique<search::CommandHardware>(search::Command{arguments.command, timeout});
  }
  if (arguments.set.empty()) return nullptr;
  return std::make_unique<search::SetHardware>(
      measured::make_samples(measured::read_measurement_set(arguments.set), device,
                             {.check_physics = false, .jobs = jobs}),
      device);
}

void add_hardware_options(CLI::App& verb, HardwareArguments& arguments) {
  add_choice(verb, "--hardware", arguments.machine, {"none", "host"},
             "what runs programs: none, or host (this machine, by generated C)");
  add_value(verb, "--measure", arguments.command, "COMMAND",
            "shell command that runs a program instead and prints its time; {hlo} and {tiles} are "
            "replaced by files");
  add_value(verb, "--from", arguments.set, "SET",
            "measurement set of kernels instead: a program takes what they took");
  add_text(verb, "--hardware-budget", arguments.budget, "TIME",
           "compiling and timing stop after this long");
  add_text(verb, "--timeout", arguments.timeout, "TIME", "of one run");
  add_output_file(verb, "--journal", arguments.journal,
                  "CSV of what was timed; a search that was broken off goes on from it");
  add_number(verb, "--core", arguments.core, -1, 4095,
             "core to measure on; -1: the last one allowed");
}

struct FusionArguments {
  std::string program, model, strategy = "anneal", start = "rules", asked = "model";
  std::string time, output, hlo;
  DeviceOptions device;
  TileArguments tiles;
  HardwareArguments hardware;
  LoadArguments load;
  OutputOptions report;
  std::optional<std::size_t> costs;
  std::size_t runs = 1;
  std::size_t keep = search::FusionSearchOptions{}.keep;
  std::uint64_t seed = 1;
  double refine = search::VerifyOptions{}.refine;
  int jobs = 1;
};

search::FusionStrategy strategy_of(const std::string& name) {
  return static_cast<search::FusionStrategy>(std::ranges::find(search::kFusionStrategies, name) -
                                             search::kFusionStrategies);
}

// One run per seed; combines the fastest distinct programs of all runs.
search::FusionSearch search_by_model(search::FusionCost& cost, const FusionArguments& arguments) {
  search::FusionSearch all;
  const std::size_t costs = arguments.costs.value_or(search::FusionSearchOptions{}.costs);
  Progress progress("tune: programs costed", costs * arguments.runs);
  const double limit_s = arguments.time.empty() ? std::numeric_limits<double>::infinity()
                                                : seconds_of(arguments.time, "--time");
  std::size_t before = 0;
  search::FusionSearchOptions options{.strategy = strategy_of(arguments.strategy),
                                      .random_start = arguments.start == "random",
                                      .costs = costs,
                                      .keep = arguments.keep};
  options.step = [&](const search::FusionProgress& done) {
    constexpr std::size_t kShownEach = 256;  // limits the cost of clock and terminal
    if (done.costs % kShownEach != 0) return true;
    progress.show(before + done.costs, fmt::format(", best {:.4g} us of {:.4g}", done.best_s * 1e6,
                                                   done.by_rules_s * 1e6));
    return !Interrupt::asked();
  };
  const double each_s = limit_s / static_cast<double>(arguments.runs);
  for (std::size_t run = 0; run < arguments.runs && !Interrupt::asked(); ++run) {
    options.spent = [each_s, begin = now_s()] { return (now_s() - begin) / each_s; };
    options.seed = arguments.seed + run;
    search::FusionSearch one = search_fusions(cost, options);
    before += one.costs;
    all.by_rules = one.by_rules;
    all.costs += one.costs;
    all.starts += one.starts;
    for (search::FoundFusion& found : one.best) {
      const auto same = [&](const auto& known) { return known.cost.plan == found.cost.plan; };
      if (std::ranges::none_of(all.best, same)) all.best.push_back(std::move(found));
    }
  }
  std::ranges::stable_sort(all.best, {}, [](const auto& found) { return found.cost.seconds; });
  if (all.best.size() > arguments.keep) all.best.resize(arguments.keep);
  return all;
}

ProgramGain gain_of(const ir::FusionSpace& space, const ir::FusionConfiguration& best,
                    const hwdesc::Device& device, const analytical::CostModel& model,
                    const ir::LoadOptions& load) {
  const auto program = [&](const ir::FusionConfiguration& chosen) {
    return ir::program_for({space.module().file, space.fused(chosen), {}},
                           analytical::layout_rules(device), load)
        .program;
  };
  return program_gain({program(space.by_rules()), model}, {program(best), model}, device);
}

search::TileChoices tiles_of(const FusionArguments& arguments) {
  const std::string& file = arguments.tiles.file;
  return file.empty() ? search::TileChoices()
                      : search::read_tiles(base::SourceText::read_file(file));
}

// Runs programs on hardware and records the results in a journal.
class OnHardware {
 public:
  OnHardware(const ir::FusionSpace& space, search::Hardware& hardware,
             const FusionArguments& arguments)
      : space_(space),
        hardware_(hardware),
        arguments_(arguments),
        budget_s_(seconds_of(arguments.hardware.budget, "--hardware-budget")),
        journal_(arguments.hardware.journal, space.program_hash()) {
    if (journal_.size() == 0) return;
    tell("{}: going on after {} trials", arguments.hardware.journal, journal_.size());
  }

  search::TunedFusion verify(search::FusionCost& plans, const search::FusionSearch& found) {
    Progress progress("tune: programs timed", found.best.size());
    search::VerifyOptions options{.budget_s = budget_s_,
                                  .refine = arguments_.asked == "model" ? arguments_.refine : 0,
                                  .batch = static_cast<std::size_t>(arguments_.jobs),
                                  .seed = arguments_.seed,
                                  .tiles = tiles_of(arguments_),
                                  .now = now_s};
    options.step = [&](std::size_t tried, double best_s) {
      progress.show(tried, fmt::format(", best {:.4g} us", best_s * 1e6));
      return !Interrupt::asked();
    };
    search::TunedFusion tuned = search::verify_fusions(plans, found, hardware_, options, journal_);
    tuned.spent_s += searched_s_;
    return tuned;
  }

  // Runs every proposed program; the result is the program that ran fastest.
  search::FusionSearch search(search::FusionCost& plans) {
    constexpr std::size_t kAnyNumber = 1'000'000;  // limited by the hardware budget
    const search::TileChoices tiles = tiles_of(arguments_);
    search::HardwareTrials trials(hardware_, journal_, now_s);
    search::HardwareObjective objective(plans, trials, tiles);
    Progress progress("tune: seconds of hardware", static_cast<std::size_t>(budget_s_) + 1);
    search::FusionSearchOptions options{.strategy = strategy_of(arguments_.strategy),
                                        .random_start = arguments_.start == "random",
                                        .seed = arguments_.seed,
                                        .costs = arguments_.costs.value_or(kAnyNumber),
                                        .keep = search::kFinalists};
    options.spent = [&] { return trials.spent_s() / budget_s_; };
    options.step = [&](const search::FusionProgress& done) {
      progress.show(static_cast<std::size_t>(trials.spent_s()),
                    fmt::format(", {} programs, best {:.4g} us", done.costs, done.best_s * 1e6));
      return !Interrupt::asked();
    };
    search::FusionSearch found = search_fusions(objective, plans.space(), options);
    searched_s_ = trials.spent_s();
    return found;
  }

 private:
  const ir::FusionSpace& space_;
  search::Hardware& hardware_;
  const FusionArguments& arguments_;
  double budget_s_, searched_s_ = 0;
  search::TuningJournal journal_;
};

void run_fusion(const FusionArguments& arguments) {
  const std::vector<hwdesc::Device> devices = load_devices(arguments.device);
  const hwdesc::Device& device = devices.front();
  const ChosenModel model = model_with_tiles(arguments.model, arguments.tiles, devices);
  const auto hardware = make_hardware(arguments.hardware, device, arguments.jobs);
  const ir::LoadOptions load = load_options(arguments.load);
  ir::Module module = ir::read_module(arguments.program, load.read);
  if (ir::is_optimised(module)) {
    throw Error("{}: is fused already; expected the program from before that", arguments.program);
  }
  const ir::FusionSpace space(std::move(module), analytical::layout_rules(device).fusion);
  search::FusionCost cost(space, device, *model.model, load.trip_count);
  const Interrupt interrupt;
  views::FusionTuning tuning{.program = space.module().name,
                             .file = arguments.program,
                             .device = device.name,
                             .model = model.name,
                             .strategy = arguments.strategy,
                             .start = arguments.start,
                             .asked_of = arguments.asked,
                             .seed = arguments.seed,
                             .runs = arguments.runs,
                             .decisions = space.decisions().size()};
  std::optional<OnHardware> machine;
  if (hardware) machine.emplace(space, *hardware, arguments);
  if (arguments.asked == "hardware" && !machine) {
    throw UsageError("--search-on hardware needs --hardware, --measure or --from");
  }
  tuning.search =
      arguments.asked == "hardware" ? machine->search(cost) : search_by_model(cost, arguments);
  tuning.asked = cost.asked();
  tuning.gain = gain_of(space, tuning.search.best.front().chosen, device, *model.model, load);
  ir::FusionConfiguration chosen =
      tuning.gain.accepted() ? tuning.search.best.front().chosen : space.by_rules();
  if (machine && !Interrupt::asked()) {
    tuning.tuned = machine->verify(cost, tuning.search);
    chosen = tuning.tuned->chosen;
  }
  if (!arguments.output.empty()) {
    write({.format = {}, .file = arguments.output}, space.text_of(chosen));
    if (chosen == space.by_rules()) tell("note: {}: what the rules decide", arguments.output);
  }
  if (!arguments.hlo.empty()) {
    write({.format = {}, .file = arguments.hlo}, ir::print_hlo(space.fused(chosen)));
  }
  write(arguments.report, arguments.report.format == "json" ? views::fusion_tuning_json(tuning)
                                                            : views::fusion_tuning_text(tuning));
  if (Interrupt::asked()) end_as_interrupted();
}

void add_search_options(CLI::App& verb, FusionArguments& arguments) {
  constexpr std::size_t kMost = 1'000'000'000;
  add_choice(verb, "--strategy", arguments.strategy, {"anneal", "random"},
             "how configurations are proposed");
  add_choice(verb, "--search-on", arguments.asked, {"model", "hardware"},
             "what is asked how long a program takes: model, or hardware, which then runs every "
             "program that is proposed");
  add_choice(verb, "--start", arguments.start, {"rules", "random"}, "where the search begins");
  verb.add_option(
          "--costs", arguments.costs,
          fmt::format("programs costed at most, in each run; by the model {} where nothing is said",
                      search::FusionSearchOptions{}.costs))
      ->check(CLI::Range(std::size_t{1}, kMost));
  add_value(verb, "--time", arguments.time, "TIME",
            "stop costing after this long; without it: --costs alone");
  add_number(verb, "--runs", arguments.runs, 1, std::size_t{1000},
             "searches from different seeds, the best of all");
  verb.add_option("--seed", arguments.seed, "of the first run")->capture_default_str();
  add_number(verb, "--keep", arguments.keep, 1, std::size_t{100'000},
             "fastest programs kept for the hardware");
}

void add_output(CLI::App& verb, FusionArguments& arguments) {
  add_number(verb, "--refine", arguments.refine, 0.0, 1.0,
             "share of the hardware's budget for neighbours of the fastest that ran");
  add_output_file(verb, "-o,--output", arguments.output,
                  "decisions of the chosen program, for --fusion");
  add_output_file(verb, "--hlo", arguments.hlo, "HLO text of the chosen program, fused");
  add_format_option(verb, arguments.report.format, {"table", "json"});
}

void add_tune_fusion(CLI::App& tune) {
  auto arguments = std::make_shared<FusionArguments>();
  CLI::App& verb = *tune.add_subcommand("fusion", "the fastest fusions of a program");
  add_required(verb, "program", arguments->program, "FILE",
               "file of a program that is not fused yet");
  add_device_options(verb, arguments->device, Devices::kOne);
  add_model_option(verb, arguments->model);
  add_search_options(verb, *arguments);
  add_tile_options(verb, arguments->tiles);
  add_hardware_options(verb, arguments->hardware);
  add_output(verb, *arguments);
  add_read_options(verb, arguments->load);
  add_jobs_option(verb, arguments->jobs);
  verb.footer(
      R"(A model costs many programs, then hardware runs the fastest of them in the order of their
predicted times. What the rules give is run first and kept unless something is faster; a
program whose results differ from its results has failed. Without hardware a program is
chosen only where the model's interval of the gain holds no loss.
Ctrl-C stops after what is being timed and answers with what was found (exit code 130).)");
  verb.callback([arguments] { run_fusion(*arguments); });
}

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
    tell("{}: going on after {} trials", given.journal, journal.size());
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
    if (chosen == search::default_tiles(kernels)) {
      tell("note: {}: the tiles that kernels have by default", arguments.output);
    }
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
  ir::LoadedModule loaded = ir::load_module(arguments.program, load);
  ir::fuse_by(analytical::layout_rules(device).fusion, load, loaded);
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
  add_number(verb, "--most-tiles", arguments.most_tiles, 1, kMost,
             "tiles listed of a kernel at most");
  add_number(verb, "--top", arguments.top, 1, kMost, "tiles of each kernel that hardware runs");
  verb.add_flag("--exhaustive", arguments.exhaustive,
                "hardware runs all listed tiles, and what that gains is reported beside");
}

void add_tune_program(CLI::App& tune) {
  auto arguments = std::make_shared<TuneProgramArguments>();
  CLI::App& verb = *tune.add_subcommand("program", "the fastest tiles of all kernels of a program");
  add_required(verb, "program", arguments->program, "FILE", "file of the program");
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
      R"(A model ranks the tiles of every kernel; hardware runs the first of each kernel alone,
then the program whole: with the tiles it has by default, with the first by the ranks, and
with the fastest that ran. The fastest of these is kept. Results that differ from those
with the default tile are failures. Without hardware the first tiles are taken only where
the model's interval of the gain holds no loss.
For fusions and tiles together: tune fusion first, then --fusion with its file.
Ctrl-C stops after what is being timed and answers with what was found (exit code 130).)");
  verb.callback([arguments] { run_program(*arguments); });
}

}  // namespace

void add_tune(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("tune", "search for fast configurations by measuring few");
  verb.require_subcommand(1);
  add_tune_tiles(verb);
  add_tune_fusion(verb);
  add_tune_program(verb);
}

}  // namespace tilecast::sim::cli
