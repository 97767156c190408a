// A trained model on disk: a folder of plain files.
//
//   model.yaml      the card: kind, training data, metrics (below)
//   trees.ubj       XGBoost's UBJSON, for trees
//   weights.bin     learned/graph_network.h, for networks, with scaler_*.csv
//   vocabulary.csv  learned/vocabulary.h, for models of text
//   training.csv    one row per round or epoch
//
// and the extra files of a hybrid (hybrid/hybrid_dir.h). model.yaml (format tilecast.model/1) holds
// the card's fields, the learner's settings (learned/training/learner.h) and the content hash of
// every file. Its last line, `check`, is the content hash of the preceding lines. Loading throws
// Error, naming file and reason, if a file differs from its hash, the schema differs from this
// build's, or the format is another. A model is written to a temporary folder, then renamed.
// Thread-safe.
#pragma once

#include <functional>
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
  std::string of = {};  // subset of the test rows: "class dot"; empty: all
};

struct ModelCard {
  // kind: xgboost | network | physics (for a hybrid).
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
  Target predicts = {};  // quantity, unit, scale; `residual` follows `settings`
  bool ranks_only = false;
  bool hybrid = false;
};

using ExtraFiles = std::map<std::string, std::string>;  // name -> text

struct LoadedModel {
  ModelCard card;
  std::unique_ptr<Predictor> predictor;  // nullptr if the kind is physics
  // Read and check a file: most programs do not need all files of a hybrid.
  std::map<std::string, std::function<std::string()>> extra = {};
};

struct ModelFiles {  // input of save_model()
  ModelCard card;
  const Predictor* predictor = nullptr;  // nullptr for physics; the card must then say `hybrid`
  std::string training_csv;
  ExtraFiles extra = {};  // of a hybrid, by the file names above
};

// `directory` must not exist, unless it holds only a saved model and `force` is set. The card's
// kind, ranks_only, target and predicts are taken from the predictor. Throws Error on failure.
void save_model(const ModelFiles& files, const std::string& directory, bool force = false);
[[nodiscard]] LoadedModel load_model(const std::string& directory);
[[nodiscard]] bool is_model_directory(const std::string& path);  // has a model.yaml

}  // namespace tilecast::learned
