#include "learned/model_dir.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/output_file.h"
#include "base/source_text.h"
#include "base/text.h"
#include "hwdesc/config_reader.h"
#include "learned/model_card_yaml.h"
#include "measured/measurement_set.h"

namespace tilecast::learned {
namespace {

namespace fs = std::filesystem;

using Contents = std::map<std::string, std::string>;  // file -> bytes

constexpr const char* kCard = "model.yaml";
constexpr const char* kLog = "training.csv";
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr std::size_t kMostExtraBytes = std::size_t{1} << 26;

// A model's folder.
class ModelFolder {
 public:
  ModelFolder(std::filesystem::path path, ModelText model)
      : path_(std::move(path)), model_(std::move(model)) {}

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
  ModelText model_;
};

constexpr const char* kTrees = "trees.ubj";
constexpr const char* kWeights = "weights.bin";
constexpr const char* kVocabulary = "vocabulary.csv";
constexpr std::size_t kMostScalerBytes = std::size_t{1} << 24;
// A hybrid's files, by number.
struct Numbered {
  std::string_view prefix, suffix;
  unsigned most;
};
constexpr Numbered kNumbered[] = {{"device_", ".yaml", 16},
                                  {"known_", ".csv", 10000},
                                  {"member_", ".trees", 32},
                                  {"member_", ".ubj", 32}};  // of older ones, as is known.csv
constexpr std::string_view kFiles[] = {kCard,
                                       kTrees,
                                       kWeights,
                                       kVocabulary,
                                       kLog,
                                       "known.csv",
                                       "scaler_node.csv",
                                       "scaler_at_nodes.csv",
                                       "scaler_at_kernel.csv"};

// A hybrid's file.
bool is_extra(std::string_view file) {
  if (file == "correction.yaml" || file == "bands.csv") return true;
  for (const Numbered& form : kNumbered) {
    if (!file.starts_with(form.prefix) || !file.ends_with(form.suffix)) continue;
    file.remove_prefix(form.prefix.size());
    file.remove_suffix(std::min(file.size(), form.suffix.size()));
    const auto number = base::parse_number<unsigned>(file);
    return number && *number < form.most;
  }
  return false;
}

// Any file that a model may have.
bool is_ours(std::string_view file) {
  return std::ranges::find(kFiles, file) != std::end(kFiles) || is_extra(file);
}

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw Error(fmt::format("{}: {}", path.string(), what));
}

std::string scaler_file(std::string_view schema) {
  return fmt::format("scaler_{}.csv", schema);
}

void add_vocabulary(const Vocabulary& vocabulary, Contents& contents) {
  if (!vocabulary.empty()) contents[kVocabulary] = vocabulary.to_csv();
}

void add_network(const NetworkPredictorParts& parts, ModelText& model, Contents& contents) {
  model.network_features = parts.features;
  model.network = parts.spec;
  const auto add = [&](const std::string& name, const FeatureSchema& schema,
                       const FeatureScaler& scaler) {
    model.schemas[name] = stamp(schema);
    if (scaler.width() > 0) contents[scaler_file(name)] = scaler.to_csv(schema);
  };
  add("node", node_schema(parts.features), parts.node_scaler);
  add("at_nodes", TableFeatures(parts.features.at_nodes).schema(), parts.at_nodes_scaler);
  add("at_kernel", TableFeatures(parts.features.at_kernel).schema(), parts.at_kernel_scaler);
  contents[kWeights] = parts.network->save();
  add_vocabulary(parts.features.vocabulary, contents);
}

void add_predictor(const Predictor* predictor, ModelText& model, Contents& contents) {
  ModelCard& card = model.card;
  card.ranks_only = predictor != nullptr && predictor->ranks_only();
  card.predicts = predictor != nullptr ? predictor->target() : Target{};
  if (predictor == nullptr) {
    TC_CHECK(card.hybrid, "no predictor to save");
    card.kind = "physics";
    card.target = {};
  } else if (const GbtPredictorParts* trees = predictor->trees()) {
    card.kind = "xgboost";
    card.target = trees->target;
    model.features = trees->features;
    model.schemas["features"] = stamp(TableFeatures(trees->features).schema());
    contents[kTrees] = trees->model.save();
    add_vocabulary(trees->features.vocabulary, contents);
  } else {
    TC_CHECK(predictor->network() != nullptr, "a predictor of no known kind");
    card.kind = "network";
    card.target = predictor->network()->target;
    add_network(*predictor->network(), model, contents);
  }
}

void add_extra(const ModelFiles& files, Contents& contents) {
  TC_CHECK(files.card.hybrid || files.extra.empty(), "extra files of what is no hybrid");
  for (const auto& [file, text] : files.extra) {
    TC_CHECK(is_extra(file), "a file that no model has");
    if (text.size() > kMostExtraBytes) {
      throw Error(fmt::format("{}: {} bytes are more than {} can be read back", file, text.size(),
                              kMostExtraBytes));
    }
    contents[file] = text;
  }
}

// Adds the file's name to errors of its reader.
template <class Read>
auto naming_file(const fs::path& file, Read&& read_it) {
  try {
    return read_it();
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(file.string())) throw;
    fail(file, error.what());
  }
}

