#include "learned/model_dir.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/output_file.h"
#include "hwdesc/config_reader.h"
#include "learned/model_files.h"

namespace tilecast::learned {
namespace {

namespace fs = std::filesystem;

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

ExtraFiles load_extra(const ModelText& model, const ModelFolder& folder) {
  ExtraFiles extra;
  for (const auto& [file, hash] : model.files) {
    if (is_extra(file)) extra[file] = folder.read(file, kMostExtraBytes);
  }
  return extra;
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
  const ModelFolder folder(path, model);
  static_cast<void>(folder.read(kLog, kMostBytes));
  return {.card = model.card, .predictor = folder.predictor(), .extra = load_extra(model, folder)};
}

}  // namespace tilecast::learned
