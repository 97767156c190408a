// What the columns of a table of features mean: an ordered, versioned list that explains every one.
//
//   for (const FeatureColumn& c : schema.columns) fmt::print("{} [{}] {}\n", c.name, c.unit,
//   c.doc);
//
// A model is only ever used with the schema it was trained on: model.yaml holds name, version and
// hash, and loading refuses any other. Values, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilecast::learned {

// Columns come in groups, so that each can be ablated.
enum class FeatureGroup {
  kStatic,   // the four static performance features of Kaufman et al. (MLSys 2021), section 3.1
  kOps,      // what the kernel is made of: counts of op classes, elements worked on, dtypes
  kShape,    // output and parameter shapes, contraction, window: lists as sub-vector, sum, product
  kTile,     // bounds of the tile: lists as sub-vector, sum, product (24 columns, as TpuGraphs)
  kPrior,    // terms of the analytical estimate
  kMachine,  // dimensionless ratios of the machine, and of kernel to machine
  kCode,     // of innermost loops: registers that expressions need, arithmetic, arrays
  kAlignment,   // sizes over and modulo those of the native tile (of vector units without one)
  kTileBounds,  // the analytical estimate over the tiles the kernel could have: quantiles
  kCurve,       // context relations of the loops that the tile stands for (schedule_nodes.h)
  kParameters,  // how the kernel was written, and products of two: named by the measurement set
  kTokens,      // of the kernel's text: how often each token of a vocabulary stands there
  kNode         // of one op in a graph of ops
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
  int version = 1;   // of how values are computed; part of the hash
  std::vector<FeatureColumn> columns;

  [[nodiscard]] std::string hash() const;  // hex; of name, version, column names and units
};

}  // namespace tilecast::learned
