// The files of a saved model, without the folder they are in. Internal to model_dir.cpp.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "learned/model_card_yaml.h"
#include "learned/model_dir.h"

namespace tilecast::learned {

using Contents = std::map<std::string, std::string>;  // file -> bytes

inline constexpr const char* kCard = "model.yaml";
inline constexpr const char* kLog = "training.csv";
inline constexpr std::size_t kMostBytes = std::size_t{1} << 30;
inline constexpr std::size_t kMostExtraBytes = std::size_t{1} << 26;

[[nodiscard]] bool is_extra(std::string_view file);  // a hybrid's file
[[nodiscard]] bool is_ours(std::string_view file);   // any file that a model may have

// All files, including the card with the hashes of the others. Throws Error if one could not be
// read back.
[[nodiscard]] Contents contents_of(const ModelFiles& files);

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what);
// Throws Error if the file is larger than `limit` bytes or not a regular file.
[[nodiscard]] std::string read_file(const std::filesystem::path& path, std::size_t limit);

// A model's folder.
class ModelFolder {
 public:
  // Keeps a reference to `model`.
  ModelFolder(std::filesystem::path path, const ModelText& model)
      : path_(std::move(path)), model_(model) {}

  // The file's contents; throws Error if they differ from what was saved.
  [[nodiscard]] std::string read(const std::string& file, std::size_t limit) const;
  // nullptr for physics.
  [[nodiscard]] std::unique_ptr<Predictor> predictor() const;

 private:
  [[nodiscard]] std::filesystem::path at(const std::string& file) const;
  void require_schema(const std::string& name, const FeatureSchema& schema) const;
  [[nodiscard]] FeatureScaler scaler(const std::string& name, const FeatureSchema& schema) const;
  [[nodiscard]] Vocabulary vocabulary(bool reads_text) const;
  [[nodiscard]] std::unique_ptr<Predictor> trees() const;
  [[nodiscard]] std::unique_ptr<Predictor> network() const;
  [[nodiscard]] Target target() const;

  std::filesystem::path path_;
  const ModelText& model_;
};

}  // namespace tilecast::learned