// All files, including the card with the hashes of the others. Throws Error if one could not be
// read back.
Contents contents_of(const ModelFiles& files) {
  ModelText model{.card = files.card};
  Contents contents;
  add_predictor(files.predictor, model, contents);
  add_extra(files, contents);
  contents[kLog] = files.training_csv;
  for (const auto& [file, bytes] : contents) model.files[file] = measured::content_hash(bytes);
  contents[kCard] = model_yaml(model);
  if (contents[kCard].size() > hwdesc::kMaxConfigBytes) {
    throw Error(fmt::format("{}: {} bytes are more than {} can be read back", kCard,
                            contents[kCard].size(), hwdesc::kMaxConfigBytes));
  }
  return contents;
}

// Throws Error if the file is larger than `limit` bytes or not a regular file.
std::string read_file(const fs::path& path, std::size_t limit) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (status.type() == fs::file_type::not_found) fail(path, "there is no such file");
  if (status.type() != fs::file_type::regular) fail(path, "is no file that can be read");
  return base::SourceText::read_bytes(path.string(), limit);
}

fs::path ModelFolder::at(const std::string& file) const {
  return path_ / file;
}

std::string ModelFolder::read(const std::string& file, std::size_t limit) const {
  const auto known = model_.files.find(file);
  if (known == model_.files.end()) fail(at(kCard), fmt::format("files: {} is missing", file));
  std::string bytes = read_file(at(file), limit);
  const std::string hash = measured::content_hash(bytes);
  if (hash != known->second) {
    fail(at(file), fmt::format("is not the file that was saved; got content {}, expected {}", hash,
                               known->second));
  }
  return bytes;
}

void ModelFolder::require_schema(const std::string& name, const FeatureSchema& schema) const {
  const auto known = model_.schemas.find(name);
  if (known == model_.schemas.end()) fail(at(kCard), fmt::format("schemas: {} is missing", name));
  const SchemaStamp ours = stamp(schema);
  if (known->second == ours) return;
  fail(at(kCard),
       fmt::format("schemas: {}: got {} version {} ({}), expected {} version {} ({}): the model "
                   "was trained with other features than this build computes; train it again",
                   name, known->second.name, known->second.version, known->second.hash, ours.name,
                   ours.version, ours.hash));
}

FeatureScaler ModelFolder::scaler(const std::string& name, const FeatureSchema& schema) const {
  require_schema(name, schema);
  if (schema.columns.empty()) return {};
  const std::string file = scaler_file(name);
  return FeatureScaler::from_csv(read(file, kMostScalerBytes), at(file).string(), schema);
}

Vocabulary ModelFolder::vocabulary(bool reads_text) const {
  if (!reads_text) return {};
  return Vocabulary::from_csv(read(kVocabulary, kMostScalerBytes), at(kVocabulary).string());
}

std::unique_ptr<Predictor> ModelFolder::trees() const {
  FeatureSelection selection = model_.features;
  selection.vocabulary = vocabulary(has_group(selection, FeatureGroup::kTokens));
  const TableFeatures features(selection);
  require_schema("features", features.schema());
  std::string bytes = read(kTrees, kMostBytes);
  GbtModel trees =
      naming_file(at(kTrees), [&] { return GbtModel::load(std::move(bytes), features.width()); });
  return make_predictor(GbtPredictorParts{.features = std::move(selection),
                                          .model = std::move(trees),
                                          .target = model_.card.target,
                                          .ranks_only = model_.card.ranks_only});
}

