// `tiles` and `tune tiles`: the tiles of one kernel.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analytical/analytical_model.h"
#include "analytical/layout_rules.h"
#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "measured/csv.h"
#include "measured/growing_csv.h"
#include "measured/samples.h"
#include "search/hardware.h"
#include "search/tuner.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/terminal.h"
#include "sim/tables.h"
#include "sim/views/tuning.h"

namespace tilecast::sim::cli {
namespace {

// The rows of a CSV of tiles that belong to this program; prints the number of other rows to
// stderr.
measured::CsvTable read_tile_rows(const std::string& table, const std::string& program) {
  const measured::CsvTable all = measured::read_csv(base::SourceText::read_file(table));
  measured::CsvTable rows = rows_of_file(all, program);
  if (rows.rows.empty() && !all.rows.empty()) {
    throw Error("{}: no row has a column 'file' that names {}", table, program);
  }
  if (rows.rows.size() < all.rows.size()) {
    tell("note: {} of {} rows are of {}; the others are left out", rows.rows.size(),
         all.rows.size(), program);
  }
  note_unread(rows.file, unread_tile_columns(rows));
  return rows;
}

// "dot.4 keeps its default (out=8x2)": for a kernel for which none of the offered tiles is chosen.
std::string kept_default(const ir::Kernel& kernel, const hwdesc::Device& device) {
  const std::string tile =
      to_string(analytical::KernelAnalysis(kernel, device).estimate_best().tile);
  return fmt::format("{} keeps its default ({})", kernel.name(), tile.empty() ? "not cut" : tile);
}

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
    tell("note: {}: {}", arguments.table.empty() ? arguments.file : arguments.table, note);
  }
  write_rows(arguments.output, answered, "tilecast.tiles/1");
}

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

// Owns everything that the queries refer to, except the kernels of a set.
struct Candidates {
  std::string kernel;
  std::optional<ir::DeviceProgram> built;
  std::deque<analytical::TileConfig> tiles;
  std::vector<analytical::KernelQuery> queries;
  std::vector<std::string> names;               // tiles or parameters as text
  std::vector<std::optional<double>> measured;  // seconds, if the set has them
};

// Name and workload; kernels with equal names are called NAME#1, NAME#2 ...
using SetKernel = std::pair<std::string, const measured::Workload*>;

// One entry per kernel, by name.
std::vector<SetKernel> kernels_of(const measured::SampleSet& set) {
  std::map<std::string, std::vector<const measured::Workload*>> by_name;
  for (const measured::Workload& work : set.works) {
    if (work.parts.size() == 1) by_name[work.name].push_back(&work);
  }
  std::vector<SetKernel> kernels;
  for (const auto& [name, works] : by_name) {
    for (std::size_t i = 0; i < works.size(); ++i) {
      kernels.emplace_back(works.size() == 1 ? name : fmt::format("{}#{}", name, i + 1), works[i]);
    }
  }
  return kernels;
}

