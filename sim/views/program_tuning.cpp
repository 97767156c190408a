#include "sim/views/program_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/views/rows.h"
#include "sim/views/text_table.h"

namespace tilecast::sim::views {
namespace {

using Json = nlohmann::ordered_json;
using search::HardwareTime;
using search::TunedKernel;

constexpr std::size_t kKernelsShown = 20;

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
  return time != nullptr && time->seconds ? microseconds(*time->seconds) : "-";
}

std::string kernel_table(const ProgramTuning& tuning) {
  std::vector<Column> columns = {{"kernel", Align::kLeft},
                                 {"launches", Align::kRight},
                                 {"tiles", Align::kRight},
                                 {"default us", Align::kRight},
                                 {"first tile", Align::kLeft}};
  if (tuning.tuned) {
    for (const char* title : {"ran", "default us measured", "first us", "fastest us", "rank"}) {
      columns.push_back({title, Align::kRight});
    }
  }
  TextTable table(std::move(columns));
  for (std::size_t i = 0; i < std::min(tuning.kernels.size(), kKernelsShown); ++i) {
    const search::KernelTiles& kernel = tuning.kernels[i];
    std::vector<std::string> cells = {
        kernel.name, fmt::format("{:g}", kernel.launches), fmt::format("{}", kernel.tiles.size()),
        microseconds(kernel.default_s / kernel.launches), to_string(kernel.tiles.front().tile)};
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
    text += time->seconds ? fmt::format("  {:<8}{:>10} us  {:.3f} x  {}\n", choice.name,
                                        microseconds(*time->seconds), default_s / *time->seconds,
                                        choice.meaning)
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
  Json json = {{"name", kernel.name},
               {"hash", kernel.hash},
               {"launches", kernel.launches},
               {"tiles", kernel.tiles.size()},
               {"tiles_without_limit", kernel.listed_of},
               {"predicted_default_s", kernel.default_s / kernel.launches},
               {"default_tile", to_string(kernel.by_default)},
               {"first_tile", to_string(kernel.tiles.front().tile)}};
  if (tuned == nullptr || tuned->tried.empty()) return json;
  Json tried = Json::array();
  for (const search::TriedTile& one : tuned->tried) {
    Json row = time_json(one.measured);
    row["rank"] = one.rank;
    row["tile"] = to_string(one.rank == 0 ? kernel.by_default : kernel.tiles[one.rank - 1].tile);
    tried.push_back(std::move(row));
  }
  json["top_rank"] = tuned->top_rank;
  json["best_rank"] = tuned->best_rank;
  json["tried"] = std::move(tried);
  return json;
}

}  // namespace

std::string gain_text(const ProgramGain& gain) {
  if (gain.after_s >= gain.before_s) return "nothing faster was found";
  const double percent = 100 / gain.before_s;
  std::string text = fmt::format("saves {:.2f} %", 100 * gain.share());
  if (!gain.saved_s) return text + "; the model states no interval";
  return text + fmt::format(" [{:.2f}, {:.2f}] (90 %){}", percent * gain.saved_s->low,
                            percent * gain.saved_s->high,
                            gain.accepted() ? "" : "; not accepted: that may be no gain");
}

std::string program_tuning_text(const ProgramTuning& tuning) {
  std::string text = fmt::format("program   {}  ({}): {}, {} kernels with tiles\n", tuning.program,
                                 tuning.file, tuning.fusions, tuning.kernels.size());
  text += fmt::format("device    {}\nmodel     {}\nranks     {}, tiles: {}\n", tuning.device,
                      tuning.model, tuning.ranks, tuning.listing);
  text += fmt::format("default   {} us\nfirst     {} us  {}\n", microseconds(tuning.gain.before_s),
                      microseconds(tuning.gain.after_s), gain_text(tuning.gain));
  if (tuning.tuned) text += hardware_text(tuning);
  return text + "\n" + kernel_table(tuning);
}

std::string program_tuning_json(const ProgramTuning& tuning) {
  Json json = {{"schema", "tilecast.tune_program/1"},
               {"program", tuning.program},
               {"file", tuning.file},
               {"device", tuning.device},
               {"model", tuning.model},
               {"ranks", tuning.ranks},
               {"tiles", tuning.listing},
               {"fusions", tuning.fusions},
               {"top", tuning.top},
               {"predicted_default_s", tuning.gain.before_s},
               {"predicted_first_s", tuning.gain.after_s},
               {"saved_s_90", nullptr},
               {"accepted", tuning.gain.accepted()},
               {"hardware", nullptr},
               {"kernels", Json::array()}};
  if (tuning.gain.saved_s) {
    json["saved_s_90"] = {tuning.gain.saved_s->low, tuning.gain.saved_s->high};
  }
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

}  // namespace tilecast::sim::views
