// A trained model on disk: a folder of plain files.
//
//   model.yaml      the card: what it is, what it was trained on, how good it is (below)
//   trees.ubj       XGBoost's UBJSON, or
//   weights.bin     learned/graph_network.h, with scaler_*.csv beside it
//   vocabulary.csv  learned/vocabulary.h, of models of text
//   training.csv    one row per round or epoch
//
// and the extra files of a hybrid (hybrid/hybrid_dir.h).
// model.yaml (format tilecast.model/1) holds, besides the card's fields, the learner's settings
// (learned/training/learner.h), and the content hash of every file: loading refuses a folder whose
// files are not those, whose schema is not what this build computes, or that is of another format,
// naming the file and the reason. Its last line, `check`, is the content hash of the lines before
// it. Written to a temporary folder, then renamed. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "learned/predictor.h"

namespace tilecast::learned {

struct ModelData {  // a measurement set it was trained on
  std::string name, hash, device, licence;
  std::size_t train = 0, validation = 0, test = 0;  // rows
};
struct ModelMetric {   // on the test rows; baseline: the analytical model on the same rows
  std::string metric;  // measured/evaluation.h
  std::size_t n = 0;
  double value = 0;
  std::optional<double> baseline;
  std::string of = {};  // some of the test rows: "class dot"; empty: all
};

struct ModelCard {
  // kind: xgboost | network, or physics: a hybrid without a learned part.
  std::string name, kind;
  std::string created;  // date, or empty
  std::string split;    // "random by program, seed 1: 8 of 12 train, 2 validation, 2 test"
  std::uint64_t seed = 1;
  std::vector<ModelData> data;
  std::vector<ModelMetric> metrics;
  std::vector<std::string> op_classes, devices, families;     // trained domain
  std::map<std::string, std::string> settings;                // learner's, by parameter name
  std::vector<std::pair<std::string, std::string>> versions;  // tilecast, XGBoost | LibTorch
  double training_seconds = 0;
  Standardisation target;
  Target predicts = {};  // quantity, unit, scale; residual: as `settings` say
  bool ranks_only = false;
  bool hybrid = false;
};

using ExtraFiles = std::map<std::string, std::string>;  // name -> text

struct LoadedModel {
  ModelCard card;
  std::unique_ptr<Predictor> predictor;  // null where the kind is physics
  ExtraFiles extra = {};
};

struct ModelFiles {  // what is saved
  ModelCard card;
  const Predictor* predictor = nullptr;  // null: physics; the card must say `hybrid`
  std::string training_csv;
  ExtraFiles extra = {};  // of a hybrid; the names above
};

// `directory` must not exist, or hold a model of ours, nothing else, and `force`. The card's kind,
// ranks_only, target and predicts are the predictor's. Throws Error.
void save_model(const ModelFiles& files, const std::string& directory, bool force = false);
[[nodiscard]] LoadedModel load_model(const std::string& directory);
[[nodiscard]] bool is_model_directory(const std::string& path);  // has a model.yaml

}  // namespace tilecast::learned
