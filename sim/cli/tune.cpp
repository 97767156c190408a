#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <limits>
#include <map>

#include "analytical/analytical_model.h"
#include "analytical/layout_rules.h"
#include "base/error.h"
#include "measured/samples.h"
#include "search/command_hardware.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/cli/tune_trials.h"
#include "sim/views/tuning.h"

namespace tilecast::sim::cli {
namespace {

struct TuneArguments {
  std::string program, kernel, set, command, timeout = "60 s", model = "analytical";
  std::string strategy = "hybrid", file;
  DeviceOptions device;
  LoadArguments load;
  OutputOptions report;
  bool compare = false;
  std::vector<std::size_t> budgets;
  std::size_t trials = 50, batch = 10, seeds = 20, most_tiles = 4096;
  std::string listing = "ladder";
  std::uint64_t seed = 1;
  int jobs = 1;
};

// What may be measured: owns what the queries refer to.
struct Candidates {
  std::string kernel;
  std::optional<ir::DeviceProgram> built;
  std::deque<analytical::TileConfig> tiles;
  std::vector<analytical::KernelQuery> queries;
  std::vector<std::string> names;               // of tiles or parameters, as text
  std::vector<std::optional<double>> measured;  // seconds, where a set holds them
};

std::string text_of(const measured::SampleSet& set, const measured::Sample& sample) {
  if (sample.parameters.empty()) return analytical::to_string(sample.tile);
  std::string text;
  for (std::size_t i = 0; i < sample.parameters.size(); ++i) {
    text += fmt::format("{}{}={}", i == 0 ? "" : " ", set.parameter_names[i], sample.parameters[i]);
  }
  return text;
}

using Kernel = std::pair<std::string, const measured::Workload*>;

// Works of one kernel by name; those of equal names are NAME#1, NAME#2 ...
std::vector<Kernel> kernels_of(const measured::SampleSet& set) {
  std::map<std::string, std::vector<const measured::Workload*>> by_name;
  for (const measured::Workload& work : set.works) {
    if (work.parts.size() == 1) by_name[work.name].push_back(&work);
  }
  std::vector<Kernel> kernels;
  for (const auto& [name, works] : by_name) {
    for (std::size_t i = 0; i < works.size(); ++i) {
      kernels.emplace_back(works.size() == 1 ? name : fmt::format("{}#{}", name, i + 1), works[i]);
    }
  }
  return kernels;
}

// What --kernel names, or the only one.
Kernel kernel_of(const TuneArguments& arguments, const measured::SampleSet& set) {
  const std::vector<Kernel> kernels = kernels_of(set);
  std::vector<std::string_view> names;
  for (const Kernel& kernel : kernels) {
    if (kernel.first == arguments.kernel || (arguments.kernel.empty() && kernels.size() == 1)) {
      return kernel;
    }
    names.push_back(kernel.first);
  }
  if (arguments.kernel.empty()) {
    throw Error(fmt::format("{}: {} kernels, expected one; choose it with --kernel NAME",
                            arguments.set, names.size()));
  }
  const std::string near = base::nearest(arguments.kernel, names);
  throw Error(fmt::format("{}: no kernel is called '{}'{}", arguments.set, arguments.kernel,
                          near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

measured::SampleSet read_set(const TuneArguments& arguments, const hwdesc::Device& device) {
  // Times that physics doubts are searched, too: they were measured.
  measured::SampleSet set =
      measured::make_samples(measured::read_measurement_set(arguments.set), device,
                             {.check_physics = false, .jobs = arguments.jobs});
  if (!set.faults.empty()) {
    fmt::print(stderr, "note: {}: {} rows in error are left out\n", arguments.set,
               set.faults.size());
  }
  return set;
}

std::unique_ptr<Candidates> measured_candidates(const measured::SampleSet& set,
                                                const Kernel& kernel) {
  auto found = std::make_unique<Candidates>();
  const measured::Workload& work = *kernel.second;
  found->kernel = kernel.first;
  for (const measured::Sample& sample : set.samples) {
    if (&set.works[sample.work] != &work) continue;
    const analytical::TileConfig* tile =
        sample.tile == analytical::TileConfig{} ? nullptr : &sample.tile;
    found->queries.push_back({work.parts.front().kernel, tile, sample.parameters});
    found->names.push_back(text_of(set, sample));
    found->measured.emplace_back(sample.measured.value);
  }
  return found;
}

std::unique_ptr<Candidates> tiles_of_program(const TuneArguments& arguments,
                                             const hwdesc::Device& device) {
  auto found = std::make_unique<Candidates>();
  const ir::LoadOptions load = load_options(arguments.load);
  found->built.emplace(ir::program_for(ir::load_module(arguments.program, load),
                                       analytical::layout_rules(device), load));
  const ir::Kernel& kernel =
      find_kernel(found->built->program, arguments.kernel, arguments.program);
  found->kernel = kernel.name();
  const analytical::KernelAnalysis analysis(kernel, device);
  if (!analysis.tileable()) {
    throw Error(fmt::format("{}: kernel '{}' has no tiles", arguments.program, kernel.name()));
  }
  for (analytical::TileConfig& tile :
       analysis.tiles(arguments.most_tiles, tile_set(arguments.listing))) {
    found->tiles.push_back(std::move(tile));
    found->queries.push_back({kernel, &found->tiles.back()});
    found->names.push_back(analytical::to_string(found->tiles.back()));
  }
  return found;
}

std::size_t answered(const search::TuneSpace& space) {
  return static_cast<std::size_t>(
      std::ranges::count_if(space.analytical, [](const auto& time) { return time.has_value(); }));
}

// As the model's times say, or as its ranks do.
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
  constexpr double kNear = 0.95;  // of the fastest
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

// The kernel asked for, or all that have more tiles than the fewest trials compared.
std::vector<Kernel> compared_kernels(const TuneArguments& arguments, const measured::SampleSet& set,
                                     std::size_t fewest) {
  if (!arguments.kernel.empty()) return {kernel_of(arguments, set)};
  std::map<const measured::Workload*, std::size_t> rows;
  for (const measured::Sample& sample : set.samples) ++rows[&set.works[sample.work]];
  std::vector<Kernel> kernels;
  for (const Kernel& kernel : kernels_of(set)) {
    if (rows[kernel.second] > fewest) kernels.push_back(kernel);
  }
  if (kernels.empty()) {
    throw Error(
        fmt::format("{}: no kernel has more than {} tiles measured", arguments.set, fewest));
  }
  return kernels;
}

void compare(const TuneArguments& arguments, const hwdesc::Device& device,
             const ChosenModel& model) {
  search::CompareOptions options{.batch = arguments.batch,
                                 .seeds = arguments.seeds,
                                 .seed = arguments.seed,
                                 .jobs = arguments.jobs};
  if (!arguments.budgets.empty()) options.trials = arguments.budgets;
  std::ranges::sort(options.trials);
  const measured::SampleSet set = read_set(arguments, device);
  const std::vector<Kernel> kernels = compared_kernels(arguments, set, options.trials.front());
  Progress progress("tune: searches", options.strategies.size() * options.seeds * kernels.size());
  options.step = [&progress] { progress.step(); };
  std::vector<std::vector<search::ComparedStrategy>> all;
  views::TuneComparison total;
  for (const Kernel& kernel : kernels) {
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

Seconds timeout_of(const TuneArguments& arguments) {
  try {
    return Seconds{hwdesc::parse_quantity(arguments.timeout, hwdesc::UnitKind::kTime)};
  } catch (const Error& error) {
    throw UsageError(fmt::format("--timeout: {}", error.what()));
  }
}

void search(const TuneArguments& arguments, const Candidates& candidates,
            const search::TuneSpace& space, const hwdesc::Device& device) {
  const search::Command command{arguments.command, timeout_of(arguments)};
  TrialFile file(arguments.file, candidates.names);
  if (!file.known().empty()) {
    fmt::print(stderr, "{}: going on after {} trials\n", arguments.file, file.known().size());
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
        fmt::print(stderr, "failed: {}: {}\n", candidates.names[trial.candidate], answer.failure);
      }
    }
    file.add(trial);
    best = std::min(best, trial.measured.value_or(best));
    progress.show(++done, fmt::format(", best {:.4g} us", best * 1e6));
    return trial.measured;
  };
  const auto strategy = static_cast<search::Strategy>(
      std::ranges::find(search::kStrategies, arguments.strategy) - search::kStrategies);
  views::TuningReport report{.kernel = candidates.kernel,
                             .device = device.name,
                             .strategy = arguments.strategy,
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
                               {.strategy = strategy,
                                .trials = arguments.trials,
                                .batch = arguments.batch,
                                .seed = arguments.seed,
                                .known = file.known()});
  write(arguments.report, arguments.report.format == "json" ? views::tuning_json(report)
                                                            : views::tuning_text(report));
  if (!report.result.best) throw Error("tune: every trial failed");
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
  measured::SampleSet set;  // the candidates are of it
  if (arguments.set.empty()) {
    candidates = tiles_of_program(arguments, device);
  } else {
    set = read_set(arguments, device);
    candidates = measured_candidates(set, kernel_of(arguments, set));
  }
  search(arguments, *candidates, space_of(*candidates, device, model), device);
}

void add_search_options(CLI::App& verb, TuneArguments& arguments) {
  constexpr std::size_t kMost = 1'000'000;
  verb.add_option("--trials", arguments.trials, "tiles to measure at most")
      ->check(CLI::Range(std::size_t{1}, kMost))
      ->capture_default_str();
  verb.add_option("--batch", arguments.batch, "tiles measured before it learns again")
      ->check(CLI::Range(std::size_t{1}, kMost))
      ->capture_default_str();
  verb.add_option("--strategy", arguments.strategy, "what chooses the tiles")
      ->check(CLI::IsMember({"grid", "random", "analytical", "xgboost", "hybrid"}))
      ->capture_default_str();
  verb.add_option("--seed", arguments.seed, "of what is drawn")->capture_default_str();
  verb.add_option("-o,--output", arguments.file,
                  "CSV of the trials, written as they are measured; resumed where it exists")
      ->type_name("FILE");
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
  verb.add_option("--budgets", arguments.budgets, "trials that --compare shows; default 10,50")
      ->delimiter(',')
      ->check(CLI::Range(std::size_t{1}, kMost))
      ->type_name("N");
  verb.add_option("-f,--format", arguments.report.format, "form of the answer")
      ->check(CLI::IsMember({"table", "json"}))
      ->default_val("table");
}

void add_tune_tiles(CLI::App& tune) {
  auto arguments = std::make_shared<TuneArguments>();
  CLI::App& verb = *tune.add_subcommand("tiles", "the fastest tile of a kernel, in few trials");
  verb.add_option("program", arguments->program, "file of the kernel's program; with --measure")
      ->type_name("FILE");
  verb.add_option("-k,--kernel", arguments->kernel,
                  "name of the kernel; not needed when there is only one")
      ->type_name("NAME");
  verb.add_option("--measure", arguments->command,
                  "shell command that measures a tile; {tile} and {index} are replaced")
      ->type_name("COMMAND");
  verb.add_option("--from", arguments->set,
                  "measurement set that holds the tiles' times, instead of measuring")
      ->type_name("SET");
  add_device_options(verb, arguments->device, Devices::kOne);
  add_model_option(verb, arguments->model);
  add_search_options(verb, *arguments);
  add_listing_option(verb, arguments->listing);
  add_load_options(verb, arguments->load);
  add_jobs_option(verb, arguments->jobs);
  verb.footer(
      "The command prints the time on its last line that is one: `12.3 us`, or seconds. {tile} is\n"
      "as in `out=2x26x4x2 kernel=3x3x24x1`, with blanks: quote it. A command that fails or takes\n"
      "too long is counted and not run again. Sets with parameters (p_*) are searched by them.\n"
      "Kernels of a set that have one name are NAME#1, NAME#2 ...\n"
      "Strategies: grid, random, analytical (by --model alone), xgboost (trees alone), hybrid\n"
      "(the model's best, spread out; then trees and a Gaussian process that know the model).");
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
