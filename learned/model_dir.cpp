#include "learned/model_dir.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/config_reader.h"
#include "learned/model_card_yaml.h"
#include "measured/measurement_set.h"

namespace tilecast::learned {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCard = "model.yaml";
constexpr const char* kTrees = "trees.ubj";
constexpr const char* kWeights = "weights.bin";
constexpr const char* kProcess = "process.csv";
constexpr const char* kLog = "training.csv";
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr std::size_t kMostScalerBytes = std::size_t{1} << 24;
constexpr std::size_t kMostProcessBytes = std::size_t{1} << 26;
constexpr std::size_t kMostExtraBytes = std::size_t{1} << 26;
constexpr int kMostDevices = 16;  // of a hybrid
constexpr std::string_view kFiles[] = {kCard,
                                       kTrees,
                                       kWeights,
                                       kProcess,
                                       kLog,
                                       "scaler_features.csv",
                                       "scaler_node.csv",
                                       "scaler_at_nodes.csv",
                                       "scaler_at_kernel.csv"};

std::string scaler_file(std::string_view schema) {
  return fmt::format("scaler_{}.csv", schema);
}

bool is_extra(std::string_view file) {
  if (file == "domain.csv" || file == "trust.yaml") return true;
  for (int i = 0; i < kMostDevices; ++i) {
    if (file == fmt::format("device_{}.yaml", i)) return true;
  }
  return false;
}

bool is_ours(std::string_view file) {
  return std::ranges::find(kFiles, file) != std::end(kFiles) || is_extra(file);
}

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw Error(fmt::format("{}: {}", path.string(), what));
}

// --- saving

using Contents = std::map<std::string, std::string>;  // file -> bytes

void add_network(const NetworkPredictorParts& parts, ModelText& model, Contents& contents) {
  model.network_features = parts.features;
  model.network = parts.spec;
  const auto add = [&](const std::string& name, const FeatureSchema& schema,
                       const FeatureScaler& scaler) {
    model.schemas[name] = stamp(schema);
    if (scaler.width() > 0) contents[scaler_file(name)] = scaler.to_csv(schema);
  };
  add("node", node_schema(parts.features.encoding), parts.node_scaler);
  add("at_nodes", TableFeatures(parts.features.at_nodes).schema(), parts.at_nodes_scaler);
  add("at_kernel", TableFeatures(parts.features.at_kernel).schema(), parts.at_kernel_scaler);
  contents[kWeights] = parts.network->save();
}

void add_predictor(const Predictor* predictor, ModelText& model, Contents& contents) {
  ModelCard& card = model.card;
  card.ranks_only = predictor != nullptr && predictor->ranks_only();
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
  } else if (const GpPredictorParts* process = predictor->process()) {
    const TableFeatures features(process->features);
    const FeatureSchema& schema = features.schema();
    card.kind = "gaussian_process";
    card.target = process->target;
    model.features = process->features;
    model.schemas["features"] = stamp(schema);
    contents[scaler_file("features")] = process->scaler.to_csv(schema);
    contents[kProcess] = process->process.save();
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

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) fail(path, fmt::format("cannot write: {}", std::strerror(errno)));
}

// A new folder beside `target`, removed at the end unless it was moved away.
class Beside {
 public:
  Beside(const fs::path& target, std::string_view what) {
    std::error_code failure;
    for (int i = 0; i < kMostAttempts; ++i) {
      path_ = target.parent_path() /
              fmt::format(".{}.{}-{}-{}", target.filename().string(), what, ::getpid(), i);
      if (fs::create_directory(path_, failure)) return;
      if (failure) break;
    }
    const std::string reason = failure ? failure.message() : "too many are there already";
    const fs::path path = std::exchange(path_, {});
    fail(path, "cannot make this folder: " + reason);
  }
  ~Beside() {
    std::error_code failure;
    fs::remove_all(path_, failure);
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  static constexpr int kMostAttempts = 1000;
  fs::path path_;
};

void move_folder(const fs::path& from, const fs::path& to) {
  std::error_code failure;
  fs::rename(from, to, failure);
  if (failure) {
    fail(to, fmt::format("cannot be renamed from {}: {}", from.string(), failure.message()));
  }
}

// Nothing but files of ours may be lost.
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

std::string read_file(const fs::path& path, std::size_t limit) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (status.type() == fs::file_type::not_found) fail(path, "there is no such file");
  if (status.type() != fs::file_type::regular) fail(path, "is no file that can be read");
  return std::string(base::SourceText::read_file(path.string(), limit).text());
}

class Folder {
 public:
  Folder(fs::path path, const ModelText& model) : path_(std::move(path)), model_(model) {}