// The kernel called `name`, or the only one if `name` is empty.
SetKernel kernel_of(const measured::SampleSet& set, const std::string& folder,
                    const std::string& name) {
  const std::vector<SetKernel> kernels = kernels_of(set);
  std::vector<std::string_view> names;
  for (const SetKernel& kernel : kernels) {
    if (kernel.first == name || (name.empty() && kernels.size() == 1)) {
      return kernel;
    }
    names.push_back(kernel.first);
  }
  if (name.empty()) {
    throw Error("{}: {} kernels, expected one; choose it with --kernel NAME", folder, names.size());
  }
  const std::string near = base::nearest(name, names);
  throw Error("{}: no kernel is called '{}'{}", folder, name,
              near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
}

measured::SampleSet read_tuning_set(const std::string& folder, const hwdesc::Device& device,
                                    int jobs) {
  // Keeps times that physics doubts: they were measured.
  measured::SampleSet set = measured::make_samples(measured::read_measurement_set(folder), device,
                                                   {.check_physics = false, .jobs = jobs});
  if (!set.faults.empty()) {
    tell("note: {}: {} rows in error are left out", folder, set.faults.size());
  }
  return set;
}

// The tiles that can run, in order, among the caller's or the listed ones.
std::vector<analytical::TileConfig> offered_tiles(const TuneArguments& asked,
                                                  const ir::Kernel& kernel,
                                                  const hwdesc::Device& device) {
  const analytical::KernelAnalysis analysis(kernel, device);
  if (!analysis.tileable()) {
    throw Error("{}: kernel '{}' has no tiles", asked.program, kernel.name());
  }
  const bool listed = asked.among.empty();
  const std::vector<analytical::TileConfig> offered =
      listed ? analysis.tiles(asked.most_tiles, tile_set(asked.listing))
             : tiles_of_table(read_tile_rows(asked.among, asked.program));
  if (listed && offered.empty()) {
    throw nothing_listed(fmt::format("{}: {} has no tiles", asked.program, kernel.name()),
                         asked.listing, device);
  }
  if (listed) note_listing(asked.listing);
  search::OfferRanking ranking = rank_rows(offered, kernel, device, analytical::PhysicsRanker());
  if (ranking.best.empty()) {
    throw Error("{}: {}; {}", asked.among, ranking.why_none, kept_default(kernel, device));
  }
  if (ranking.best.size() < offered.size()) {
    tell("note: {}: {} of {} tiles cannot run on {} and are left out", asked.among,
         offered.size() - ranking.best.size(), offered.size(), device.name);
  }
  std::ranges::sort(ranking.best, {}, &search::RankedOffer::offer);
  std::vector<analytical::TileConfig> tiles;
  for (const search::RankedOffer& one : ranking.best) tiles.push_back(offered[one.offer]);
  return tiles;
}

std::string text_of(const measured::SampleSet& set, const measured::Sample& sample) {
  if (sample.parameters.empty()) return analytical::to_string(sample.tile);
  std::string text;
  for (std::size_t i = 0; i < sample.parameters.size(); ++i) {
    text += fmt::format("{}{}={}", i == 0 ? "" : " ", set.parameter_names[i], sample.parameters[i]);
  }
  return text;
}

std::unique_ptr<Candidates> measured_candidates(const measured::SampleSet& set,
                                                const SetKernel& kernel) {
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

std::unique_ptr<Candidates> tiles_of_program(const TuneArguments& asked,
                                             const hwdesc::Device& device) {
  auto found = std::make_unique<Candidates>();
  const ir::LoadOptions load = load_options(asked.load);
  found->built.emplace(ir::program_for(ir::load_module(asked.program, load),
                                       analytical::layout_rules(device), load));
  const ir::Kernel& kernel = find_kernel(found->built->program, asked.kernel, asked.program);
  found->kernel = kernel.name();
  for (analytical::TileConfig& tile : offered_tiles(asked, kernel, device)) {
    found->tiles.push_back(std::move(tile));
    found->queries.push_back({kernel, &found->tiles.back()});
    found->names.push_back(analytical::to_string(found->tiles.back()));
  }
  return found;
}

// CSV of trials: trial, index, tile, predicted_ns, measured_ns (empty: it failed). Each trial is
// written as soon as it is measured, and an incomplete last line is dropped on reading, so a search
// can resume after any interruption. Not thread-safe.
class TrialFile {
 public:
  // `file`: if it exists, its trials are known; empty: nothing is stored. `tiles`: one text per
  // candidate. Throws Error for a file with other tiles or another format.
  TrialFile(const std::string& file, const std::vector<std::string>& tiles)
      : file_(file, {"trial", "index", "tile", "predicted_ns", "measured_ns"}), tiles_(tiles) {
    const measured::CsvTable& table = file_.known();
    for (const measured::CsvRow& row : table.rows) {
      const auto index = static_cast<std::size_t>(measured::integer_cell(table, row, "index", 0));
      if (index >= tiles_.size() || tiles_[index] != table.cell(row, "tile")) {
        throw Error("{}: candidate {} is not '{}'; the trials are of another search",
                    table.where(row, "tile"), index, table.cell(row, "tile"));
      }
      known_.push_back({index, measured::time_ns_cell(table, row, "predicted_ns"),
                        measured::time_ns_cell(table, row, "measured_ns")});
    }
    trials_ = known_.size();
  }

  [[nodiscard]] const std::vector<search::TuneTrial>& known() const { return known_; }
  void add(const search::TuneTrial& trial) {
    ++trials_;
    file_.add({fmt::format("{}", trials_), fmt::format("{}", trial.candidate),
               tiles_[trial.candidate], measured::time_ns_text(trial.predicted),
               measured::time_ns_text(trial.measured)});
  }

 private:
  measured::GrowingCsv file_;
  const std::vector<std::string>& tiles_;
  std::vector<search::TuneTrial> known_;
  std::size_t trials_ = 0;
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
    throw Error("{}: no kernel has more than {} tiles measured", arguments.set, fewest);
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
    tell("{}: going on after {} trials", arguments.file, file.known().size());
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
        tell("failed: {}: {}", candidates.names[trial.candidate], answer.failure);
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
    candidates = tiles_of_program(arguments, device);
  } else {
    set = read_tuning_set(arguments.set, device, arguments.jobs);
    candidates = measured_candidates(set, kernel_of(set, arguments.set, arguments.kernel));
  }
  search(arguments, *candidates, space_of(*candidates, device, model), device, model.name);
}

void add_search_options(CLI::App& verb, TuneArguments& arguments) {
  constexpr std::size_t kMost = 1'000'000;
  add_number(verb, "--trials", arguments.trials, 1, kMost, "tiles to measure at most");
  add_number(verb, "--batch", arguments.batch, 1, kMost,
             "tiles measured before it learns again; at least 5 at first");
  verb.add_option("--strategy", arguments.strategy,
                  "what chooses the tiles; default hybrid, of --compare all")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(search::kStrategies),
                                                     std::end(search::kStrategies))));
  verb.add_option("--seed", arguments.seed, "of what is drawn")->capture_default_str();
  add_output_file(verb, "-o,--output", arguments.file,
                  "CSV of the trials, written as they are measured; resumed where it exists");
  add_text(verb, "--timeout", arguments.timeout, "TIME", "of one command");
  add_number(verb, "--most-tiles", arguments.most_tiles, 1, kMost,
             "tiles of the program's kernel at most");
  verb.add_flag("--compare", arguments.compare,
                "run every strategy on the set; without --kernel on all its kernels");
  add_number(verb, "--seeds", arguments.seeds, 1, kMost, "how many seeds --compare runs");
  add_number(verb, "--most-kernels", arguments.most_kernels, 0, kMost,
             "--compare draws so many of the set's kernels, always the same ones; 0: all");
  add_value(verb, "--budgets", arguments.budgets, "N", "trials that --compare shows; default 10,50")
      ->delimiter(',')
      ->check(CLI::Range(std::size_t{1}, kMost));
  add_format_option(verb, arguments.report.format, {"table", "json"});
}

}  // namespace

