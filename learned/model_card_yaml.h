// Reads and writes model.yaml: a saved model's card and the settings to rebuild its predictor, as
// strict YAML. learned/model_dir.h handles the folder. Pure, thread-safe.
#pragma once

#include <map>
#include <string>

#include "hwdesc/config_reader.h"
#include "learned/model_dir.h"

namespace tilecast::learned {

// A schema's identity, as stored with a model.
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

// Reads feature groups from a YAML list. Throws Error for an unknown one.
[[nodiscard]] std::vector<FeatureGroup> feature_groups(const hwdesc::ConfigNode& node);
[[nodiscard]] std::string list_text(const std::vector<FeatureGroup>& groups);
[[nodiscard]] std::string list_text(const std::vector<std::string>& texts);  // quoted

// Includes the `check` line. Throws Error if a text or number of the card cannot be written.
[[nodiscard]] std::string model_yaml(const ModelText& model);
// Throws Error with file, line and column for missing, unknown or malformed keys, another format,
// and text that was changed after it was written.
[[nodiscard]] ModelText read_model_yaml(const std::string& text, const std::string& file);

}  // namespace tilecast::learned
