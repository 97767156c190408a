#include "learned/table_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "learned/kernel_graph.h"
#include "learned/table_features_groups.h"
#include "schedule/tile_schedule.h"

namespace tilecast::learned {
namespace {

using analytical::Estimate;
using analytical::KernelQuery;

constexpr int kVersion = 1;

void check_selection(const FeatureSelection& selection) {
  std::set<FeatureGroup> groups;
  for (const FeatureGroup group : selection.groups) {
    if (group == FeatureGroup::kNode) {
      throw Error(
          "features: got group 'node', expected groups of a whole kernel; nodes have a "
          "schema of their own");
    }
    if (!groups.insert(group).second) {
      throw Error(fmt::format("features: got group '{}' twice, expected it once", name(group)));
    }
  }
  if (has_group(selection, FeatureGroup::kParameters) == selection.parameters.empty()) {
    throw Error(fmt::format("features: got {} parameters, expected {}", selection.parameters.size(),
                            selection.parameters.empty()
                                ? "names of some, since the group 'parameters' is asked for"
                                : "the group 'parameters' with them"));
  }
  std::set<std::string> names;
  for (const std::string& parameter : selection.parameters) {
    if (parameter.empty()) throw Error("features: a parameter has no name");
    if (!names.insert(parameter).second) {
      throw Error(fmt::format("features: got parameter '{}' twice, expected it once", parameter));
    }
  }
}

void static_columns(const KernelScan& scan, Columns& to) {
  to.value({"flops",
            "Floating-point operations as XLA's cost analysis counts them, a multiply-add as two."},
           scan.flops);
  to.value({"bytes_read",
            "Bytes of operands the kernel accesses, by XLA's rules and without padding.", "B"},
           scan.bytes_read);
  to.value({"bytes_written", "Bytes of results, without padding.", "B"}, scan.bytes_written);
  to.value(
      {"transcendentals", "Elements of exponentials, logarithms and the like, as XLA counts them."},
      scan.transcendentals);
}

Columns::PartName bound_part(std::size_t part) {
  const std::string name(analytical::name(static_cast<analytical::Bound>(part)));
  return {name, name};
}

void prior_columns(const std::optional<Estimate>& prior, Columns& to) {
  static const Estimate kNone;
  const Estimate& from = prior ? *prior : kNone;
  const auto value = [&](const Columns::Text& text, double number) {
    to.value(text, prior ? number : kMissing);
  };
  const double time = from.time.value;
  value({"time", "Time the analytical model answers.", "s"}, time);
  value({"speed_of_light", "Time no implementation on this machine can beat.", "s"},
        from.speed_of_light.value);
  value({"next_time", "Analytical time if the resource that bounds it were removed.", "s"},
        from.next_time.value);
  value({"next_share", "prior.next_time over prior.time: how alone the bound is."},
        ratio(from.next_time.value, time));
  value({"iterations", "Iterations of the tile loop in the analytical model."}, from.iterations);
  value({"hbm_read", "Bytes read from main memory, padding and repeated reads included.", "B"},
        from.hbm_read.value);
  value({"hbm_write", "Bytes written to main memory, padding included.", "B"},
        from.hbm_write.value);
  value({"flops", "Useful operations as the analytical model counts them."}, from.flops.value);
  value({"scratchpad_used", "Bytes of the innermost memory the tile takes.", "B"},
        from.scratchpad_used.value);
  value({"utilisation", "prior.speed_of_light over prior.time."}, from.utilisation);
  value({"bound", "Number of the resource that bounds the time, in the order of prior.busy."},
        static_cast<double>(from.bound));
  std::array<double, analytical::kBoundCount> busy{}, shares{};
  for (std::size_t i = 0; i < busy.size(); ++i) {
    busy[i] = prior ? from.bounds[i].value : kMissing;
    shares[i] = ratio(busy[i], time);
  }
  to.parts({"busy", "Seconds one resource is busy, or adds, over the whole kernel", "s"}, busy,
           bound_part);
  to.parts({"share", "The same, over prior.time"}, shares, bound_part);
}

void parameter_columns(const std::vector<std::string>& names, std::vector<FeatureColumn>& columns) {
  const auto add = [&](const std::string& name, const std::string& doc) {
    columns.push_back({"parameters." + name, "1", doc, FeatureGroup::kParameters});
  };
  for (const std::string& name : names) {
    add(name, "Parameter '" + name + "' of the measurement set.");
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = i + 1; j < names.size(); ++j) {
      add(names[i] + " x " + names[j],
          "Product of the two: threads of a block, elements of a thread, ...");
    }
  }
}

void token_columns(const Vocabulary& vocabulary, FeatureSchema& schema) {
  if (!vocabulary.empty()) schema.name += "/vocabulary-" + vocabulary.hash();
  for (const std::string& token : vocabulary.tokens()) {
    schema.columns.push_back({"tokens." + token, "1",
                              "How often '" + token + "' stands in the text.",
                              FeatureGroup::kTokens});
  }
}

// Writes the values of the columns named by parameter_columns().
void write_parameters(std::span<const float> values, Columns& to) {
  for (const float value : values) to.value({}, value);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j) {
      to.value({}, static_cast<double>(values[i]) * values[j]);
    }
  }
}

