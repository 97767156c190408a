// Schema of a feature table: an ordered, versioned list of documented columns.
//
//   for (const FeatureColumn& c : schema.columns) fmt::print("{} [{}] {}\n", c.name, c.unit,
//   c.doc);
//
// A model can only be used with the schema it was trained on: model.yaml stores name, version and
// hash, and loading rejects any other. Values, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilecast::learned {

// Columns come in groups, so that each can be ablated.
enum class FeatureGroup {
  kStatic,   // the four static performance features of Kaufman et al. (MLSys 2021), section 3.1
  kOps,      // counts of op classes, elements processed, dtypes
  kShape,    // output and parameter shapes, contraction, window: lists as sub-vector, sum, product
  kTile,     // bounds of the tile: lists as sub-vector, sum, product (24 columns, as TpuGraphs)
  kPrior,    // terms of the analytical estimate
  kMachine,  // dimensionless ratios of the machine, and of kernel to machine
  kCode,     // innermost loops: registers needed by expressions, arithmetic, arrays
  kAlignment,   // sizes divided by and modulo the native tile's (else the vector unit's)
  kTileBounds,  // quantiles of analytical estimates over the kernel's possible tiles
  kCurve,       // context relations of the tile's loops (schedule_nodes.h)
  kParameters,  // parameters of the implementation, named by the set, and products of two
  kTokens,      // count of each vocabulary token in the kernel's text
  kNode         // one op in a graph of ops
};
[[nodiscard]] std::string_view name(FeatureGroup group);  // "static", "ops", ...
[[nodiscard]] std::optional<FeatureGroup> parse_feature_group(std::string_view text);

struct FeatureColumn {
  std::string name;  // "static.flops"; unique
  std::string unit;  // "B", "s", "1"
  std::string doc;   // one sentence
  FeatureGroup group = FeatureGroup::kStatic;
};

struct FeatureSchema {
  std::string name;  // "tilecast.table"
  int version = 1;   // changes when values are computed differently; part of the hash
  std::vector<FeatureColumn> columns;

  [[nodiscard]] std::string hash() const;  // hex; covers name, version, column names and units
};

}  // namespace tilecast::learned
