#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/random.h"
#include "search/command_hardware.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/cli/tune_candidates.h"
#include "sim/cli/tune_trials.h"
#include "sim/views/tuning.h"

namespace tilecast::sim::cli {
namespace {

struct TuneArguments {
  std::string program, kernel, set, command, timeout = "60 s", model;
  std::string strategy, file, among;
  DeviceOptions device;
  LoadArguments load;
  OutputOptions report;
  bool compare = false;
  std::vector<std::size_t> budgets;
  std::size_t trials = 50, batch = search::TuneOptions{}.batch, seeds = 20, most_tiles = 4096,
              most_kernels = 0;
  std::string listing = "ladder";
  std::uint64_t seed = 1;
  int jobs = 1;
};

std::size_t answered(const search::TuneSpace& space) {
  return static_cast<std::size_t>(
      std::ranges::count_if(space.analytical, [](const auto& time) { return time.has_value(); }));
}

// Ordered by the model's times, or by its scores.
search::TuneSpace space_of(const Candidates& candidates, const hwdesc::Device& device,
                           const ChosenModel& model) {
  search::TuneSpace space = search::make_space(candidates.queries, device, *model.model);
  if (!model.ranker || candidates.queries.empty()) return space;
  std::vector<analytical::TileConfig> tiles;
  for (const analytical::KernelQuery& query : candidates.queries) {
    tiles.push_back(query.tile == nullptr ? analytical::TileConfig{} : *query.tile);
  }
  const ir::Kernel& kernel = candidates.queries.front().kernel;
  return search::ordered_by(std::move(space), model.ranker->scores(kernel, tiles, device));
}

views::TuneComparison compare_kernel(const Candidates& candidates, const search::TuneSpace& space,
                                     const search::CompareOptions& options) {
  constexpr double kNear = 0.95;  // relative to the fastest
  views::TuneComparison comparison{
      .kernel = candidates.kernel, .candidates = space.size(), .answered = answered(space)};
  comparison.strategies = search::compare_strategies(space, candidates.measured, options);
  double fastest = std::numeric_limits<double>::infinity();
  for (const auto& time : candidates.measured) fastest = std::min(fastest, time.value_or(fastest));
  comparison.fastest_s = fastest;
  comparison.within_5_percent = static_cast<std::size_t>(std::ranges::count_if(
      candidates.measured, [&](const auto& time) { return time && kNear * *time <= fastest; }));
  return comparison;
}

// The requested kernel, or all kernels with more tiles than the smallest number of trials compared.
// If there are more than --most-kernels, a reproducible random sample.
constexpr std::uint64_t kDrawSeed = 1;
std::vector<SetKernel> compared_kernels(const TuneArguments& arguments,
                                        const measured::SampleSet& set, std::size_t fewest) {
  if (!arguments.kernel.empty()) return {kernel_of(set, arguments.set, arguments.kernel)};
  std::map<const measured::Workload*, std::size_t> rows;
  for (const measured::Sample& sample : set.samples) ++rows[&set.works[sample.work]];
  std::vector<SetKernel> kernels;
  for (const SetKernel& kernel : kernels_of(set)) {
    if (rows[kernel.second] > fewest) kernels.push_back(kernel);
  }
  if (arguments.most_kernels > 0 && kernels.size() > arguments.most_kernels) {
    std::mt19937_64 random(kDrawSeed);
    base::shuffle(kernels, random);
    kernels.resize(arguments.most_kernels);
  }
  if (kernels.empty()) {
    throw Error(
        fmt::format("{}: no kernel has more than {} tiles measured", arguments.set, fewest));
  }
  return kernels;
}

search::Strategy strategy_of(std::string_view name) {
  return static_cast<search::Strategy>(std::ranges::find(search::kStrategies, name) -
                                       search::kStrategies);
}

void compare(const TuneArguments& arguments, const hwdesc::Device& device,
             const ChosenModel& model) {
  search::CompareOptions options{.batch = arguments.batch,
                                 .seeds = arguments.seeds,
                                 .seed = arguments.seed,
                                 .jobs = arguments.jobs};
  if (!arguments.budgets.empty()) options.trials = arguments.budgets;
  if (!arguments.strategy.empty()) options.strategies = {strategy_of(arguments.strategy)};
  std::ranges::sort(options.trials);
  const measured::SampleSet set = read_tuning_set(arguments.set, device, arguments.jobs);
  const std::vector<SetKernel> kernels = compared_kernels(arguments, set, options.trials.front());
  Progress progress("tune: searches", options.strategies.size() * options.seeds * kernels.size());
  options.step = [&progress] { progress.step(); };
  std::vector<std::vector<search::ComparedStrategy>> all;
  views::TuneComparison total;
  for (const SetKernel& kernel : kernels) {
    const auto candidates = measured_candidates(set, kernel);
    const search::TuneSpace space = space_of(*candidates, device, model);
    views::TuneComparison one = compare_kernel(*candidates, space, options);
    all.push_back(one.strategies);
    one.candidates += total.candidates;
    one.answered += total.answered;
    one.within_5_percent += total.within_5_percent;
    total = std::move(one);
  }
  if (kernels.size() > 1) total.strategies = search::over_spaces(all);
  total.kernels = kernels.size();
  total.device = device.name;
  total.model = arguments.model;
  total.batch = options.batch;
  total.seeds = options.seeds;
  write(arguments.report, arguments.report.format == "json" ? views::comparison_json(total)
                                                            : views::comparison_text(total));
}

void search(const TuneArguments& arguments, const Candidates& candidates,
            const search::TuneSpace& space, const hwdesc::Device& device,
            const std::string& model) {
  const std::string strategy_name = arguments.strategy.empty() ? "hybrid" : arguments.strategy;
  const search::Command command{arguments.command,
                                Seconds{seconds_of(arguments.timeout, "--timeout")}};
  TrialFile file(arguments.file, candidates.names);
  if (!file.known().empty()) {
    tell(fmt::format("{}: going on after {} trials", arguments.file, file.known().size()));
  }
  Progress progress("tune: trials", std::min(arguments.trials, space.size()));
  std::size_t done = file.known().size();
  double best = std::numeric_limits<double>::infinity();
  const auto one = [&](search::TuneTrial trial) {
    if (arguments.command.empty()) {
      trial.measured = candidates.measured[trial.candidate];
    } else {
      const search::HardwareTime answer =
          time_by(command, {{"{tile}", candidates.names[trial.candidate]},
                            {"{index}", fmt::format("{}", trial.candidate)}});
      trial.measured = answer.seconds;
      if (!answer.seconds) {
        tell(fmt::format("failed: {}: {}", candidates.names[trial.candidate], answer.failure));
      }
    }
    file.add(trial);
    best = std::min(best, trial.measured.value_or(best));
    progress.show(++done, fmt::format(", best {:.4g} us", best * 1e6));
    return trial.measured;
  };
  views::TuningReport report{.kernel = candidates.kernel,
                             .device = device.name,
                             .model = model,
                             .strategy = strategy_name,
                             .candidates = space.size(),
                             .answered = answered(space),
                             .tiles = candidates.names};
  report.result = search::tune(space,
                               [&](std::span<const search::TuneTrial> asked) {
                                 std::vector<std::optional<double>> times;
                                 for (const search::TuneTrial& trial : asked)
                                   times.push_back(one(trial));
                                 return times;
                               },
                               {.strategy = strategy_of(strategy_name),
                                .trials = arguments.trials,
                                .batch = arguments.batch,
                                .seed = arguments.seed,
                                .known = file.known()});
  write(arguments.report, arguments.report.format == "json" ? views::tuning_json(report)
                                                            : views::tuning_text(report));
  if (!report.result.best)
    throw Error("tune: every trial failed; the kernel keeps the tile that it has by default");
}

void check(const TuneArguments& arguments) {
  if (arguments.set.empty() == arguments.program.empty()) {
    throw UsageError("expected an HLO file with --measure, or a measurement set with --from");
  }
  if (!arguments.program.empty() && arguments.command.empty()) {
    throw UsageError("--measure is required: the command that measures a tile");
  }
  if (!arguments.set.empty() && !arguments.command.empty()) {
    throw UsageError("--measure and --from: expected one of them");
  }
  if (arguments.compare && arguments.set.empty()) {
    throw UsageError("--compare needs --from: every tile must have been measured");
  }
}

void run(const TuneArguments& arguments) {
  check(arguments);
  const std::vector<hwdesc::Device> devices = load_devices(arguments.device);
  const hwdesc::Device& device = devices.front();
  const ChosenModel model = choose_model(arguments.model, devices);
  if (arguments.compare) return compare(arguments, device, model);
  std::unique_ptr<Candidates> candidates;
  measured::SampleSet set;  // owns the candidates' kernels
  if (arguments.set.empty()) {
    candidates = tiles_of_program({arguments.program, arguments.kernel, arguments.load,
                                   arguments.listing, arguments.most_tiles, arguments.among},
                                  device);
  } else {
    set = read_tuning_set(arguments.set, device, arguments.jobs);
    candidates = measured_candidates(set, kernel_of(set, arguments.set, arguments.kernel));
  }
  search(arguments, *candidates, space_of(*candidates, device, model), device, model.name);
}

void add_search_options(CLI::App& verb, TuneArguments& arguments) {
  constexpr std::size_t kMost = 1'000'000;
  verb.add_option("--trials", arguments.trials, "tiles to measure at most")
      ->check(CLI::Range(std::size_t{1}, kMost))
      ->capture_default_str();
  verb.add_option("--batch", arguments.batch,
                  "tiles measured before it learns again; at least 5 at first")
      ->check(CLI::Range(std::size_t{1}, kMost))
      ->capture_default_str();
  verb.add_option("--strategy", arguments.strategy,
                  "what chooses the tiles; default hybrid, of --compare all")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(search::kStrategies),
                                                     std::end(search::kStrategies))));
  verb.add_option("--seed", arguments.seed, "of what is drawn")->capture_default_str();
  add_output_file(verb, "-o,--output", arguments.file,
                  "CSV of the trials, written as they are measured; resumed where it exists");
  verb.add_option("--timeout", arguments.timeout, "of one command")
      ->type_name("TIME")
      ->capture_default_str();
  verb.add_option("--most-tiles", arguments.most_tiles, "tiles of the program's kernel at most")
      ->check(CLI::Range(std::size_t{1}, kMost))
      ->capture_default_str();
  verb.add_flag("--compare", arguments.compare,
                "run every strategy on the set; without --kernel on all its kernels");
  verb.add_option("--seeds", arguments.seeds, "how many seeds --compare runs")
      ->check(CLI::Range(std::size_t{1}, kMost))
      ->capture_default_str();
  verb.add_option("--most-kernels", arguments.most_kernels,
                  "--compare draws so many of the set's kernels, always the same ones; 0: all")
      ->check(CLI::Range(std::size_t{0}, kMost))
      ->capture_default_str();
  verb.add_option("--budgets", arguments.budgets, "trials that --compare shows; default 10,50")
      ->delimiter(',')
      ->check(CLI::Range(std::size_t{1}, kMost))
      ->type_name("N");
  add_format_option(verb, arguments.report.format, {"table", "json"});
}

