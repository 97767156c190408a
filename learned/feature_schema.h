// Schema of a feature table: an ordered, versioned list of documented columns.
//
//   for (const FeatureColumn& c : schema.columns) fmt::print("{} [{}] {}\n", c.name, c.unit,
//   c.doc);
//
// A model can only be used with the schema it was trained on: model.yaml stores name, version and
// hash, and loading rejects any other. Values, thread-safe.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/shape.h"

namespace tilecast::learned {

// Columns come in groups, so that each can be ablated.
enum class FeatureGroup {
  kStatic,   // the four static performance features of Kaufman et al. (MLSys 2021), section 3.1
  kOps,      // counts of op classes, elements processed, dtypes
  kShape,    // output and parameter shapes, contraction, window: lists as sub-vector, sum, product
  kTile,     // bounds of the tile: lists as sub-vector, sum, product (24 columns, as TpuGraphs)
  kPrior,    // terms of the analytical estimate
  kMachine,  // dimensionless ratios of the machine, and of kernel to machine
  kAlignment,   // sizes divided by and modulo the native tile's (else the vector unit's)
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

// Declares feature columns where their values are computed. The same calls either name the columns
// of a schema or fill a row, so names and values always match.
//
//   void size_columns(const Facts& facts, Columns& to) { to.value({"rank", "Dimensions."}, 2); }
//   Columns names(FeatureGroup::kShape, schema);  size_columns({}, names);
//   Columns row(floats);                          size_columns(facts, row);
//
// A list gives its first entries (0 if it is shorter), its sum and its product (Kaufman et al.,
// MLSys 2021, section 3.1), all NaN if the list does not exist. Values are clamped to the range of
// float. Not thread-safe.

class Columns {
 public:
  // Name of a column or list, without its group; its meaning in one sentence; its unit.
  struct Text {
    std::string_view name, doc, unit = "1";
  };
  // Name and meaning of one of several columns: "dot", "class dot".
  struct PartName {
    std::string name, doc;
  };

  Columns(FeatureGroup group, FeatureSchema& schema) : schema_(&schema), group_(group) {}
  explicit Columns(float* row) : next_(row) {}

  void value(const Text& text, double value) {
    if (schema_ != nullptr) return name_column(text, "", std::string(text.doc));
    constexpr double kMost = std::numeric_limits<float>::max();
    *next_++ = static_cast<float>(value > kMost ? kMost : value < -kMost ? -kMost : value);
  }
  // NAME.0 ... NAME.(n - 1), then NAME.sum and NAME.product. nullptr gives NaN.
  void list(const Text& text, const ir::Dims* values, std::size_t n, double product_of_none);
  void list(const Text& text, const ir::Dims& values, std::size_t n, double product_of_none) {
    list(text, &values, n, product_of_none);
  }
  // Only NAME.0 ... NAME.(n - 1).
  void entries(const Text& text, const ir::Dims& values, std::size_t n);
  // NAME.PART for each value. The doc of `text` must not end with a full stop.
  void parts(const Text& text, std::span<const double> values, PartName (*part)(std::size_t));

  // One past the last value written.
  [[nodiscard]] float* end() const { return next_; }

 private:
  void name_column(const Text& text, std::string_view suffix, std::string doc);

  FeatureSchema* schema_ = nullptr;
  FeatureGroup group_ = FeatureGroup::kNode;
  float* next_ = nullptr;
};

}  // namespace tilecast::learned