void add_tiles(CLI::App& app) {
  auto arguments = std::make_shared<TilesArguments>();
  CLI::App& verb = *app.add_subcommand("tiles", "a CSV of tiles of one kernel, with their times");
  add_required(verb, "program", arguments->file, "FILE", "file of the kernel's program");
  auto* table = add_value(verb, "table", arguments->table, "CSV",
                          "tiles to answer; without: the fastest that are listed");
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
      R"(Read columns: kernel_bounds, output_bounds, input_bounds, numbers separated by spaces:
physical, most major dimension first; the two minor ones count native tiles. On GPUs also
stages (buffers of each operand) and warps of a block; or threads along each dimension of the
output, vector (elements that a load of a thread brings) and direct (1: operands are read
through the cache, not copied). With a column file, only the rows of this file are answered.
Other columns (runtime_ns, compute_time_ns ...) are kept, not read, and named in a note.
Added columns: estimate_ns, bound, utilisation (0 to 1), reason (why it cannot run), last
energy_uJ where the device describes energy; of a
hybrid also analytical_ns, factor, verdict (in, edge, out), low_ns and high_ns (90 %); where a
model of ranks chooses also rank (1 is fastest).)");
  verb.callback([arguments] { run(*arguments); });
}

void add_tune_tiles(CLI::App& tune) {
  auto arguments = std::make_shared<TuneArguments>();
  CLI::App& verb = *tune.add_subcommand("tiles", "the fastest tile of a kernel, in few trials");
  auto* program = add_value(verb, "program", arguments->program, "FILE",
                            "file of the kernel's program; with --measure");
  add_kernel_option(verb, arguments->kernel);
  add_value(verb, "--measure", arguments->command, "COMMAND",
            "shell command that measures a tile; {tile} and {index} are replaced");
  add_value(verb, "--from", arguments->set, "SET",
            "measurement set that holds the tiles' times, instead of measuring");
  add_device_options(verb, arguments->device, Devices::kOne);
  add_model_option(verb, arguments->model);
  add_search_options(verb, *arguments);
  auto* among =
      add_value(verb, "--among", arguments->among, "CSV",
                "CSV of the tiles to search, as of tilecast tiles; without: those that are listed")
          ->needs(program);
  add_listing_option(verb, arguments->listing)->excludes(among);
  add_load_options(verb, arguments->load);
  add_jobs_option(verb, arguments->jobs);
  verb.footer(
      R"(The command prints the time on its last line that is one: `12.3 us`, or seconds. {tile} is
as in `out=2x26x4x2 kernel=3x3x24x1`, one word for the shell. A command that fails or takes
too long is counted and not run again. Sets with parameters (p_*) are searched by them.
Kernels of a set that have one name are NAME#1, NAME#2 ...
Strategies: grid, random, model (by --model alone), xgboost (trees alone), hybrid
(the model's best, spread out; then trees that were pretrained on the model's times of all
tiles and continue on the measured ones, with a Gaussian process).)");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace tilecast::sim::cli