FeatureSchema schema_of(const FeatureSelection& selection) {
  FeatureSchema schema{.name = "tilecast.table", .version = kVersion, .columns = {}};
  const hwdesc::Device device;
  MachineScan machine(device);
  const KernelScan scan;
  const auto add = [&](FeatureGroup group, auto&& append) {
    if (!has_group(selection, group)) return;
    Columns names(group, schema);
    append(names);
  };
  add(FeatureGroup::kStatic, [&](Columns& to) { static_columns(scan, to); });
  add(FeatureGroup::kOps, [&](Columns& to) { ops_columns(scan, to); });
  add(FeatureGroup::kShape, [&](Columns& to) { shape_columns(scan, to); });
  add(FeatureGroup::kMachine, [&](Columns& to) { machine_columns(scan, machine, to); });
  add(FeatureGroup::kTile, [&](Columns& to) { tile_columns({}, nullptr, to); });
  add(FeatureGroup::kAlignment, [&](Columns& to) { alignment_columns(scan, device, {}, to); });
  add(FeatureGroup::kCurve, [&](Columns& to) { curve_columns({}, to); });
  add(FeatureGroup::kPrior, [&](Columns& to) { prior_columns({}, to); });
  parameter_columns(selection.parameters, schema.columns);
  if (has_group(selection, FeatureGroup::kTokens)) {
    token_columns(selection.vocabulary, schema);
  }
  return schema;
}

// Writes consecutive rows; reuses what depends only on the kernel while it stays the same.
class RowWriter {
 public:
  RowWriter(const FeatureSelection& selection, const hwdesc::Device& device, std::size_t width)
      : machine_(device), vocabulary_(selection.vocabulary), scratch_(scratch()) {
    for (const FeatureGroup group : selection.groups)
      selected_[static_cast<std::size_t>(group)] = true;
    scratch_.row.resize(std::max(width, scratch_.row.size()));
  }

  void write(const KernelQuery& query, const std::optional<Estimate>* prior, std::span<float> out) {
    if (&query.kernel != kernel_) start(query.kernel);
    std::copy_n(scratch_.row.begin(), kernel_width_, out.begin());
    Columns to(out.data() + kernel_width_);
    if (selected(FeatureGroup::kTile)) tile_columns(tile_scan(query), query.tile, to);
    if (selected(FeatureGroup::kAlignment)) {
      const TileSizes sizes =
          query.tile == nullptr ? TileSizes{} : tile_sizes(tile_scan(query), query.tile);
      alignment_columns(scratch_.kernel, machine_.device(), sizes, to);
    }
    if (selected(FeatureGroup::kCurve)) {
      const schedule::LoopProgram loops =
          schedule::loops_of(query.kernel, query.tile, schedule::target_of(machine_.device()));
      curve_columns(schedule::make_tree(loops), to);
    }
    if (selected(FeatureGroup::kPrior)) prior_columns(*prior, to);
    if (selected(FeatureGroup::kParameters)) write_parameters(query.parameters, to);
    if (selected(FeatureGroup::kTokens)) write_tokens(query, to);
    TC_CHECK(to.end() == out.data() + out.size(), "columns and values out of step");
  }

