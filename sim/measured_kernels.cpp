#include "sim/measured_kernels.h"

#include <algorithm>
#include <filesystem>

#include "sim/compare_rows.h"

namespace tilecast::sim {
namespace {

using measured::Sample;
using measured::Workload;

bool is_same(const ir::Program& program, const Workload& work) {
  return std::ranges::equal(program.kernels(), work.parts,
                            [](const ir::ScheduledKernel& a, const measured::WorkloadPart& b) {
                              return a.multiplicity == b.launches &&
                                     ir::fingerprint(a.kernel) == ir::fingerprint(b.kernel);
                            });
}

}  // namespace

MeasuredKernels::MeasuredKernels(const measured::MeasurementSet& set, measured::SampleSet samples,
                                 const hwdesc::Device& device)
    : samples_(std::move(samples)), device_(&device), works_(samples_.works.size()) {
  std::unordered_map<int, const measured::MeasurementRow*> row_of;
  for (const measured::MeasurementRow& row : set.rows) row_of.emplace(row.line, &row);
  for (std::size_t i = 0; i < samples_.samples.size(); ++i) {
    const Sample& sample = samples_.samples[i];
    if (!time_of(sample)) {
      ++all_dispatch_;
      continue;
    }
    Rows& rows = works_[sample.work];
    if (const auto row = row_of.find(sample.line); row != row_of.end()) {
      rows.stem = std::filesystem::path(row->second->file).stem().string();
      rows.is_program = row->second->is_program;
    }
    rows.samples.push_back(i);
  }
  for (std::size_t i = 0; i < works_.size(); ++i) {
    const Workload& work = samples_.works[i];
    if (works_[i].samples.empty()) continue;
    by_name_[work.name].push_back(i);
    if (!works_[i].is_program && work.parts.size() == 1) {
      by_print_[ir::fingerprint(work.parts.front().kernel)].push_back(i);
    }
  }
}

std::optional<Seconds> MeasuredKernels::time_of(const Sample& sample) const {
  Seconds time = sample.measured;
  if (sample.holds_dispatch) {
    const std::string& op_class = samples_.works[sample.work].op_class;
    time = time - measured::dispatch_of(op_class, samples_.manifest, *device_);
  }
  if (time.value <= 0) return std::nullopt;
  return time;
}

std::optional<MeasuredKernel> MeasuredKernels::choose(std::size_t work,
                                                      const analytical::TileConfig& wanted) {
  Rows& rows = works_[work];
  rows.found = true;
  MeasuredKernel result{.tiles = rows.samples.size(), .is_of_compiler = false};
  for (const std::size_t i : rows.samples) {
    const Sample& sample = samples_.samples[i];
    const Seconds time = *time_of(sample);
    const bool is_of_compiler = sample.tile == analytical::TileConfig{} || sample.tile == wanted;
    if (is_of_compiler > result.is_of_compiler || result.time.value <= 0 ||
        (is_of_compiler == result.is_of_compiler && time < result.time)) {
      result.time = time;
      result.is_of_compiler = is_of_compiler;
    }
  }
  return result;
}

std::optional<MeasuredKernel> MeasuredKernels::find(const ir::Kernel& kernel,
                                                    const std::string& stem) {
  const analytical::TileConfig tile = compiler_choice(kernel);
  if (const auto same = by_print_.find(ir::fingerprint(kernel)); same != by_print_.end()) {
    const auto named = std::ranges::find_if(
        same->second, [&](std::size_t work) { return samples_.works[work].name == kernel.name(); });
    const bool own = named != same->second.end();
    std::optional<MeasuredKernel> result = choose(own ? *named : same->second.front(), tile);
    result->own = own;
    return result;
  }
  const auto named = by_name_.find(kernel.name());
  if (named == by_name_.end()) return std::nullopt;
  for (const std::size_t work : named->second) {
    if (works_[work].is_program || works_[work].stem != stem) continue;
    std::optional<MeasuredKernel> result = choose(work, tile);
    result->same = false;
    return result;
  }
  return std::nullopt;
}

std::optional<MeasuredKernel> MeasuredKernels::find(const ir::Program& program,
                                                    const std::string& stem) {
  std::optional<std::size_t> found;
  for (std::size_t work = 0; work < works_.size(); ++work) {
    if (!works_[work].is_program || works_[work].samples.empty()) continue;
    if (is_same(program, samples_.works[work])) {
      found = work;
      break;
    }
    if (!found && works_[work].stem == stem) found = work;
  }
  if (!found) return std::nullopt;
  std::optional<MeasuredKernel> result = choose(*found, {});
  result->same = is_same(program, samples_.works[*found]);
  return result;
}

std::vector<Unmatched> MeasuredKernels::unmatched() const {
  std::vector<Unmatched> result;
  for (std::size_t work = 0; work < works_.size(); ++work) {
    if (works_[work].found || works_[work].samples.empty()) continue;
    Unmatched row{.set = samples_.name, .name = samples_.works[work].name};
    for (const std::size_t i : works_[work].samples) {
      const Seconds time = *time_of(samples_.samples[i]);
      if (row.line != 0 && time >= row.time) continue;
      row.line = samples_.samples[i].line;
      row.time = time;
    }
    result.push_back(std::move(row));
  }
  return result;
}

}  // namespace tilecast::sim
