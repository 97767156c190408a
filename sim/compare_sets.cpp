// Rows of a comparison from measurement sets: one per work and tile.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "sim/compare_inputs.h"
#include "sim/compare_rows.h"

namespace tilecast::sim {
namespace {

using measured::Sample;
using measured::SampleSet;
using measured::Workload;

// Equal for the same row of a set on every device, however its kernel is laid out there.
std::string row_key(const Workload& work, const Sample& sample) {
  return fmt::format("{}\n{}\n{}\n{}", work.name, work.op_class, work.family,
                     analytical::to_string(sample.tile));
}

std::vector<std::size_t> add_rows(const SampleSet& samples, std::size_t group,
                                  ComparisonBuilder& builder) {
  std::unordered_map<std::string, int> seen;
  std::vector<std::size_t> rows;
  for (const Sample& sample : samples.samples) {
    const Workload& work = samples.works[sample.work];
    std::string key = row_key(work, sample);
    if (const int before = seen[key]++; before > 0) key += fmt::format("\n#{}", before);
    rows.push_back(builder.row(group, key,
                               {.name = work.name,
                                .op_class = work.op_class,
                                .tile = analytical::to_string(sample.tile),
                                .line = sample.line}));
  }
  return rows;
}

// What the compiler estimates of the sample: of its own tile, or of all kernels of a program.
std::optional<Seconds> compiler_estimate(const SampleSet& samples, const Sample& sample,
                                         const hwdesc::Device& device) {
  Seconds sum;
  const Workload& work = samples.works[sample.work];
  for (const measured::WorkloadPart& part : work.parts) {
    const bool own =
        sample.tile == analytical::TileConfig{} || sample.tile == compiler_choice(part.kernel);
    const std::optional<Seconds> time =
        own ? compiler_time(part.kernel, device.clock) : std::nullopt;
    if (!time) return std::nullopt;
    sum += *time * part.launches;
  }
  if (sample.holds_dispatch) sum += measured::dispatch_of(work.op_class, samples.manifest, device);
  return sum;
}

void add_measured(const SampleSet& samples, const std::vector<std::size_t>& rows,
                  std::size_t device, ComparisonBuilder& builder) {
  const std::size_t side = builder.measured(samples.measured_on, device);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    builder.set(rows[i], side, {samples.samples[i].measured});
  }
}

void add_compiler(const SampleSet& samples, const std::vector<std::size_t>& rows,
                  const hwdesc::Device& device, ComparisonBuilder& builder) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto time = compiler_estimate(samples, samples.samples[i], device);
    if (time) builder.set(rows[i], builder.compiler(), {*time});
  }
}

void add_model(const SampleSet& samples, const std::vector<std::size_t>& rows, std::size_t column,
               const CompareSetup& setup, ComparisonBuilder& builder) {
  const ModelColumn& model = setup.columns[column];
  const std::vector<measured::Prediction> answers =
      measured::predict(samples, *model.answers, setup.devices[model.device], setup.jobs);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!answers[i].answered) continue;
    builder.set(rows[i], column, cell_of(answers[i]));
  }
}

void note_dispatch(const SampleSet& samples, ComparisonBuilder& builder) {
  const auto with_dispatch =
      static_cast<std::size_t>(std::ranges::count_if(samples.samples, &Sample::holds_dispatch));
  if (with_dispatch == 0) return;
  builder.note(
      fmt::format("{}: {} of {} hold the host's dispatch, unmeasured; a dispatch floor is "
                  "added to estimates of them",
                  samples.name, with_dispatch, count_of(samples.samples.size(), "row")));
}

// Leaves the samples whose cells hold what was asked for.
void keep_where(const measured::MeasurementSet& set, const std::vector<CellFilter>& filters,
                SampleSet& samples) {
  std::unordered_map<int, const measured::CsvRow*> row_of;
  for (const measured::MeasurementRow& row : set.rows) {
    row_of.emplace(row.line, &set.table.rows[row.table_row]);
  }
  for (const CellFilter& filter : filters) {
    if (std::ranges::find(set.table.columns, filter.column) == set.table.columns.end()) {
      throw Error(fmt::format("{}: no column is called '{}', expected one of {}", set.directory,
                              filter.column, fmt::join(set.table.columns, ", ")));
    }
    std::erase_if(samples.samples, [&](const Sample& sample) {
      return set.table.cell(*row_of.at(sample.line), filter.column) != filter.value;
    });
  }
}

void add_set(const measured::MeasurementSet& set, std::size_t group, const CompareSetup& setup,
             ComparisonBuilder& builder) {
  for (std::size_t d = 0; d < setup.devices.size(); ++d) {
    const hwdesc::Device& device = setup.devices[d];
    SampleSet samples = measured::make_samples(
        set, device, {.check_physics = setup.check_physics, .jobs = setup.jobs});
    builder.note_samples(samples, device);
    keep_where(set, setup.where, samples);
    note_dispatch(samples, builder);
    const std::vector<std::size_t> rows = add_rows(samples, group, builder);
    for (std::size_t column = 0; column < setup.columns.size(); ++column) {
      if (setup.columns[column].device != d) continue;
      add_model(samples, rows, column, setup, builder);
      if (setup.step) setup.step();
    }
    if (d == 0) add_compiler(samples, rows, device, builder);
    if (!samples.samples.empty()) add_measured(samples, rows, d, builder);
  }
}

}  // namespace

Comparison compare_sets(std::span<const std::string> sets, const CompareSetup& setup) {
  ComparisonBuilder builder(setup);
  std::vector<std::string> hashes;
  for (const std::string& path : sets) {
    const measured::MeasurementSet set = measured::read_measurement_set(path);
    if (std::ranges::find(hashes, set.hash) != hashes.end()) {
      throw Error(fmt::format("{}: the same data as a set before it; give each set once", path));
    }
    hashes.push_back(set.hash);
    if (std::ranges::any_of(set.rows, [](const auto& row) { return !row.file.empty(); })) {
      builder.reads_modules();
    }
    add_set(set, builder.add_group(set.manifest.name, path), setup, builder);
  }
  return builder.finish();
}

}  // namespace tilecast::sim