 private:
  struct Scratch {
    KernelScan kernel;
    TileScan tile;
    std::vector<float> row;
  };
  static Scratch& scratch() {
    thread_local Scratch scratch;
    return scratch;
  }

  [[nodiscard]] bool selected(FeatureGroup group) const {
    return selected_[static_cast<std::size_t>(group)];
  }

  void start(const ir::Kernel& kernel) {
    kernel_ = &kernel;
    tile_known_ = false;
    scratch_.kernel.of(kernel);
    const KernelScan& scan = scratch_.kernel;
    Columns to(scratch_.row.data());
    if (selected(FeatureGroup::kStatic)) static_columns(scan, to);
    if (selected(FeatureGroup::kOps)) ops_columns(scan, to);
    if (selected(FeatureGroup::kShape)) shape_columns(scan, to);
    if (selected(FeatureGroup::kMachine)) machine_columns(scan, machine_, to);
    kernel_width_ = static_cast<std::size_t>(to.end() - scratch_.row.data());
  }

  // Loops are only analysed if there is a tile.
  const TileScan& tile_scan(const KernelQuery& query) {
    if (query.tile != nullptr && !tile_known_) {
      scratch_.tile.of(scratch_.kernel, machine_.device());
      tile_known_ = true;
    }
    return scratch_.tile;
  }

  void write_tokens(const KernelQuery& query, Columns& to) const {
    std::vector<double> counts(vocabulary_.size(), 0);
    if (counts.empty()) return;
    const TokenIds text = vocabulary_.encode(query, machine_.device());
    for (const std::int32_t id : text.ids) ++counts[static_cast<std::size_t>(id)];
    for (const double count : counts) to.value({}, count);
  }

  std::array<bool, 11> selected_{};
  MachineScan machine_;
  const Vocabulary& vocabulary_;
  Scratch& scratch_;
  const ir::Kernel* kernel_ = nullptr;
  std::size_t kernel_width_ = 0;
  bool tile_known_ = false;
};

}  // namespace

bool has_group(const FeatureSelection& selection, FeatureGroup group) {
  return std::ranges::find(selection.groups, group) != selection.groups.end();
}

TableFeatures::TableFeatures(FeatureSelection selection) : selection_(std::move(selection)) {
  check_selection(selection_);
  schema_ = schema_of(selection_);
}

bool TableFeatures::needs_prior() const {
  return has_group(selection_, FeatureGroup::kPrior);
}

void TableFeatures::extract(std::span<const KernelQuery> queries, const hwdesc::Device& device,
                            std::span<const std::optional<Estimate>> priors,
                            std::span<float> rows) const {
  TC_CHECK(rows.size() == queries.size() * width(), "rows of another size");
  TC_CHECK(!needs_prior() || priors.size() == queries.size(), "a prior per query");
  RowWriter writer(selection_, device, width());
  const bool wants_parameters = has_group(selection_, FeatureGroup::kParameters);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const std::size_t given = queries[i].parameters.size();
    if (wants_parameters && given != selection_.parameters.size()) {
      throw Error(fmt::format("kernel {}: got {} parameters, expected {}", queries[i].kernel.name(),
                              given, selection_.parameters.size()));
    }
    writer.write(queries[i], needs_prior() ? &priors[i] : nullptr,
                 rows.subspan(i * width(), width()));
  }
}

}  // namespace tilecast::learned
