#include "sim/views/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "base/error.h"
#include "sim/scopes.h"
#include "sim/version.h"
#include "sim/views/parts.h"
#include "sim/views/rows.h"

namespace tilecast::sim::views {
namespace {

constexpr std::size_t kPlainColumns = 12;        // of the kernel table
constexpr std::ptrdiff_t kCorrectionColumn = 6;  // after the shares of the time

// "fusion", "dot", ... with "*" for asynchronous kernels.
std::string kind(const SimulatedKernel& kernel) {
  return std::string(ir::name(kernel.opcode)) + (kernel.lane == Lane::kCompute ? "" : "*");
}

// The program's time by bound, summed over kernels.
analytical::BoundVector bound_shares(const Simulation& simulation) {
  analytical::BoundVector held{};
  for (const SimulatedKernel& kernel : simulation.kernels) {
    held[static_cast<std::size_t>(kernel.estimate->bound)] += kernel.total();
  }
  return held;
}

// Flags of all kernels with the number of kernels that have each, in order of first appearance.
std::vector<ir::Note> flag_counts(const Simulation& simulation) {
  std::vector<ir::Note> flags;
  std::unordered_map<std::string, std::size_t> index;
  for (const SimulatedKernel& kernel : simulation.kernels) {
    for (const std::string& flag : kernel.estimate->flags) {
      const auto [found, fresh] = index.try_emplace(flag, flags.size());
      if (fresh) flags.push_back({flag, 0});
      ++flags[found->second].count;
    }
  }
  return flags;
}

double share_of(Seconds part, Seconds whole) {
  return whole.value > 0 ? part / whole : 0;
}

std::string interval_cell(const Simulation& run) {
  if (!run.interval) return "";
  return fmt::format("[{}, {}]", duration(run.interval->low), duration(run.interval->high));
}

// Whether measurements move the time of some kernel.
bool is_corrected(const Simulation& run) {
  const auto shares = belief_shares(run);
  return shares && shares->most.kernels + shares->some.kernels > 0;
}

// The hybrid's part of the header: how much of the time is corrected.
std::string trust(const Simulation& run) {
  const auto shares = belief_shares(run);
  if (!shares) return "";
  if (!is_corrected(run)) {
    return "believed  no correction: physics alone, with the interval of measured kernels\n";
  }
  const auto part = [&](const BeliefShare& share) {
    return percent(share_of(share.time, run.time));
  };
  return fmt::format(
      "believed  k above {0}: {1} % of the time, up to {0}: {2} %, 0 (physics alone): "
      "{3} %\n",
      kHalfBelieved, part(shares->most), part(shares->some), part(shares->none));
}

// "tpu_v6e", of a slice with its cores: "tpu_v6e x 256".
std::string device_label(const Simulation& run) {
  return run.slice_devices ? fmt::format("{} x {:.0f}", run.device, *run.slice_devices)
                           : run.device;
}

// Kernels with a very uncertain time: no tile fits, their code is not in the program, or they stay
// below 1 % of every roof although neither launch nor latency explains it.
bool is_doubtful(const SimulatedKernel& kernel) {
  const analytical::Estimate& e = *kernel.estimate;
  const auto said = [&](std::string_view what) {
    return std::ranges::any_of(
        e.flags, [&](const std::string& flag) { return flag.find(what) != std::string::npos; });
  };
  constexpr double kLowest = 0.01;
  const bool waits = e.bound == analytical::Bound::kOverhead ||
                     e.bound == analytical::Bound::kLatency ||
                     e.bound == analytical::Bound::kNetwork;
  return said("no tile fits") || said("opaque") || (e.utilisation < kLowest && !waits);
}

// One line if such kernels take more than a hundredth of the time.
std::string doubts(const Simulation& run) {
  Seconds held;
  const SimulatedKernel* longest = nullptr;
  std::size_t number = 0;
  for (const SimulatedKernel& kernel : run.kernels) {
    if (kernel.skipped || !is_doubtful(kernel)) continue;
    ++number;
    held += kernel.total();
    if (longest == nullptr || kernel.total() > longest->total()) longest = &kernel;
  }
  constexpr double kWorthALine = 0.01;
  if (share_of(held, run.time) <= kWorthALine) return "";
  return fmt::format(
      "UNSURE    {} % of the time: {} kernels that fit no tile, are opaque or stay below 1 % of "
      "every roof; {} most\n",
      percent(share_of(held, run.time)), number, longest->name);
}

// "74.18 ms  (59.15 ms to 137.2 ms, 90 %; 667 kernels)", then what a run takes beside it.
std::string time_lines(const Simulation& run) {
  const bool waits_for_host = run.host_launches >= run.time && run.time > run.device_time;
  std::string out =
      fmt::format("time      {}  (", duration(waits_for_host ? run.device_time : run.time));
  if (run.interval) {
    out +=
        fmt::format("{} to {}, 90 %; ", duration(run.interval->low), duration(run.interval->high));
  }
  out += fmt::format("sum over {} kernels x launches)\n", run.kernels.size());
  if (waits_for_host) {
    out += fmt::format("launches  {}  (until the host has launched them: the time of a run)\n",
                       duration(run.time));
  }
  if (run.timeline != run.time) {
    out += fmt::format("timeline  {}  (async copies and collectives overlap)\n",
                       duration(run.timeline));
  }
  if (run.communication) {
    out += fmt::format("network   {} communication, of which {} hidden behind compute\n",
                       duration(run.communication->time), duration(run.communication->hidden));
  }
  return out;
}

// "rate      13.48 runs/s, 27.61 k tokens/s  (2048 tokens a run)".
std::string rate_line(const Simulation& run) {
  if (!(run.timeline.value > 0)) return "";
  const auto rate = [&](double number, const char* unit) {
    std::string text = si(number / run.timeline.value, "");
    if (text.ends_with(' ')) text.pop_back();
    return fmt::format("{} {}", text, unit);
  };
  constexpr double kHour_s = 3600;
  const bool long_run = run.timeline.value > 1;
  std::string out = "rate      " + (long_run ? rate(kHour_s, "runs/h") : rate(1, "runs/s"));
  if (run.tokens > 0) {
    out += fmt::format(", {}  ({} tokens a run)", rate(run.tokens, "tokens/s"), count(run.tokens));
  }
  return out + "\n";
}

// The program's time by bound, the largest share first.
std::string bound_line(const Simulation& run) {
  const analytical::BoundVector shares = bound_shares(run);
  std::vector<std::size_t> order(analytical::kBoundCount);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
  std::string out;
  for (const std::size_t i : order) {
    constexpr double kWorthSaying = 5e-4;  // 0.0 % is not
    if (share_of(shares[i], run.time) < kWorthSaying) continue;
    out += fmt::format("{}{} {} %", out.empty() ? "" : ", ",
                       analytical::name(static_cast<analytical::Bound>(i)),
                       percent(share_of(shares[i], run.time)));
  }
  return "bound by  " + out + "\n";
}

// "work      12.9 TFLOP, 17.6 % of the matrix peak (MFU); 158 GB, 64.0 % of hbm's bandwidth".
std::string work_line(const Simulation& run) {
  std::unordered_map<std::string_view, std::optional<double>> value;
  for (const ProgramNumber& number : work_numbers()) value[number.name] = number.of(run);
  const auto share = [&](const char* name, const std::string& of) {
    return value[name] ? fmt::format(", {} % of {}", percent(*value[name]), of) : "";
  };
  const std::string memory = run.roofs.memory.empty() ? "" : run.roofs.memory.front().name;
  return fmt::format("work      {}{}; {}{}\n", si(value["work_FLOP"].value_or(0), "FLOP"),
                     share("mfu", "the matrix peak (MFU)"),
                     si(value["main_memory_bytes"].value_or(0), "B"),
                     share("main_memory_share", memory + "'s bandwidth"));
}

std::string header(const Simulation& run) {
  std::string out = fmt::format("program   {}", run.program);
  if (!run.file.empty()) out += fmt::format("  ({})", run.file);
  out += fmt::format("\ndevice    {}\n", device_label(run));
  if (!run.model.empty()) out += fmt::format("model     {}\n", run.model);
  out += time_lines(run) + doubts(run) + trust(run) + rate_line(run) + bound_line(run) +
         work_line(run);
  if (run.memory) out += memory_line(*run.memory);
  out += energy_text(run.energy);
  return out + fmt::format("host      {}  (dispatch, not in the times above)\n",
                           duration(run.host_dispatch));
}

// Time by the framework's scopes and operations, where the program has their names.
std::string scope_rows(const Simulation& run) {
  constexpr std::size_t kScopes = 12;
  const std::vector<ScopeTime> scopes = time_by_scope(run.kernels, kScopes);
  if (scopes.size() < 2) return "";
  TextTable rows({{"scope", 60}, ">time", ">share %"});
  for (const ScopeTime& scope : scopes) {
    rows.add({std::string(2 * scope.depth, ' ') + scope.name, duration(scope.time),
              percent(share_of(scope.time, run.device_time))});
  }
  return rows.render() + "\n";
}

// `corrected`: adds a column for the hybrid's correction.
std::vector<std::string> row(const SimulatedKernel& kernel, Seconds whole, bool corrected) {
  const analytical::Estimate& e = *kernel.estimate;
  const std::string launches = count(kernel.multiplicity);
  if (kernel.skipped) {
    std::vector<std::string> cells{kernel.name, kind(kernel), launches, "skipped"};
    cells.resize(corrected ? kPlainColumns + 1 : kPlainColumns);
    return cells;
  }
  std::vector<std::string> cells{kernel.name,
                                 kind(kernel),
                                 launches,
                                 duration(e.time.value),
                                 duration(kernel.total().value),
                                 percent(share_of(kernel.total(), whole)),
                                 std::string(analytical::name(e.bound)),
                                 std::string(analytical::name(e.next_bound)),
                                 percent(e.utilisation),
                                 si((e.hbm_read + e.hbm_write).value, "B"),
                                 si(e.flops.value, ""),
                                 analytical::to_string(e.tile)};
  if (corrected) cells.insert(cells.begin() + kCorrectionColumn, correction_cell(e.correction));
  return cells;
}

// Kernels that share their estimate, as one row of the table.
struct Alike {
  const SimulatedKernel* first;
  double launches;          // of all of them
  std::size_t kernels = 1;  // how many

