#include "sim/views/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/views/rows.h"

namespace tilecast::sim::views {
namespace {

using Json = nlohmann::ordered_json;

std::string_view name(search::Strategy strategy) {
  return search::kStrategies[static_cast<std::size_t>(strategy)];
}

std::size_t failures(const search::TuneResult& result) {
  return static_cast<std::size_t>(
      std::ranges::count_if(result.trials, [](const auto& trial) { return !trial.measured; }));
}

std::string cell(const std::optional<double>& time) {
  return time ? duration(*time) : "-";
}

using search::HardwareTime;
using search::TunedKernel;

constexpr std::size_t kKernelsShown = 20;

// "saves 3.10 % [1.20, 5.00] (90 %)", or the reason why not.
std::string gain_text(const ProgramGain& gain) {
  if (gain.after_s >= gain.before_s) return "nothing faster was found";
  const double percent = 100 / gain.before_s;
  std::string text = fmt::format("saves {:.2f} %", 100 * gain.share());
  if (!gain.saved_s) return text + "; the model states no interval";
  return text + fmt::format(" [{:.2f}, {:.2f}] (90 %){}", percent * gain.saved_s->low,
                            percent * gain.saved_s->high,
                            gain.accepted() ? "" : "; not accepted: that may be no gain");
}

// 90 %; null: the model states no interval.
Json saved_json(const ProgramGain& gain) {
  return gain.saved_s ? Json{gain.saved_s->low, gain.saved_s->high} : Json(nullptr);
}

struct Choice {
  std::string name, meaning;
  std::optional<HardwareTime> search::TunedTiles::*time;
};

// The tile choices that were run, with the paper's names: learned 1, learned 10, exhaustive.
std::vector<Choice> choices_of(const ProgramTuning& tuning) {
  return {{"default", "what physics chooses", &search::TunedTiles::by_default},
          {"first", "the first by the ranks, without hardware", &search::TunedTiles::by_first},
          {"top", fmt::format("the fastest of the first {} that ran", tuning.top),
           &search::TunedTiles::by_top},
          {"best", "the fastest of all that were listed", &search::TunedTiles::by_all}};
}

const HardwareTime* time_of(const TunedKernel& kernel, std::size_t rank) {
  const auto found = std::ranges::find(kernel.tried, rank, &search::TriedTile::rank);
  return found == kernel.tried.end() ? nullptr : &found->measured;
}

std::string measured_cell(const HardwareTime* time) {
  return time != nullptr && time->seconds ? duration(*time->seconds) : "-";
}

std::string kernel_table(const ProgramTuning& tuning) {
  std::vector<Column> columns = {"kernel", ">launches", ">tiles", ">default", "first tile"};
  if (tuning.tuned) {
    for (const char* title : {"ran", "default measured", "first", "fastest", "rank"}) {
      columns.emplace_back(title);
    }
  }
  TextTable table(std::move(columns));
  for (std::size_t i = 0; i < std::min(tuning.kernels.size(), kKernelsShown); ++i) {
    const search::KernelTiles& kernel = tuning.kernels[i];
    std::vector<std::string> cells = {
        kernel.name, fmt::format("{:g}", kernel.launches), fmt::format("{}", kernel.tiles.size()),
        duration(kernel.default_s / kernel.launches), to_string(kernel.tiles.front().tile)};
    if (tuning.tuned) {
      const bool ran = i < tuning.tuned->kernels.size() && !tuning.tuned->kernels[i].tried.empty();
      const TunedKernel tuned = ran ? tuning.tuned->kernels[i] : TunedKernel{};
      const std::size_t best = tuning.exhaustive ? tuned.best_rank : tuned.top_rank;
      cells.insert(cells.end(),
                   {fmt::format("{}", tuned.tried.size()), measured_cell(time_of(tuned, 0)),
                    measured_cell(time_of(tuned, 1)), measured_cell(time_of(tuned, best)),
                    !ran        ? "-"
                    : best == 0 ? "default"
                                : fmt::format("{}", best)});
    }
    table.add(std::move(cells));
  }
  std::string text = table.render();
  if (tuning.kernels.size() > kKernelsShown) {
    text += fmt::format("... {} more\n", tuning.kernels.size() - kKernelsShown);
  }
  return text;
}

std::string hardware_text(const ProgramTuning& tuning) {
  const search::TunedTiles& tuned = *tuning.tuned;
  std::string text = fmt::format(
      "hardware  {} tiles in {:.1f} s{}{}\n", tuned.run, tuned.spent_s,
      tuned.stopped ? "; interrupted" : "",
      tuned.complete || tuned.stopped ? "" : "; the budget ended before the last kernel");
  if (!tuned.by_default) return text;
  const double default_s = tuned.by_default->seconds.value();
  for (const Choice& choice : choices_of(tuning)) {
    const std::optional<HardwareTime>& time = tuned.*choice.time;
    if (!time) continue;
    text += time->seconds
                ? fmt::format("  {:<8}{:>10}  {:.3f} x  {}\n", choice.name,
                              duration(*time->seconds), default_s / *time->seconds, choice.meaning)
                : fmt::format("  {:<8}failed: {}\n", choice.name, time->failure);
  }
  return text;
}

Json time_json(const HardwareTime& time) {
  Json json = {{"seconds", nullptr}, {"failure", time.failure}};
  if (time.seconds) json["seconds"] = *time.seconds;
  return json;
}

Json kernel_json(const search::KernelTiles& kernel, const TunedKernel* tuned) {
  Json json;
  TC_ADD_MEMBERS(json, kernel, name, hash, launches);
  json.update({{"tiles", kernel.tiles.size()},
               {"tiles_without_limit", kernel.listed_of},
               {"predicted_default_s", kernel.default_s / kernel.launches},
               {"default_tile", to_string(kernel.by_default)},
               {"first_tile", to_string(kernel.tiles.front().tile)}});
  if (tuned == nullptr || tuned->tried.empty()) return json;
  Json tried = Json::array();
  for (const search::TriedTile& one : tuned->tried) {
    Json row = time_json(one.measured);
    row["rank"] = one.rank;
    row["tile"] = to_string(one.rank == 0 ? kernel.by_default : kernel.tiles[one.rank - 1].tile);
    tried.push_back(std::move(row));
  }
  TC_ADD_MEMBERS(json, *tuned, top_rank, best_rank);
  json["tried"] = std::move(tried);
  return json;
}

constexpr std::size_t kShown = 10;

std::size_t failures(const search::TunedFusion& tuned) {
  return static_cast<std::size_t>(std::ranges::count_if(
      tuned.tried, [](const search::TriedFusion& one) { return !one.measured.seconds; }));
}

std::string tried_table(const search::TunedFusion& tuned) {
  std::vector<const search::TriedFusion*> order;
  for (const search::TriedFusion& one : tuned.tried) order.push_back(&one);
  std::ranges::stable_sort(order, {}, [](const search::TriedFusion* one) {
    return one->measured.seconds.value_or(std::numeric_limits<double>::infinity());
  });
  TextTable table({">rank", ">predicted", ">kernels", ">measured", {"", 80}});
  for (std::size_t i = 0; i < std::min(order.size(), kShown); ++i) {
    const search::TriedFusion& one = *order[i];
    table.add({one.rank == 0 ? "rules" : fmt::format("{}", one.rank),
               duration(one.predicted.seconds), fmt::format("{}", one.predicted.kernels),
               one.measured.seconds ? duration(*one.measured.seconds) : "-", one.measured.failure});
  }
  std::string text = table.render();
  if (order.size() > kShown) text += fmt::format("... {} more\n", order.size() - kShown);
  return text;
}

std::string hardware_text(const search::TunedFusion& tuned) {
  std::string text =
      fmt::format("hardware  {} programs in {:.1f} s, {} of them failed{}\n", tuned.tried.size(),
                  tuned.spent_s, failures(tuned), tuned.stopped ? "; interrupted" : "");
  text += tuned.chosen_rank == 0 ? "kept      the rules: nothing ran faster\n"
                                 : fmt::format(
                                       "chosen    rank {}: {} against {} by the rules, side "
                                       "by side: {:.3f} x as fast\n",
                                       tuned.chosen_rank, duration(tuned.chosen_s),
                                       duration(tuned.by_rules_s), tuned.speedup());
  return text + "\n" + tried_table(tuned);
}

}  // namespace

std::string tuning_text(const TuningReport& report) {
  constexpr std::size_t kShown = 5;
  std::vector<const search::TuneTrial*> order;
  for (const search::TuneTrial& trial : report.result.trials) {
    if (trial.measured) order.push_back(&trial);
  }
  std::ranges::stable_sort(order, {}, [](const auto* trial) { return *trial->measured; });
  TextTable table({">index", {"tile", 100}, ">measured", ">predicted", ">trial"});
  for (std::size_t i = 0; i < std::min(order.size(), kShown); ++i) {
    const auto& trial = *order[i];
    table.add({fmt::format("{}", trial.candidate), report.tiles[trial.candidate],
               cell(trial.measured), cell(trial.predicted),
               fmt::format("{}", order[i] - report.result.trials.data() + 1)});
  }
  std::string text =
      fmt::format("kernel {}: {} tiles on {}, {} of them answered by {}; strategy {}\n{}",
                  report.kernel, report.candidates, report.device, report.answered, report.model,
                  report.strategy, table.render());
  const std::size_t failed = failures(report.result);
  const std::string trials = failed == 0 ? fmt::format("{} trials", report.result.trials.size())
                                         : fmt::format("{} trials, {} of them failed",
                                                       report.result.trials.size(), failed);
  if (order.empty()) return text + fmt::format("best: none; {}\n", trials);
  const search::TuneTrial& best = *order.front();
  return text + fmt::format("best: {}; measured {}, predicted {}, {}\n",
                            report.tiles[best.candidate], cell(best.measured), cell(best.predicted),
                            trials);
}

std::string tuning_json(const TuningReport& report) {
  Json json = {{"schema", "tilecast.tune/1"}};
  TC_ADD_MEMBERS(json, report, kernel, device, model, strategy, candidates, answered);
  json.update({{"failed", failures(report.result)}, {"best", nullptr}, {"trials", Json::array()}});
  for (const search::TuneTrial& trial : report.result.trials) {
    json["trials"].push_back({{"index", trial.candidate},
                              {"tile", report.tiles[trial.candidate]},
                              {"predicted_s", json_number(trial.predicted)},
                              {"measured_s", json_number(trial.measured)}});
  }
  if (report.result.best) json["best"] = json["trials"][*report.result.best];
  return json_text(json, 2);
}

std::string comparison_text(const TuneComparison& comparison) {
  std::vector<Column> columns = {"strategy"};
  for (const search::BestFound& at : comparison.strategies.front().at) {
    columns.push_back(fmt::format(">{} trials %", at.trials));
    columns.push_back(">95 % interval");
    columns.push_back(">least");
  }
  TextTable table(columns);
  for (const search::ComparedStrategy& row : comparison.strategies) {
    std::vector<std::string> cells = {std::string(name(row.strategy))};
    for (const search::BestFound& at : row.at) {
      cells.push_back(percent(at.mean));
      cells.push_back(fmt::format("[{}, {}]", percent(at.interval.low), percent(at.interval.high)));
      cells.push_back(percent(at.least));
    }
    table.add(std::move(cells));
  }
  const bool one = comparison.kernels == 1;
  return fmt::format(
      "{}: {} tiles measured on {}, {} of them answered by {}\n"
      "{}within 5 % of the fastest: {}\n"
      "fastest of all over fastest found, mean of {}{} seeds, batches of {}:\n{}",
      one ? "kernel " + comparison.kernel : fmt::format("{} kernels", comparison.kernels),
      comparison.candidates, comparison.device, comparison.answered, comparison.model,
      one ? fmt::format("fastest {}; ", duration(comparison.fastest_s)) : "",
      comparison.within_5_percent, one ? "" : fmt::format("{} kernels and ", comparison.kernels),
      comparison.seeds, comparison.batch, table.render());
}

std::string comparison_json(const TuneComparison& comparison) {
  Json json = {{"schema", "tilecast.tune_compare/1"}};
  TC_ADD_MEMBERS(json, comparison, kernel, kernels, device, model, candidates, answered, fastest_s,
                 within_5_percent, seeds, batch);
  if (comparison.kernels != 1) json["kernel"] = json["fastest_s"] = nullptr;
  for (const search::ComparedStrategy& row : comparison.strategies) {
    for (const search::BestFound& at : row.at) {
      json["rows"].push_back({{"strategy", name(row.strategy)},
                              {"trials", at.trials},
                              {"best_in_top", at.mean},
                              {"interval_95", {at.interval.low, at.interval.high}},
                              {"least", at.least}});
    }
  }
  return json_text(json, 2);
}

std::string program_tuning_text(const ProgramTuning& tuning) {
  std::string text = fmt::format("program   {}  ({}): {}, {} kernels with tiles\n", tuning.program,
                                 tuning.file, tuning.fusions, tuning.kernels.size());
  text += fmt::format("device    {}\nmodel     {}\nranks     {}, tiles: {}\n", tuning.device,
                      tuning.model, tuning.ranks, tuning.listing);
  text += fmt::format("default   {}\nfirst     {}  {}\n", duration(tuning.gain.before_s),
                      duration(tuning.gain.after_s), gain_text(tuning.gain));
  if (tuning.tuned) text += hardware_text(tuning);
  return text + "\n" + kernel_table(tuning);
}

std::string program_tuning_json(const ProgramTuning& tuning) {
  Json json = {{"schema", "tilecast.tune_program/1"}};
  TC_ADD_MEMBERS(json, tuning, program, file, device, model, ranks);
  json["tiles"] = tuning.listing;
  TC_ADD_MEMBERS(json, tuning, fusions, top);
  json.update({{"predicted_default_s", tuning.gain.before_s},
               {"predicted_first_s", tuning.gain.after_s},
               {"saved_s_90", saved_json(tuning.gain)},
               {"accepted", tuning.gain.accepted()},
               {"hardware", nullptr},
               {"kernels", Json::array()}});
  for (std::size_t i = 0; i < tuning.kernels.size(); ++i) {
    const bool ran = tuning.tuned && i < tuning.tuned->kernels.size();
    json["kernels"].push_back(
        kernel_json(tuning.kernels[i], ran ? &tuning.tuned->kernels[i] : nullptr));
  }
  if (!tuning.tuned) return json_text(json, 2);
  const search::TunedTiles& tuned = *tuning.tuned;
  json["hardware"] = {{"spent_s", tuned.spent_s},
                      {"tiles_run", tuned.run},
                      {"complete", tuned.complete},
                      {"interrupted", tuned.stopped}};
  for (const Choice& choice : choices_of(tuning)) {
    if (const auto& time = tuned.*choice.time) json["hardware"][choice.name] = time_json(*time);
  }
  return json_text(json, 2);
}

std::string fusion_tuning_text(const FusionTuning& tuning) {
  const search::FusionSearch& search = tuning.search;
  const search::PlanCost& best = search.best.front().cost;
  std::string text = fmt::format("program   {}  ({}): {} decisions\n", tuning.program, tuning.file,
                                 tuning.decisions);
  text += fmt::format("device    {}\nmodel     {}\n", tuning.device, tuning.model);
  text += fmt::format(
      "search    {} on {} from {}, seed {}{}: {} programs costed, {} kernels asked\n",
      tuning.strategy, tuning.asked_of, tuning.start == "rules" ? "the rules" : "a random start",
      tuning.seed, tuning.runs > 1 ? fmt::format(" to {}", tuning.seed + tuning.runs - 1) : "",
      search.costs, tuning.asked);
  text += fmt::format("rules     {}  {} kernels\n", duration(search.by_rules.seconds),
                      search.by_rules.kernels);
  text += fmt::format("best      {}  {} kernels  {}\n", duration(best.seconds), best.kernels,
                      gain_text(tuning.gain));
  if (tuning.tuned) text += hardware_text(*tuning.tuned);
  return text;
}

std::string fusion_tuning_json(const FusionTuning& tuning) {
  const search::FusionSearch& search = tuning.search;
  const auto plan = [](const search::PlanCost& cost) {
    return Json{{"predicted_s", cost.seconds},
                {"kernels", cost.kernels},
                {"plan", fmt::format("{:016x}{:016x}", cost.plan[0], cost.plan[1])}};
  };
  Json json = {{"schema", "tilecast.tune_fusion/1"}};
  TC_ADD_MEMBERS(json, tuning, program, file, device, model, strategy);
  json["search_on"] = tuning.asked_of;
  TC_ADD_MEMBERS(json, tuning, start, seed, runs, decisions);
  json.update({{"costs", search.costs},
               {"kernels_asked", tuning.asked},
               {"rules", plan(search.by_rules)},
               {"best", plan(search.best.front().cost)},
               {"saved_share", tuning.gain.share()},
               {"saved_s_90", saved_json(tuning.gain)},
               {"accepted", tuning.gain.accepted()},
               {"hardware", nullptr}});
  if (!tuning.tuned) return json_text(json, 2);
  const search::TunedFusion& tuned = *tuning.tuned;
  Json tried = Json::array();
  for (const search::TriedFusion& one : tuned.tried) {
    Json row = plan(one.predicted);
    row["rank"] = one.rank;
    row["measured_s"] = json_number(one.measured.seconds);
    row["failure"] = one.measured.failure;
    tried.push_back(std::move(row));
  }
  json["hardware"] = {{"spent_s", tuned.spent_s},         {"interrupted", tuned.stopped},
                      {"chosen_rank", tuned.chosen_rank}, {"rules_s", tuned.by_rules_s},
                      {"chosen_s", tuned.chosen_s},       {"speedup", tuned.speedup()},
                      {"tried", std::move(tried)}};
  return json_text(json, 2);
}

}  // namespace tilecast::sim::views