void add_tune_tiles(CLI::App& tune) {
  auto arguments = std::make_shared<TuneArguments>();
  CLI::App& verb = *tune.add_subcommand("tiles", "the fastest tile of a kernel, in few trials");
  auto* program =
      verb.add_option("program", arguments->program, "file of the kernel's program; with --measure")
          ->type_name("FILE");
  add_kernel_option(verb, arguments->kernel);
  verb.add_option("--measure", arguments->command,
                  "shell command that measures a tile; {tile} and {index} are replaced")
      ->type_name("COMMAND");
  verb.add_option("--from", arguments->set,
                  "measurement set that holds the tiles' times, instead of measuring")
      ->type_name("SET");
  add_device_options(verb, arguments->device, Devices::kOne);
  add_model_option(verb, arguments->model);
  add_search_options(verb, *arguments);
  auto* among = verb.add_option("--among", arguments->among,
                                "CSV of the tiles to search, as of tilecast tiles; without: those "
                                "that are listed")
                    ->type_name("CSV")
                    ->needs(program);
  add_listing_option(verb, arguments->listing)->excludes(among);
  add_load_options(verb, arguments->load);
  add_jobs_option(verb, arguments->jobs);
  verb.footer(
      "The command prints the time on its last line that is one: `12.3 us`, or seconds. {tile} is\n"
      "as in `out=2x26x4x2 kernel=3x3x24x1`, one word for the shell. A command that fails or "
      "takes\n"
      "too long is counted and not run again. Sets with parameters (p_*) are searched by them.\n"
      "Kernels of a set that have one name are NAME#1, NAME#2 ...\n"
      "Strategies: grid, random, model (by --model alone), xgboost (trees alone), hybrid\n"
      "(the model's best, spread out; then trees that were pretrained on the model's times of all\n"
      "tiles and continue on the measured ones, with a Gaussian process).");
  verb.callback([arguments] { run(*arguments); });
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
