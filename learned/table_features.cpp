#include "learned/table_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "learned/table_features_groups.h"

namespace tilecast::learned {
namespace {

using analytical::Estimate;
using analytical::KernelQuery;

constexpr int kVersion = 1;

bool has(const FeatureSelection& selection, FeatureGroup group) {
  return std::ranges::find(selection.groups, group) != selection.groups.end();
}

void check(const FeatureSelection& selection) {
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
  if (has(selection, FeatureGroup::kParameters) == selection.parameters.empty()) {
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

void parameter_columns(const FeatureSelection& selection, std::vector<FeatureColumn>& columns) {
  for (const std::string& parameter : selection.parameters) {
    columns.push_back({"parameters." + parameter, "1",
                       "Parameter '" + parameter + "' of the measurement set.",
                       FeatureGroup::kParameters});
  }
  const std::vector<std::string>& names = selection.parameters;
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = i + 1; j < names.size(); ++j) {
      columns.push_back({fmt::format("parameters.{} x {}", names[i], names[j]), "1",
                         "Product of the two: threads of a block, elements of a thread, ...",
                         FeatureGroup::kParameters});
    }
  }
}

// As parameter_columns names them.
std::size_t write_parameters(std::span<const float> values, std::span<float> out) {
  std::size_t at = 0;
  for (const float value : values) out[at++] = feature_value(value);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j) {
      out[at++] = feature_value(static_cast<double>(values[i]) * values[j]);
    }
  }
  return at;
}

FeatureSchema schema_of(const FeatureSelection& selection) {
  FeatureSchema schema{.name = "tilecast.table", .version = kVersion, .columns = {}};
  const auto add = [&](FeatureGroup group, auto&& append) {
    if (has(selection, group)) append(schema.columns);
  };
  add(FeatureGroup::kStatic, static_columns);
  add(FeatureGroup::kOps, ops_columns);
  add(FeatureGroup::kShape, shape_columns);
  add(FeatureGroup::kMachine, machine_columns);
  add(FeatureGroup::kTile, tile_columns);
  add(FeatureGroup::kPrior, prior_columns);
  add(FeatureGroup::kParameters, [&](auto& columns) { parameter_columns(selection, columns); });
  return schema;
}

// Writes rows one after the other; what depends on the kernel alone is kept while it stays.
class RowWriter {
 public:
  RowWriter(const FeatureSelection& selection, const hwdesc::Device& device, std::size_t width)
      : machine_(device), scratch_(scratch()) {
    for (const FeatureGroup group : selection.groups)
      asked_[static_cast<std::size_t>(group)] = true;
    scratch_.row.resize(std::max(width, scratch_.row.size()));
  }

  void write(const KernelQuery& query, const std::optional<Estimate>* prior, std::span<float> out) {
    if (&query.kernel != kernel_) start(query.kernel);
    std::copy_n(scratch_.row.begin(), kernel_width_, out.begin());
    std::size_t at = kernel_width_;
    if (asked(FeatureGroup::kTile)) at += write_tile(tile_scan(query), query.tile, out.subspan(at));
    if (asked(FeatureGroup::kPrior)) at += write_prior(*prior, out.subspan(at));
    if (asked(FeatureGroup::kParameters)) {
      at += write_parameters(query.parameters, out.subspan(at));
    }
    TC_CHECK(at == out.size(), "columns and values out of step");
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

  [[nodiscard]] bool asked(FeatureGroup group) const {
    return asked_[static_cast<std::size_t>(group)];
  }

  void start(const ir::Kernel& kernel) {
    kernel_ = &kernel;
    tile_known_ = false;
    kernel_width_ = 0;
    scratch_.kernel.of(kernel);
    const auto rest = [&] { return std::span(scratch_.row).subspan(kernel_width_); };
    const KernelScan& scan = scratch_.kernel;
    if (asked(FeatureGroup::kStatic)) kernel_width_ += write_static(scan, rest());
    if (asked(FeatureGroup::kOps)) kernel_width_ += write_ops(scan, rest());
    if (asked(FeatureGroup::kShape)) kernel_width_ += write_shape(scan, rest());
    if (asked(FeatureGroup::kMachine)) kernel_width_ += write_machine(scan, machine_, rest());
  }

  // Loops are only looked for where there is a tile to cut them.
  const TileScan& tile_scan(const KernelQuery& query) {
    if (query.tile != nullptr && !tile_known_) {
      scratch_.tile.of(scratch_.kernel, machine_.device());
      tile_known_ = true;
    }
    return scratch_.tile;
  }

  std::array<bool, 8> asked_{};
  MachineScan machine_;
  Scratch& scratch_;
  const ir::Kernel* kernel_ = nullptr;
  std::size_t kernel_width_ = 0;
  bool tile_known_ = false;
};

}  // namespace

TableFeatures::TableFeatures(FeatureSelection selection) : selection_(std::move(selection)) {
  check(selection_);
  schema_ = schema_of(selection_);
}

bool TableFeatures::needs_prior() const {
  return has(selection_, FeatureGroup::kPrior);
}

void TableFeatures::extract(std::span<const KernelQuery> queries, const hwdesc::Device& device,
                            std::span<const std::optional<Estimate>> priors,
                            std::span<float> rows) const {
  TC_CHECK(rows.size() == queries.size() * width(), "rows of another size");
  TC_CHECK(!needs_prior() || priors.size() == queries.size(), "a prior per query");
  RowWriter writer(selection_, device, width());
  const bool wants_parameters = has(selection_, FeatureGroup::kParameters);
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