  [[nodiscard]] Seconds total() const { return first->estimate->time * launches; }
  // "fusion.4 (+2)", with all launches.
  [[nodiscard]] SimulatedKernel together() const {
    SimulatedKernel kernel = *first;
    kernel.multiplicity = launches;
    if (kernels > 1) kernel.name += fmt::format(" (+{})", kernels - 1);
    return kernel;
  }
};

// The rows, the longest first, so that a layer that repeats does not fill the table. `all`: every
// kernel on its own.
std::vector<Alike> table_kernels(const Simulation& run, bool all) {
  std::vector<Alike> rows;
  std::map<std::pair<const void*, ir::Opcode>, std::size_t> row_of;
  for (const SimulatedKernel& kernel : run.kernels) {
    const auto [found, fresh] =
        row_of.try_emplace({kernel.estimate.identity(), kernel.opcode}, rows.size());
    if (all || fresh) {
      rows.push_back({&kernel, kernel.multiplicity});
      continue;
    }
    rows[found->second].launches += kernel.multiplicity;
    ++rows[found->second].kernels;
  }
  std::ranges::stable_sort(rows, std::greater<>(), &Alike::total);
  return rows;
}

std::vector<Column> kernel_columns(bool corrected) {
  std::vector<Column> columns{"kernel", {"op", 24},   ">launches", ">time", ">total", ">share %",
                              "bound",  "next bound", ">util %",   ">HBM",  ">FLOP",  {"tile", 60}};
  TC_CHECK(columns.size() == kPlainColumns, "a column per cell");
  if (corrected) columns.insert(columns.begin() + kCorrectionColumn, Column(kCorrectionTitle));
  return columns;
}

std::string kernel_rows(const Simulation& run, std::size_t top) {
  const bool corrected = is_corrected(run);
  TextTable rows(kernel_columns(corrected));
  const std::vector<Alike> kernels = table_kernels(run, top >= run.kernels.size());
  const std::size_t shown = std::min(top, kernels.size());
  for (std::size_t i = 0; i < shown; ++i) rows.add(row(kernels[i].together(), run.time, corrected));
  std::string out = rows.render();
  Seconds rest;
  for (std::size_t i = shown; i < kernels.size(); ++i) rest += kernels[i].total();
  if (shown < kernels.size()) {
    out += fmt::format("... {} more rows, {}, {} %  (--all shows every kernel)\n",
                       kernels.size() - shown, duration(rest), percent(share_of(rest, run.time)));
  }
  const bool any_async = std::any_of(run.kernels.begin(), run.kernels.end(),
                                     [](const auto& k) { return k.lane != Lane::kCompute; });
  return any_async ? out + "* may overlap other kernels on the timeline\n" : out;
}

// At most `most`, those that matter first.
std::string notes(const Simulation& run, std::size_t most) {
  std::vector<ir::Note> all = run.notes;
  std::ranges::stable_sort(all, std::greater<>(), &ir::Note::matters);
  std::string out;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) {
    out += fmt::format("note: {}{}\n", all[i].what,
                       all[i].count > 1 ? fmt::format("  (x{})", all[i].count) : "");
  }
  if (all.size() <= most) return out;
  return out + fmt::format("... {} more notes  (--all shows them)\n", all.size() - most);
}

std::string flags(const Simulation& run) {
  std::string out;
  for (const ir::Note& flag : flag_counts(run)) {
    out +=
        fmt::format("flag: {}  ({} kernel{})\n", flag.what, flag.count, flag.count == 1 ? "" : "s");
  }
  return out;
}

// Notes and flags of all runs without duplicates, with the number of runs that have each.
std::string shared_notes(std::span<const Simulation> runs) {
  std::vector<ir::Note> shared;
  std::unordered_map<std::string, std::size_t> index;
  const auto add = [&](const std::string& text) {
    const auto [found, fresh] = index.try_emplace(text, shared.size());
    if (fresh) shared.push_back({text, 0});
    ++shared[found->second].count;
  };
  for (const Simulation& run : runs) {
    if (!run.model.empty()) add("model: " + run.model);
    for (const ir::Note& note : run.notes) add("note: " + note.what);
    for (const ir::Note& flag : flag_counts(run)) add("flag: " + flag.what);
  }
  std::string out;
  for (const ir::Note& note : shared) {
    out += fmt::format("{}  ({} of {} runs)\n", note.what, note.count, runs.size());
  }
  return out;
}

using Json = nlohmann::ordered_json;

Json kernel_json(const SimulatedKernel& kernel) {
  Json out = {{"name", kernel.name},
              {"opcode", std::string(ir::name(kernel.opcode))},
              {"class", std::string(ir::name(ir::op_class(kernel.opcode)))},
              {"computation", kernel.computation},
              {"multiplicity", kernel.multiplicity},
              {"skipped", kernel.skipped},
              {"total_s", kernel.total().value},
              {"start_s", kernel.start.value},
              {"end_s", kernel.end.value},
              {"lane", std::string(name(kernel.lane))}};
  if (!kernel.op_name.empty()) {
    out["op_name"] = kernel.op_name;
    out["scope"] = scope_of(kernel.op_name);
  }
  if (!kernel.content.empty()) out["content"] = kernel.content;
  out.update(kernel.skipped ? Json{{"time_s", 0.0}} : estimate_json(*kernel.estimate));
  return out;
}

// The cells of CSV: what JSON says of the kernel and of its run.
Json csv_cells(const Simulation& run, const SimulatedKernel& kernel) {
  const analytical::Estimate& e = *kernel.estimate;
  Json row = kernel_json(kernel);
  if (kernel.skipped) {
    row.update(estimate_json(e));
    for (const char* key : {"time_s", "total_s", "bound", "next_bound"}) row[key] = nullptr;
  }
  row.update({{"file", run.file},
              {"program", run.program},
              {"device", run.device},
              {"kernel", kernel.name},
              {"tile", analytical::to_string(e.tile)},
              {"flags", kernel.skipped ? "skipped" : fmt::format("{}", fmt::join(e.flags, "; "))}});
  const Json bounds = row["bounds_s"];
  for (const auto& bound : bounds.items()) row[bound.key() + "_s"] = bound.value();
  set_launch_energy_cells(row, e,
                          run.energy ? std::optional(run.energy->idle_power) : std::nullopt);
  for (const ProgramNumber& number : memory_numbers()) {
    row[std::string(number.name)] = json_number(number.of(run));
  }
  return row;
}

std::string csv_header() {
  std::string header =
      "file,program,device,kernel,opcode,multiplicity,time_s,total_s,start_s,end_s,bound,next_"
      "bound,next_time_s,utilisation,speed_of_light_s,hbm_read_bytes,hbm_write_bytes,flops,"
      "scratchpad_used_bytes,iterations,tile,model,flags";
  for (std::size_t i = 0; i < analytical::kBoundCount; ++i) {
    header += fmt::format(",{}_s", analytical::name(static_cast<analytical::Bound>(i)));
  }
  header += fmt::format(",{}", kEnergyColumns);
  for (const ProgramNumber& number : memory_numbers()) header += fmt::format(",{}", number.name);
  return header + fmt::format(",{}", kCorrectionColumns);
}

void add_trust(Json& out, const Simulation& run) {
  if (!run.model.empty()) out["model"] = run.model;
  if (run.interval) {
    out["low_s"] = run.interval->low;
    out["high_s"] = run.interval->high;
  }
  const auto shares = belief_shares(run);
  if (!shares) return;
  const auto add = [&](const char* name, const BeliefShare& share) {
    out["believed"][name] = {{"kernels", share.kernels}, {"time_s", share.time.value}};
  };
  add("above_half", shares->most);
  add("up_to_half", shares->some);
  add("physics_alone", shares->none);
}

Json roofs_json(const MachineRoofs& roofs) {
  Json out = {{"peaks", Json::array()}, {"memory", Json::array()}};
  for (const ComputeRoof& peak : roofs.peaks) {
    out["peaks"].push_back(
        {{"unit", peak.unit}, {"dtype", peak.dtype}, {"flops_per_s", peak.rate.value}});
  }
  for (const MemoryRoof& level : roofs.memory) {
    out["memory"].push_back({{"name", level.name},
                             {"read_bytes_per_s", level.read.value},
                             {"write_bytes_per_s", level.write.value},
                             {"capacity_bytes", level.capacity.value}});
  }
  return out;
}

Json run_json(const Simulation& run) {
  const auto note_json = [](const ir::Note& note) {
    return Json{{"what", note.what}, {"count", note.count}};
  };
  Json out = {{"file", run.file},
              {"program", run.program},
              {"device", run.device},
              {"time_s", run.time.value},
              {"device_s", run.device_time.value},
              {"host_launches_s", run.host_launches.value},
              {"timeline_s", run.timeline.value},
              {"host_dispatch_s", run.host_dispatch.value},
              {"roofs", roofs_json(run.roofs)},
              {"kernels", list_of(run.kernels, kernel_json)},
              {"notes", list_of(run.notes, note_json)}};
  if (run.slice_devices) out["slice_cores"] = *run.slice_devices;
  if (run.communication) {
    out["communication"] = {{"time_s", run.communication->time.value},
                            {"hidden_s", run.communication->hidden.value}};
  }
  for (const auto& numbers : {work_numbers(), energy_numbers()}) {
    for (const ProgramNumber& number : numbers) {
      out[std::string(number.name)] = json_number(number.of(run));
    }
  }
  if (run.energy) out["energy"] = energy_json(*run.energy);
  if (run.memory) out["memory"] = memory_json(*run.memory);
  add_trust(out, run);
  return out;
}

constexpr double kMicrosecondsPerSecond = 1e6;

Json metadata(std::string_view what, std::size_t pid, std::size_t tid, const std::string& value) {
  return {{"ph", "M"},
          {"name", std::string(what)},
          {"pid", pid},
          {"tid", tid},
          {"args", {{"name", value}}}};
}

Json event(const SimulatedKernel& kernel, std::size_t pid) {
  const analytical::Estimate& e = *kernel.estimate;
  return {{"ph", "X"},
          {"name", kernel.name},
          {"cat", std::string(ir::name(kernel.opcode))},
          {"pid", pid},
          {"tid", static_cast<std::size_t>(kernel.lane)},
          {"ts", kernel.start.value * kMicrosecondsPerSecond},
          {"dur", (kernel.end - kernel.start).value * kMicrosecondsPerSecond},
          {"args",
           {{"launches", kernel.multiplicity},
            {"bound", kernel.skipped ? "skipped" : std::string(analytical::name(e.bound))},
            {"utilisation", e.utilisation},
            {"hbm_bytes", (e.hbm_read + e.hbm_write).value},
            {"flops", e.flops.value},
            {"tile", analytical::to_string(e.tile)}}}};
}

}  // namespace

