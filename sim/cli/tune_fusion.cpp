#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "ir/load_program.h"
#include "ir/text/hlo_printer.h"
#include "search/fusion_tuner.h"
#include "sim/cli/commands.h"
#include "sim/cli/hardware_options.h"
#include "sim/cli/interrupt.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/model_choice.h"
#include "sim/program_gain.h"
#include "sim/views/fusion_tuning.h"

namespace tilecast::sim::cli {
namespace {

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
    tell(fmt::format("{}: going on after {} trials", arguments.hardware.journal, journal_.size()));
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
    search::FusionSearch found = search_fusions(objective, plans, options);
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
    throw Error(fmt::format("{}: is fused already; expected the program from before that",
                            arguments.program));
  }
  const ir::FusionSpace space(std::move(module));
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
  if (!arguments.output.empty())
    write({.format = {}, .file = arguments.output}, space.text_of(chosen));
  if (!arguments.hlo.empty()) {
    write({.format = {}, .file = arguments.hlo}, ir::print_hlo(space.fused(chosen)));
  }
  write(arguments.report, arguments.report.format == "json" ? views::fusion_tuning_json(tuning)
                                                            : views::fusion_tuning_text(tuning));
  if (Interrupt::asked()) end_as_interrupted();
}

void add_search_options(CLI::App& verb, FusionArguments& arguments) {
  constexpr std::size_t kMost = 1'000'000'000;
  verb.add_option("--strategy", arguments.strategy, "how configurations are proposed")
      ->check(CLI::IsMember({"anneal", "random", "greedy", "beam"}))
      ->capture_default_str();
  verb.add_option("--search-on", arguments.asked,
                  "what is asked how long a program takes: model, or hardware, which then runs "
                  "every program that is proposed")
      ->check(CLI::IsMember({"model", "hardware"}))
      ->capture_default_str();
  verb.add_option("--start", arguments.start, "where the search begins")
      ->check(CLI::IsMember({"rules", "random"}))
      ->capture_default_str();
  verb.add_option("--costs", arguments.costs,
                  fmt::format("programs costed at most, in each run; by the model {} where nothing "
                              "is said",
                              search::FusionSearchOptions{}.costs))
      ->check(CLI::Range(std::size_t{1}, kMost));
  verb.add_option("--time", arguments.time,
                  "stop costing after this long; without it: --costs alone")
      ->type_name("TIME");
  verb.add_option("--runs", arguments.runs, "searches from different seeds, the best of all")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1000}))
      ->capture_default_str();
  verb.add_option("--seed", arguments.seed, "of the first run")->capture_default_str();
  verb.add_option("--keep", arguments.keep, "fastest programs kept for the hardware")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}))
      ->capture_default_str();
}

void add_output(CLI::App& verb, FusionArguments& arguments) {
  verb.add_option("--refine", arguments.refine,
                  "share of the hardware's budget for neighbours of the fastest that ran")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  add_output_file(verb, "-o,--output", arguments.output,
                  "decisions of the chosen program, for --fusion");
  add_output_file(verb, "--hlo", arguments.hlo, "HLO text of the chosen program, fused");
  add_format_option(verb, arguments.report.format, {"table", "json"});
}

}  // namespace

void add_tune_fusion(CLI::App& tune) {
  auto arguments = std::make_shared<FusionArguments>();
  CLI::App& verb = *tune.add_subcommand("fusion", "the fastest fusions of a program");
  verb.add_option("program", arguments->program, "file of a program that is not fused yet")
      ->required()
      ->type_name("FILE");
  add_device_options(verb, arguments->device, Devices::kOne);
  add_model_option(verb, arguments->model);
  add_search_options(verb, *arguments);
  add_tile_options(verb, arguments->tiles);
  add_hardware_options(verb, arguments->hardware);
  add_output(verb, *arguments);
  add_read_options(verb, arguments->load);
  add_jobs_option(verb, arguments->jobs);
  verb.footer(
      "A model costs many programs, then hardware runs the fastest of them in the order of their\n"
      "predicted times. What the rules give is run first and kept unless something is faster; a\n"
      "program whose results differ from its results has failed. Without hardware a program is\n"
      "chosen only where the model's interval of the gain holds no loss.\n"
      "Ctrl-C stops after what is being timed and answers with what was found (exit code 130).");
  verb.callback([arguments] { run_fusion(*arguments); });
}

}  // namespace tilecast::sim::cli