  // What is there, if it is what was saved.
  [[nodiscard]] std::string read(const std::string& file, std::size_t limit) const {
    const auto known = model_.files.find(file);
    if (known == model_.files.end()) {
      fail(path_ / kCard, fmt::format("files: {} is missing", file));
    }
    std::string bytes = read_file(path_ / file, limit);
    const std::string hash = measured::content_hash(bytes);
    if (hash != known->second) {
      fail(path_ / file, fmt::format("is not the file that was saved; got content {}, expected {}",
                                     hash, known->second));
    }
    return bytes;
  }
  [[nodiscard]] std::string at(const std::string& file) const { return (path_ / file).string(); }
  void require_schema(const std::string& name, const FeatureSchema& schema) const {
    const auto known = model_.schemas.find(name);
    if (known == model_.schemas.end()) {
      fail(path_ / kCard, fmt::format("schemas: {} is missing", name));
    }
    const SchemaStamp ours = stamp(schema);
    if (known->second == ours) return;
    fail(path_ / kCard,
         fmt::format("schemas: {}: got {} version {} ({}), expected {} version {} ({}): the model "
                     "was trained with other features than this build computes; train it again",
                     name, known->second.name, known->second.version, known->second.hash, ours.name,
                     ours.version, ours.hash));
  }
  [[nodiscard]] FeatureScaler scaler(const std::string& name, const FeatureSchema& schema) const {
    require_schema(name, schema);
    if (schema.columns.empty()) return {};
    const std::string file = scaler_file(name);
    return FeatureScaler::from_csv(read(file, kMostScalerBytes), (path_ / file).string(), schema);
  }
  // Where a reader of `file` fails, says which.
  template <class Read>
  auto naming_file(const std::string& file, Read&& read_it) const {
    try {
      return read_it();
    } catch (const Error& error) {
      const std::string path = (path_ / file).string();
      if (std::string_view(error.what()).starts_with(path)) throw;
      fail(path, error.what());
    }
  }

 private:
  fs::path path_;
  const ModelText& model_;
};

std::unique_ptr<Predictor> load_trees(const ModelText& model, const Folder& folder) {
  const TableFeatures features(model.features);
  folder.require_schema("features", features.schema());
  const std::string bytes = folder.read(kTrees, kMostBytes);
  GbtModel trees =
      folder.naming_file(kTrees, [&] { return GbtModel::load(bytes, features.width()); });
  return make_predictor(GbtPredictorParts{.features = model.features,
                                          .model = std::move(trees),
                                          .target = model.card.target,
                                          .ranks_only = model.card.ranks_only});
}

std::unique_ptr<Predictor> load_network(const ModelText& model, const Folder& folder) {
  const NetworkFeatures& features = model.network_features;
  const FeatureSchema& nodes = node_schema(features.encoding);
  const TableFeatures at_nodes(features.at_nodes), at_kernel(features.at_kernel);
  NetworkPredictorParts parts{.features = features,
                              .spec = model.network,
                              .node_scaler = folder.scaler("node", nodes),
                              .at_nodes_scaler = folder.scaler("at_nodes", at_nodes.schema()),
                              .at_kernel_scaler = folder.scaler("at_kernel", at_kernel.schema()),
                              .network = nullptr,
                              .target = model.card.target,
                              .ranks_only = model.card.ranks_only};
  const NetworkWidths widths{.opcodes = opcode_count(features.encoding),
                             .node = nodes.columns.size(),
                             .at_nodes = at_nodes.width(),
                             .at_kernel = at_kernel.width()};
  const std::string weights = folder.read(kWeights, kMostBytes);
  parts.network = folder.naming_file(
      kWeights, [&] { return graph_module().load(model.network, widths, weights); });
  return make_predictor(std::move(parts));
}

std::unique_ptr<Predictor> load_process(const ModelText& model, const Folder& folder) {
  const TableFeatures features(model.features);
  FeatureScaler scaler = folder.scaler("features", features.schema());
  const std::string text = folder.read(kProcess, kMostProcessBytes);
  return make_predictor(GpPredictorParts{
      .features = model.features,
      .scaler = std::move(scaler),
      .process = GaussianProcess::load(text, folder.at(kProcess), features.width()),
      .target = model.card.target});
}

// Null: physics.
std::unique_ptr<Predictor> load_predictor(const ModelText& model, const Folder& folder) {
  if (model.card.kind == "xgboost") return load_trees(model, folder);
  if (model.card.kind == "network") return load_network(model, folder);
  if (model.card.kind == "gaussian_process") return load_process(model, folder);
  return nullptr;
}

ExtraFiles load_extra(const ModelText& model, const Folder& folder) {
  ExtraFiles extra;
  for (const auto& [file, hash] : model.files) {
    if (is_extra(file)) extra[file] = folder.read(file, kMostExtraBytes);
  }
  return extra;
}

Target target_of(const ModelCard& card, const fs::path& file) {
  const auto setting = card.settings.find("target");
  for (std::size_t i = 0; i < std::size(kTargets); ++i) {
    if (setting != card.settings.end() && setting->second == kTargets[i]) {
      return static_cast<Target>(i);
    }
  }
  fail(file, "settings: target: expected time or residual");
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
  const Beside fresh(target, "new");
  for (const auto& [file, bytes] : contents) write_file(fresh.path() / file, bytes);
  if (!replaces) return move_folder(fresh.path(), target);
  const Beside old(target, "old");
  const fs::path kept = old.path() / "model";
  move_folder(target, kept);
  try {
    move_folder(fresh.path(), target);
  } catch (const Error&) {
    fs::rename(kept, target, failure);  // as it was
    throw;
  }
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
  const Folder folder(path, model);
  static_cast<void>(folder.read(kLog, kMostBytes));
  std::unique_ptr<Predictor> predictor = load_predictor(model, folder);
  if (predictor && target_of(model.card, card) == Target::kResidual) {
    predictor = on_prior(std::move(predictor));
  }
  ExtraFiles extra = load_extra(model, folder);
  return {std::move(model.card), std::move(predictor), std::move(extra)};
}

}  // namespace tilecast::learned