std::string table(const Simulation& simulation, const TableOptions& options) {
  constexpr std::size_t kNotes = 8;  // of a first screen
  return header(simulation) + notes(simulation, options.all ? simulation.notes.size() : kNotes) +
         "\n" + scope_rows(simulation) +
         kernel_rows(simulation, options.all ? simulation.kernels.size() : options.top) +
         flags(simulation);
}

std::string comparison(std::span<const Simulation> runs, std::size_t devices) {
  TC_CHECK(devices > 0 && runs.size() % devices == 0, "runs are programs x devices");
  const auto any = [&](const auto& says) { return std::ranges::any_of(runs, says); };
  const bool intervals = any([](const Simulation& run) { return run.interval.has_value(); });
  const bool energy = any([](const Simulation& run) { return run.energy.has_value(); });
  std::vector<Column> columns{{"program", 80}};
  for (std::size_t i = 0; i < devices && !runs.empty(); ++i) {
    columns.push_back(">" + device_label(runs[i]));
    if (intervals) columns.push_back("[90 %]");
    if (i > 0) columns.push_back(">/ " + device_label(runs[0]));
  }
  for (std::size_t i = 0; i < devices && energy; ++i) {
    columns.push_back(">" + device_label(runs[i]) + " energy");
  }
  TextTable rows(columns);
  for (std::size_t first = 0; first < runs.size(); first += devices) {
    const Simulation& reference = runs[first];
    std::vector<std::string> cells{reference.file.empty() ? reference.program : reference.file};
    for (std::size_t i = 0; i < devices; ++i) {
      const Simulation& run = runs[first + i];
      cells.push_back(duration(run.time.value));
      if (intervals) cells.push_back(interval_cell(run));
      if (i > 0) cells.push_back(fmt::format("{:.3f}", share_of(run.time, reference.time)));
    }
    for (std::size_t i = 0; i < devices && energy; ++i) {
      const std::optional<double> joule = energy_numbers().front().of(runs[first + i]);
      cells.push_back(joule ? si(*joule, "J") : "");
    }
    rows.add(std::move(cells));
  }
  return rows.render() + shared_notes(runs);
}

std::string csv(std::span<const Simulation> runs) {
  const std::string header = csv_header();
  std::string out = header + "\n";
  for (const Simulation& run : runs) {
    for (const SimulatedKernel& kernel : run.kernels)
      out += csv_row(csv_cells(run, kernel), header);
  }
  return out;
}

std::string json(std::span<const Simulation> runs) {
  return json_text({{"schema", "tilecast.simulate/2"},
                    {"programs", list_of(runs, run_json)},
                    {"version", version()}});
}

std::string trace(std::span<const Simulation> runs) {
  Json events = Json::array();
  for (std::size_t pid = 0; pid < runs.size(); ++pid) {
    const Simulation& run = runs[pid];
    events.push_back(metadata("process_name", pid, 0, run.program + " on " + run.device));
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      events.push_back(
          metadata("thread_name", pid, lane, std::string(name(static_cast<Lane>(lane)))));
    }
    for (const SimulatedKernel& kernel : run.kernels) events.push_back(event(kernel, pid));
  }
  const Json document = {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
  return json_text(document, -1);
}

}  // namespace tilecast::sim::views