std::unique_ptr<Predictor> ModelFolder::network() const {
  NetworkFeatures features = model_.network_features;
  features.vocabulary = vocabulary(features.encoding == GraphEncoding::kText);
  const FeatureSchema nodes = node_schema(features);
  const TableFeatures at_nodes(features.at_nodes), at_kernel(features.at_kernel);
  NetworkPredictorParts parts{.features = features,
                              .spec = model_.network,
                              .node_scaler = scaler("node", nodes),
                              .at_nodes_scaler = scaler("at_nodes", at_nodes.schema()),
                              .at_kernel_scaler = scaler("at_kernel", at_kernel.schema()),
                              .network = nullptr,
                              .target = model_.card.target,
                              .ranks_only = model_.card.ranks_only};
  const NetworkWidths widths{.opcodes = opcode_count(features),
                             .node = nodes.columns.size(),
                             .at_nodes = at_nodes.width(),
                             .at_kernel = at_kernel.width()};
  const std::string weights = read(kWeights, kMostBytes);
  parts.network = naming_file(at(kWeights),
                              [&] { return graph_module().load(model_.network, widths, weights); });
  return make_predictor(std::move(parts));
}

Target ModelFolder::target() const {
  const auto setting = model_.card.settings.find("target");
  if (setting == model_.card.settings.end()) fail(at(kCard), "settings: target is missing");
  const Target target = target_of_setting(setting->second);
  const Target& predicts = model_.card.predicts;
  if (target.is_time() && predicts.is_time()) return target;
  if (target.quantity == predicts.quantity) return predicts;
  fail(at(kCard), fmt::format("settings: target: got {}, but the model predicts {}",
                              setting->second, predicts.quantity));
}

std::unique_ptr<Predictor> ModelFolder::predictor() const {
  const std::string& kind = model_.card.kind;
  if (kind == "physics") return nullptr;
  return answering(target(), kind == "xgboost" ? trees() : network());
}

// --- saving

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) fail(path, fmt::format("cannot write: {}", std::strerror(errno)));
}

// Only a model's own files may be overwritten.
void require_replaceable(const fs::path& target, bool force) {
  if (!is_model_directory(target.string())) {
    fail(target, "exists and is no model; expected a new folder, or a model to replace");
  }
  if (!force) fail(target, "a model is there already; force replaces it");
  for (const fs::directory_entry& entry : fs::directory_iterator(target)) {
    const std::string name = entry.path().filename().string();
    if (!is_ours(name) || entry.is_directory()) {
      fail(target, fmt::format("holds '{}', which is no file of a model; it would be lost", name));
    }
  }
}

// --- loading

fs::path folder_of(const std::string& directory) {
  fs::path path = fs::path(directory).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "models/x/"
  if (path.empty()) throw Error("a model's folder: got '', expected a path");
  return path;
}

}  // namespace

void save_model(const ModelFiles& files, const std::string& directory, bool force) {
  const fs::path target = folder_of(directory);
  const bool replaces = fs::exists(fs::symlink_status(target));
  if (replaces) require_replaceable(target, force);
  const Contents contents = contents_of(files);
  std::error_code failure;
  if (target.has_parent_path()) fs::create_directories(target.parent_path(), failure);
  if (failure) fail(target.parent_path(), "cannot make this folder: " + failure.message());
  base::FolderBeside fresh(target);
  for (const auto& [file, bytes] : contents) write_file(fresh.path() / file, bytes);
  fresh.take_place();
}

bool is_model_directory(const std::string& path) {
  std::error_code failure;
  return fs::is_regular_file(fs::path(path) / kCard, failure);
}

LoadedModel load_model(const std::string& directory) {
  const fs::path path = folder_of(directory);
  if (!is_model_directory(path.string())) {
    fail(path, "is no model; expected a folder with a model.yaml, as tilecast train writes");
  }
  const fs::path card = path / kCard;
  ModelText model = read_model_yaml(read_file(card, hwdesc::kMaxConfigBytes), card.string());
  const auto folder = std::make_shared<const ModelFolder>(path, model);
  static_cast<void>(folder->read(kLog, kMostBytes));
  LoadedModel loaded{.card = std::move(model.card), .predictor = folder->predictor()};
  for (const auto& [file, hash] : model.files) {
    if (!is_extra(file)) continue;
    loaded.extra.emplace(file,
                         [folder, file = file] { return folder->read(file, kMostExtraBytes); });
  }
  return loaded;
}

}  // namespace tilecast::learned
