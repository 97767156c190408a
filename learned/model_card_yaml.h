// model.yaml: the card of a saved model and what its predictor is rebuilt from, as strict YAML.
// learned/model_dir.h reads and writes the folder around it. Pure, thread-safe.
#pragma once

#include <map>
#include <string>

#include "hwdesc/config_reader.h"
#include "learned/model_dir.h"

namespace tilecast::learned {

// A schema as a model remembers it.
struct SchemaStamp {
  std::string name, hash;
  int version = 0;
  friend bool operator==(const SchemaStamp&, const SchemaStamp&) = default;
};
[[nodiscard]] SchemaStamp stamp(const FeatureSchema& schema);

struct ModelText {
  ModelCard card;
  FeatureSelection features;                   // xgboost
  NetworkFeatures network_features;            // network
  NetworkSpec network;                         // network
  std::map<std::string, SchemaStamp> schemas;  // "features" | "node", "at_nodes", "at_kernel"
  std::map<std::string, std::string> files;    // name -> content hash
};

// Feature groups as a YAML list; an unknown one: Error.
[[nodiscard]] std::vector<FeatureGroup> feature_groups(const hwdesc::ConfigNode& node);
[[nodiscard]] std::string list_text(const std::vector<FeatureGroup>& groups);
[[nodiscard]] std::string list_text(const std::vector<std::string>& texts);  // quoted

// With its `check` line. Throws Error where a text or number of the card cannot be written.
[[nodiscard]] std::string model_yaml(const ModelText& model);
// Throws Error with file, line and column: keys missing, unknown or of the wrong form, another
// format, a text that is not the one written.
[[nodiscard]] ModelText read_model_yaml(const std::string& text, const std::string& file);

}  // namespace tilecast::learned
