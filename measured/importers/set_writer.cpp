#include "measured/importers/set_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/source_text.h"
#include "hwdesc/device_yaml.h"
#include "measured/csv.h"
#include "measured/importers/import_manifest.h"

namespace tilecast::measured {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kFlushBytes = 1 << 20;

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

[[noreturn]] void cannot_write(const std::string& path) {
  throw Error(fmt::format("{}: cannot write it: {}", path, std::strerror(errno)));
}

// The words in a set's file that may name other files: cells, values, and both without a kernel's
// name.
std::set<std::string, std::less<>> words_of(const fs::path& file, std::string_view between) {
  std::set<std::string, std::less<>> words;
  std::error_code none;
  if (!fs::exists(file, none)) return words;
  const std::string text = base::SourceText::read_bytes(file.string());
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find_first_of(between, at), text.size());
    words.insert(text.substr(at, end - at));
  }
  return words;
}

// Throws Error if `target` holds files that are not part of a measurement set and would be lost.
void require_ours(const fs::path& target) {
  constexpr std::string_view kTables[] = {"manifest.yaml", "measurements.csv", "skipped.csv",
                                          "sessions.csv"};
  auto words = words_of(target / "manifest.yaml", " \",{}\n");
  for (const char* table : {"measurements.csv", "skipped.csv"}) {
    words.merge(words_of(target / table, "\",#\n"));
  }
  const auto is_ours = [&](const fs::path& file) {
    return std::ranges::count(kTables, file.string()) > 0 || words.contains(file.string());
  };
  for (const auto& entry : fs::recursive_directory_iterator(target)) {
    const fs::path file = entry.path().lexically_relative(target);
    if (entry.is_symlink() || (!entry.is_directory() && !is_ours(file))) {
      throw Error(fmt::format("{}: holds '{}', which is no file of the set; it would be lost",
                              target.string(), file.string()));
    }
  }
}

void require_free(const std::string& target, bool force) {
  std::error_code failure;
  if (!fs::exists(target, failure)) return;
  if (!fs::is_directory(target, failure)) {
    throw Error(fmt::format("{}: there is a file; expected a folder to make", target));
  }
  if (fs::is_empty(target, failure)) return;
  if (!force) {
    throw Error(fmt::format("{}: the folder is not empty; --force replaces it", target));
  }
  if (!fs::exists(fs::path(target) / "manifest.yaml", failure)) {
    throw Error(fmt::format(
        "{}: the folder is not empty and holds no manifest.yaml: not a measurement set, so it is "
        "not replaced",
        target));
  }
  require_ours(target);
}

// Replaces the only device of a manifest by `device`.
void rename_device(const std::string& device, Manifest& manifest) {
  if (manifest.devices.empty()) {
    manifest.device = device;
  } else if (manifest.devices.size() == 1) {
    manifest.devices.begin()->second = device;
  } else {
    throw Error(fmt::format("--device {}: the rows are of {} devices; expected rows of one", device,
                            manifest.devices.size()));
  }
}

}  // namespace

SetWriter::SetWriter(const ImportOptions& options)
    : target_(without_slash(options.output)), name_(options.name) {
  if (target_.empty()) throw Error("the folder to write has no name");
  if (!options.device.empty()) device_ = resolve_device(options.device, {});
  require_free(target_, options.force);
  claim_.emplace(target_, base::Output::kFolder);
  fresh_.emplace(target_);
}

std::ofstream SetWriter::open_file(const std::string& name) {
  const fs::path path = fresh_->path() / name;
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (!out) cannot_write(target_ + "/" + name);
  return out;
}

void SetWriter::add_file(const std::string& name, std::string_view bytes) {
  std::ofstream out = open_file(name);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) cannot_write(target_ + "/" + name);
}

void SetWriter::begin_rows(const std::vector<std::string>& columns) {
  rows_ = open_file("measurements.csv");
  add(columns);
}

void SetWriter::add(const std::vector<std::string>& cells) {
  pending_ += csv_line(cells);
  if (pending_.size() >= kFlushBytes) flush();
}

void SetWriter::flush() {
  rows_.write(pending_.data(), static_cast<std::streamsize>(pending_.size()));
  pending_.clear();
  if (!rows_) cannot_write(target_ + "/measurements.csv");
}

// Copies a device description into the set; one with a relative path is already there.
void SetWriter::copy_device(std::string& device) {
  if (!hwdesc::is_path(device) || !fs::path(device).is_absolute()) return;
  auto& copy = copies_[device];
  if (copy.empty()) {
    copy = fmt::format("devices/{}{}.yaml", fs::path(device).stem().string(),
                       copies_.size() > 1 ? fmt::format("_{}", copies_.size()) : "");
    add_file(copy, hwdesc::print_device(hwdesc::load_device(device)));
  }
  device = copy;
}

void SetWriter::commit(Manifest manifest) {
  flush();
  rows_.close();
  if (!rows_) cannot_write(target_ + "/measurements.csv");
  if (!name_.empty()) manifest.name = name_;
  if (!device_.empty()) rename_device(device_, manifest);
  copy_device(manifest.device);
  for (auto& [cell, device] : manifest.devices) copy_device(device);
  add_file("manifest.yaml", manifest_text(manifest));
  fresh_->take_place();
}

}  // namespace tilecast::measured
