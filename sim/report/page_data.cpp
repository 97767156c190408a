// The data of the page: results in columns, as its script (sim/report/page/data.js) reads them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/report/difference.h"
#include "sim/report/page.h"

namespace tilecast::sim::report {
namespace {

using Json = nlohmann::ordered_json;

// As many digits as anybody reads off a page; a third of the bytes.
Json short_number(double value) {
  if (value == 0) return 0;
  const double rounded = std::strtod(fmt::format("{:.7g}", value).c_str(), nullptr);
  constexpr double kWhole = 1e7;
  if (std::abs(rounded) < kWhole && rounded == std::floor(rounded)) {
    return static_cast<std::int64_t>(rounded);
  }
  return rounded;
}
Json short_number(const std::optional<double>& value) {
  return value ? short_number(*value) : Json(nullptr);
}

template <class Items, class Get>
Json number_column(const Items& items, const Get& get) {
  Json out = Json::array();
  for (const auto& item : items) out.push_back(short_number(get(item)));
  return out;
}

// Words that repeat, once each.
template <class Items, class Get>
Json word_column(const Items& items, const Get& get) {
  Json words = Json::array(), at = Json::array();
  std::map<std::string, std::size_t> known;
  for (const auto& item : items) {
    const auto [found, is_new] = known.emplace(get(item), known.size());
    if (is_new) words.push_back(found->first);
    at.push_back(found->second);
  }
  return {{"words", std::move(words)}, {"at", std::move(at)}};
}

Json interval_json(const std::optional<TimeInterval>& interval) {
  if (!interval) return nullptr;
  return {short_number(interval->low_s), short_number(interval->high_s)};
}

template <class Items, class Get>
Json interval_columns(const Items& items, const Get& get) {
  Json out = Json::array();
  bool any = false;
  for (const auto& item : items) {
    const std::optional<TimeInterval> interval = get(item);
    any = any || interval.has_value();
    out.push_back(interval_json(interval));
  }
  return any ? out : Json(nullptr);
}

Json kernels_json(const std::vector<KernelResult>& kernels) {
  using K = KernelResult;
  Json out = {
      {"name", word_column(kernels, [](const K& k) { return k.name; })},
      {"opcode", word_column(kernels, [](const K& k) { return k.opcode; })},
      {"class", word_column(kernels, [](const K& k) { return k.op_class; })},
      {"computation", word_column(kernels, [](const K& k) { return k.computation; })},
      {"lane", word_column(kernels, [](const K& k) { return k.lane; })},
      {"bound", word_column(kernels, [](const K& k) { return k.skipped ? "skipped" : k.bound; })},
      {"next", word_column(kernels, [](const K& k) { return k.next_bound; })},
      {"tile", word_column(kernels, [](const K& k) { return k.tile; })},
      {"flags", word_column(kernels, [](const K& k) { return k.flags; })},
      {"launches", number_column(kernels, [](const K& k) { return k.launches; })},
      {"time", number_column(kernels, [](const K& k) { return k.time_s; })},
      {"total", number_column(kernels, [](const K& k) { return k.total_s; })},
      {"start", number_column(kernels, [](const K& k) { return k.start_s; })},
      {"end", number_column(kernels, [](const K& k) { return k.end_s; })},
      {"nextTime", number_column(kernels, [](const K& k) { return k.next_time_s; })},
      {"light", number_column(kernels, [](const K& k) { return k.light_s; })},
      {"flops", number_column(kernels, [](const K& k) { return k.flops; })},
      {"read", number_column(kernels, [](const K& k) { return k.read_bytes; })},
      {"write", number_column(kernels, [](const K& k) { return k.write_bytes; })},
      {"interval", interval_columns(kernels, [](const K& k) { return k.interval; })},
      {"weight", nullptr},
      {"busy", Json::object()}};
  if (std::ranges::any_of(kernels, [](const K& k) { return k.weight.has_value(); })) {
    out["weight"] = number_column(kernels, [](const K& k) { return k.weight; });
  }
  for (std::size_t i = 0; i < analytical::kBoundCount; ++i) {
    const bool any = std::ranges::any_of(kernels, [i](const K& k) { return k.bounds_s[i] > 0; });
    if (!any) continue;
    out["busy"][std::string(analytical::name(static_cast<analytical::Bound>(i)))] =
        number_column(kernels, [i](const K& k) { return k.bounds_s[i]; });
  }
  return out;
}

Json simulation_json(const SimulationResult& run) {
  Json out = {{"kind", "simulation"},
              {"label", run.label},
              {"source", run.source},
              {"file", run.file},
              {"program", run.program},
              {"device", run.device},
              {"model", run.model.empty() ? "analytical" : run.model},
              {"version", run.version},
              {"written", run.written},
              {"time", short_number(run.time_s)},
              {"timeline", short_number(run.timeline_s)},
              {"dispatch", short_number(run.host_dispatch_s)},
              {"interval", interval_json(run.interval)},
              {"energy", short_number(run.energy_j)},
              {"peakMemory", short_number(run.peak_bytes)},
              {"capacity", short_number(run.capacity_bytes)},
              {"peaks", Json::array()},
              {"memory", Json::array()},
              {"kernels", kernels_json(run.kernels)},
              {"notes", run.notes}};
  for (const PeakResult& peak : run.peaks) {
    out["peaks"].push_back(
        {{"unit", peak.unit}, {"dtype", peak.dtype}, {"rate", short_number(peak.flops_per_s)}});
  }
  for (const MemoryResult& level : run.memory) {
    out["memory"].push_back({{"name", level.name}, {"rate", short_number(level.read_bytes_per_s)}});
  }
  return out;
}

Json shares_json(const std::vector<ChangeShare>& shares) {
  Json out = Json::array();
  for (const ChangeShare& share : shares) {
    out.push_back({{"name", share.name},
                   {"before", short_number(share.before_s)},
                   {"after", short_number(share.after_s)},
                   {"change", short_number(share.change_s)}});
  }
  return out;
}

Json index_or_null(const std::optional<std::size_t>& index) {
  return index ? Json(*index) : Json(nullptr);
}

Json difference_json(const Difference& d, std::size_t before, std::size_t after,
                     const std::string& label) {
  Json from = Json::array(), to = Json::array();
  for (const KernelPair& pair : d.pairs) {
    from.push_back(index_or_null(pair.before));
    to.push_back(index_or_null(pair.after));
  }
  using P = KernelPair;
  return {{"kind", "difference"},
          {"label", label},
          {"before", before},
          {"after", after},
          {"beforeTime", short_number(d.before_s)},
          {"afterTime", short_number(d.after_s)},
          {"resources", shares_json(d.resources)},
          {"classes", shares_json(d.classes)},
          {"pairs",
           {{"before", std::move(from)},
            {"after", std::move(to)},
            {"by", word_column(d.pairs, [](const P& p) { return std::string(name(p.by)); })},
            {"resource", word_column(d.pairs, [](const P& p) { return p.resource; })},
            {"change", number_column(d.pairs, [](const P& p) { return p.change_s; })},
            {"launches", number_column(d.pairs, [](const P& p) { return p.launches_s; })}}}};
}

Json paired_json(const PairedResult& result) {
  using R = PairedRow;
  Json out = {
      {"kind", "paired"},
      {"label", std::filesystem::path(result.source).filename().string()},
      {"source", result.source},
      {"what", result.what},
      {"sides", Json::array()},
      {"group", word_column(result.rows, [](const R& r) { return r.group; })},
      {"name", word_column(result.rows, [](const R& r) { return r.name; })},
      {"class", word_column(result.rows, [](const R& r) { return r.op_class; })},
      {"tile", word_column(result.rows, [](const R& r) { return r.tile; })},
      {"split", word_column(result.rows, [](const R& r) { return r.split; })},
      {"launches", number_column(result.rows, [](const R& r) { return r.launches; })},
      {"overlaps", number_column(result.rows, [](const R& r) { return r.overlaps ? 1.0 : 0.0; })},
      {"notes", result.notes}};
  for (std::size_t side = 0; side < result.sides.size(); ++side) {
    const PairedSide& of = result.sides[side];
    const auto time = [side](const R& r) -> std::optional<double> {
      return r.times[side] ? std::optional(r.times[side]->time_s) : std::nullopt;
    };
    const auto interval = [side](const R& r) {
      return r.times[side] ? r.times[side]->interval : std::nullopt;
    };
    const auto bound = [side](const R& r) { return r.times[side] ? r.times[side]->bound : ""; };
    out["sides"].push_back({{"name", of.name},
                            {"kind", of.kind},
                            {"device", of.device},
                            {"against", of.against},
                            {"time", number_column(result.rows, time)},
                            {"bound", word_column(result.rows, bound)},
                            {"interval", interval_columns(result.rows, interval)}});
  }
  return out;
}

Json evaluation_view(const EvaluationResult& result) {
  using S = ScoreResult;
  return {{"kind", "scores"},
          {"label", std::filesystem::path(result.source).filename().string()},
          {"source", result.source},
          {"sets", result.sets},
          {"by", word_column(result.scores, [](const S& s) { return s.by; })},
          {"stratum", word_column(result.scores, [](const S& s) { return s.stratum; })},
          {"model", word_column(result.scores, [](const S& s) { return s.model; })},
          {"metric", word_column(result.scores, [](const S& s) { return s.metric; })},
          {"value", number_column(result.scores, [](const S& s) { return s.value; })},
          {"low", number_column(result.scores, [](const S& s) { return s.low; })},
          {"high", number_column(result.scores, [](const S& s) { return s.high; })},
          {"rows", number_column(result.scores, [](const S& s) { return s.rows; })},
          {"notes", result.notes}};
}

Json tables_json(const TablesResult& result) {
  Json out = {{"kind", "tables"},
              {"label", std::filesystem::path(result.source).filename().string()},
              {"source", result.source},
              {"schema", result.schema},
              {"facts", result.facts},
              {"tables", Json::array()}};
  for (const RecordTable& table : result.tables) {
    Json rows = Json::array();
    for (const auto& record : table.rows) {
      Json row = Json::array();
      for (const auto& cell : record) {
        if (const auto* number = std::get_if<double>(&cell)) {
          row.push_back(short_number(*number));
        } else if (const auto* text = std::get_if<std::string>(&cell)) {
          row.push_back(*text);
        } else {
          row.push_back(nullptr);
        }
      }
      rows.push_back(std::move(row));
    }
    out["tables"].push_back(
        {{"title", table.title}, {"columns", table.columns}, {"rows", std::move(rows)}});
  }
  return out;
}

std::vector<SimulationResult> all_runs(std::span<const Result> results) {
  std::vector<SimulationResult> runs;
  for (const Result& result : results) {
    const auto* several = std::get_if<SimulationResults>(&result);
    if (several != nullptr) runs.insert(runs.end(), several->begin(), several->end());
  }
  return runs;
}

// Runs are called by what tells them apart: program, device, model, file of the result.
void label_runs(std::vector<SimulationResult>& runs) {
  const auto differ = [&](const std::string SimulationResult::*field) {
    return std::ranges::any_of(
        runs, [&](const SimulationResult& run) { return run.*field != runs.front().*field; });
  };
  const std::string SimulationResult::*const fields[] = {
      &SimulationResult::program, &SimulationResult::device, &SimulationResult::model};
  for (SimulationResult& run : runs) {
    for (const auto field : fields) {
      const std::string text =
          field == fields[2] && (run.*field).empty() ? "analytical" : run.*field;
      if (differ(field)) run.label += (run.label.empty() ? "" : ", ") + text;
    }
    if (run.label.empty()) run.label = run.program;
  }
  std::map<std::string, std::size_t> count;
  for (const SimulationResult& run : runs) ++count[run.label];
  std::map<std::string, std::size_t> seen;
  for (SimulationResult& run : runs) {
    if (count[run.label] == 1) continue;
    const std::string label = run.label;
    run.label += ", " + std::filesystem::path(run.source).filename().string();
    if (++seen[run.label] > 1) run.label += fmt::format(" #{}", seen[run.label]);
  }
}

// Two runs: the second against the first. More: each against the first of its program.
std::vector<std::pair<std::size_t, std::size_t>> compared_runs(
    const std::vector<SimulationResult>& runs) {
  if (runs.size() == 2) return {{0, 1}};
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t after = 1; after < runs.size(); ++after) {
    for (std::size_t before = 0; before < after; ++before) {
      if (runs[before].program != runs[after].program) continue;
      pairs.emplace_back(before, after);
      break;
    }
  }
  return pairs;
}

}  // namespace

std::string page_data(std::span<const Result> results, const PageOptions& options) {
  std::vector<SimulationResult> runs = all_runs(results);
  label_runs(runs);
  Json views = Json::array();
  for (const SimulationResult& run : runs) views.push_back(simulation_json(run));
  for (const auto& [before, after] : compared_runs(runs)) {
    views.push_back(difference_json(difference(runs[before], runs[after]), before, after,
                                    runs[before].label + " \u2192 " + runs[after].label));
  }
  for (const Result& result : results) {
    if (const auto* paired = std::get_if<PairedResult>(&result)) {
      views.push_back(paired_json(*paired));
    } else if (const auto* evaluation = std::get_if<EvaluationResult>(&result)) {
      views.push_back(evaluation_view(*evaluation));
    } else if (const auto* tables = std::get_if<TablesResult>(&result)) {
      views.push_back(tables_json(*tables));
    }
  }
  const Json document = {{"title", options.title}, {"views", std::move(views)}};
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tilecast::sim::report
