#include "sim/views/fusion_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/views/program_tuning.h"
#include "sim/views/rows.h"
#include "sim/views/text_table.h"

namespace tilecast::sim::views {
namespace {

using Json = nlohmann::ordered_json;

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
  TextTable table({{"rank", Align::kRight},
                   {"predicted us", Align::kRight},
                   {"kernels", Align::kRight},
                   {"measured us", Align::kRight},
                   {"", Align::kLeft, 80}});
  for (std::size_t i = 0; i < std::min(order.size(), kShown); ++i) {
    const search::TriedFusion& one = *order[i];
    table.add({one.rank == 0 ? "rules" : fmt::format("{}", one.rank),
               microseconds(one.predicted.seconds), fmt::format("{}", one.predicted.kernels),
               one.measured.seconds ? microseconds(*one.measured.seconds) : "-",
               one.measured.failure});
  }
  std::string text = table.render();
  if (order.size() > kShown) text += fmt::format("... {} more\n", order.size() - kShown);
  return text;
}

std::string hardware_text(const search::TunedFusion& tuned) {
  std::string text =
      fmt::format("hardware  {} programs in {:.1f} s, {} of them failed{}\n", tuned.tried.size(),
                  tuned.spent_s, failures(tuned), tuned.stopped ? "; interrupted" : "");
  text += tuned.chosen_rank == 0
              ? "kept      the rules: nothing ran faster\n"
              : fmt::format(
                    "chosen    rank {}: {} us against {} us by the rules, side by side: "
                    "{:.3f} x as fast\n",
                    tuned.chosen_rank, microseconds(tuned.chosen_s), microseconds(tuned.by_rules_s),
                    tuned.speedup());
  return text + "\n" + tried_table(tuned);
}

}  // namespace

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
  text += fmt::format("rules     {} us  {} kernels\n", microseconds(search.by_rules.seconds),
                      search.by_rules.kernels);
  text += fmt::format("best      {} us  {} kernels  {}\n", microseconds(best.seconds), best.kernels,
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
  Json json = {{"schema", "tilecast.tune_fusion/1"},
               {"program", tuning.program},
               {"file", tuning.file},
               {"device", tuning.device},
               {"model", tuning.model},
               {"strategy", tuning.strategy},
               {"search_on", tuning.asked_of},
               {"start", tuning.start},
               {"seed", tuning.seed},
               {"runs", tuning.runs},
               {"decisions", tuning.decisions},
               {"costs", search.costs},
               {"kernels_asked", tuning.asked},
               {"rules", plan(search.by_rules)},
               {"best", plan(search.best.front().cost)},
               {"saved_share", tuning.gain.share()},
               {"saved_s_90", nullptr},
               {"accepted", tuning.gain.accepted()},
               {"hardware", nullptr}};
  if (tuning.gain.saved_s)
    json["saved_s_90"] = {tuning.gain.saved_s->low, tuning.gain.saved_s->high};
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
