#include "learned/model_dir.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
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
  const ModelFolder folder(path, model);
  static_cast<void>(folder.read(kLog, kMostBytes));
  return {.card = model.card, .predictor = folder.predictor(), .extra = load_extra(model, folder)};
}

}  // namespace tilecast::learned
