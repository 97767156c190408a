#include "sim/cli/tune_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analytical/analytical_model.h"
#include "analytical/layout_rules.h"
#include "base/error.h"
#include "base/text.h"
#include "sim/tile_table.h"

namespace tilecast::sim::cli {
namespace {

// The tiles that can run, in order, among the caller's or the listed ones.
std::vector<analytical::TileConfig> offered_tiles(const ProgramTiles& asked,
                                                  const ir::Kernel& kernel,
                                                  const hwdesc::Device& device) {
  const analytical::KernelAnalysis analysis(kernel, device);
  if (!analysis.tileable()) {
    throw Error(fmt::format("{}: kernel '{}' has no tiles", asked.program, kernel.name()));
  }
  const bool listed = asked.table.empty();
  const std::vector<analytical::TileConfig> offered =
      listed ? analysis.tiles(asked.most, tile_set(asked.listing))
             : tiles_of_table(read_tile_rows(asked.table, asked.program));
  if (listed && offered.empty()) {
    throw nothing_listed(fmt::format("{}: {} has no tiles", asked.program, kernel.name()),
                         asked.listing, device);
  }
  if (listed) note_listing(asked.listing);
  search::OfferRanking ranking = rank_rows(offered, kernel, device, analytical::PhysicsRanker());
  if (ranking.best.empty()) {
    throw Error(
        fmt::format("{}: {}; {}", asked.table, ranking.why_none, kept_default(kernel, device)));
  }
  if (ranking.best.size() < offered.size()) {
    tell(fmt::format("note: {}: {} of {} tiles cannot run on {} and are left out", asked.table,
                     offered.size() - ranking.best.size(), offered.size(), device.name));
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

}  // namespace

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
    throw Error(fmt::format("{}: {} kernels, expected one; choose it with --kernel NAME", folder,
                            names.size()));
  }
  const std::string near = base::nearest(name, names);
  throw Error(fmt::format("{}: no kernel is called '{}'{}", folder, name,
                          near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

measured::SampleSet read_tuning_set(const std::string& folder, const hwdesc::Device& device,
                                    int jobs) {
  // Keeps times that physics doubts: they were measured.
  measured::SampleSet set = measured::make_samples(measured::read_measurement_set(folder), device,
                                                   {.check_physics = false, .jobs = jobs});
  if (!set.faults.empty()) {
    tell(fmt::format("note: {}: {} rows in error are left out", folder, set.faults.size()));
  }
  return set;
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

measured::CsvTable read_tile_rows(const std::string& table, const std::string& program) {
  const measured::CsvTable all = measured::read_csv(base::SourceText::read_file(table));
  measured::CsvTable rows = rows_of_file(all, program);
  if (rows.rows.empty() && !all.rows.empty()) {
    throw Error(fmt::format("{}: no row has a column 'file' that names {}", table, program));
  }
  if (rows.rows.size() < all.rows.size()) {
    tell(fmt::format("note: {} of {} rows are of {}; the others are left out", rows.rows.size(),
                     all.rows.size(), program));
  }
  note_unread(rows.file, unread_tile_columns(rows));
  return rows;
}

std::string kept_default(const ir::Kernel& kernel, const hwdesc::Device& device) {
  const std::string tile =
      to_string(analytical::KernelAnalysis(kernel, device).estimate_best().tile);
  return fmt::format("{} keeps its default ({})", kernel.name(), tile.empty() ? "not cut" : tile);
}

std::unique_ptr<Candidates> tiles_of_program(const ProgramTiles& asked,
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

}  // namespace tilecast::sim::cli
