#include "sim/answers.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "analytical/layout_rules.h"
#include "analytical/tile.h"
#include "base/error.h"
#include "base/source_text.h"

namespace tilecast::sim {
namespace {

constexpr double kNoTime = std::numeric_limits<double>::quiet_NaN();

// Removes ":NUMBER" from the front and returns the number; 0 if there is none.
int take_number(std::string_view& text) {
  int number = 0;
  if (!text.starts_with(':')) return 0;
  const auto [end, failed] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (failed != std::errc() || number <= 0) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool is_physics(const ChosenModel& model) {
  return model.name == "analytical";
}

void check_sizes(std::span<const analytical::TileConfig> tiles) {
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    for (const analytical::TilePart& part : analytical::tile_parts()) {
      for (const std::int64_t size : part.numbers(tiles[i])) {
        if (size >= 1) continue;
        throw Error("tile {}: got a size of {}, expected at least 1", i, size);
      }
    }
  }
}

std::vector<double> physics_times_s(const ir::Kernel& kernel, const hwdesc::Device& device,
                                    std::span<const analytical::TileConfig> tiles) {
  const analytical::KernelAnalysis analysis(kernel, device);
  std::vector<double> times(tiles.size(), kNoTime);
  if (analysis.tileable()) times = analysis.times_s(tiles);
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (tiles[i] == analytical::TileConfig{}) times[i] = analysis.estimate_best().time.value;
    if (!std::isfinite(times[i])) times[i] = kNoTime;
  }
  return times;
}

}  // namespace

ErrorPlace error_place(std::string_view message) {
  message = message.substr(0, message.find('\n'));
  for (std::size_t at = message.find(':'); at != std::string_view::npos;
       at = message.find(':', at + 1)) {
    std::string_view rest = message.substr(at);
    const int line = take_number(rest);
    if (line == 0) continue;
    const int column = take_number(rest);
    if (!rest.starts_with(": ")) continue;
    return {std::string(message.substr(0, at)), line, column};
  }
  return {};
}

hwdesc::Overrides device_overrides(std::span<const std::string> set) {
  hwdesc::Overrides result;
  for (const std::string& text : set) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw UsageError("--set: got '{}', expected key=value; example: --set hbm.bandwidth=1.2TB/s",
                       text);
    }
    result.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

PlacedProgram place(ir::LoadedModule loaded, const hwdesc::Device& device,
                    const ir::LoadOptions& load) {
  std::string file = loaded.file;
  ir::DeviceProgram built =
      ir::program_for(std::move(loaded), analytical::layout_rules(device), load);
  return {std::move(file), device, std::move(built)};
}

Simulation simulate(const PlacedProgram& placed, const ChosenModel& model,
                    const SimulateOptions& options) {
  try {
    Simulation run = simulate(placed.built.program, placed.device, *model.model, options);
    run.file = placed.file;
    if (!is_physics(model)) run.model = model.name;
    if (!model.note.empty()) run.notes.insert(run.notes.begin(), {model.note});
    run.notes.insert(run.notes.begin(), placed.built.notes.begin(), placed.built.notes.end());
    return run;
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    throw Error("{}: {}", placed.file, error.what());
  }
}

const ir::Kernel& find_kernel(const ir::Program& program, const std::string& name,
                              const std::string& file) {
  std::string wanted = name;
  if (wanted.starts_with('%')) wanted.erase(0, 1);
  std::vector<std::string_view> names;
  for (const ir::ScheduledKernel& scheduled : program.kernels()) {
    if (scheduled.kernel.name() == wanted) return scheduled.kernel;
    names.push_back(scheduled.kernel.name());
  }
  if (wanted.empty() && names.size() == 1) return program.kernels().front().kernel;
  if (wanted.empty()) {
    throw Error(
        "{}: {} kernels, expected one; choose it with --kernel NAME (tilecast kernels lists them)",
        file, names.size());
  }
  const std::string near = base::nearest(wanted, names);
  throw Error(
      "{}: no kernel is called '{}'; {}", file, wanted,
      near.empty() ? "tilecast kernels lists them" : fmt::format("did you mean '{}'?", near));
}

Explanation explain(const PlacedProgram& placed, const std::string& kernel,
                    const ChosenModel& model, const std::string& tile, std::size_t top) {
  analytical::TileConfig given;
  if (!tile.empty()) given = analytical::parse_tile(tile);
  const ir::Kernel& asked = find_kernel(placed.built.program, kernel, placed.file);
  Explanation why = explain(asked, placed.device,
                            {.tile = tile.empty() ? nullptr : &given,
                             .top = top,
                             .model = is_physics(model) ? nullptr : model.model.get(),
                             .correction = model.explain,
                             .ranker = model.ranker});
  why.file = placed.file;
  if (!is_physics(model)) why.model = model.name;
  if (!model.note.empty()) why.notes.push_back(model.note);
  const auto same = [&](const ir::ScheduledKernel& each) { return &each.kernel == &asked; };
  const auto scheduled = std::ranges::find_if(placed.built.program.kernels(), same);
  if (scheduled != placed.built.program.kernels().end() && scheduled->graph >= 0) {
    why.notes.push_back(
        fmt::format("launched by itself here; in the program it is part of a launch "
                    "graph, which leaves out {:.3g} us between kernels",
                    1e6 * placed.device.dispatch.kernel_launch.value));
  }
  return why;
}

std::vector<double> tile_times_s(const ir::Kernel& kernel, const hwdesc::Device& device,
                                 const ChosenModel& model,
                                 std::span<const analytical::TileConfig> tiles) {
  check_sizes(tiles);
  std::vector<double> times = physics_times_s(kernel, device, tiles);
  if (is_physics(model)) return times;
  std::vector<analytical::KernelQuery> queries;
  std::vector<std::size_t> asked;  // indices of tiles that can run
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    if (std::isnan(times[i])) continue;
    queries.push_back({kernel, tiles[i] == analytical::TileConfig{} ? nullptr : &tiles[i]});
    asked.push_back(i);
  }
  const auto answers = model.model->estimate(queries, device);
  for (std::size_t k = 0; k < asked.size(); ++k) {
    times[asked[k]] = answers[k] ? answers[k]->time.value : kNoTime;
  }
  return times;
}

}  // namespace tilecast::sim
