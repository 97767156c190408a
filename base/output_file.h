// Writes output files safely: completely or not at all, and never over an input.
//
//   const OutputClaim claim("dev.yaml");   // before the work: can it be written?
//   SourceText::read_file("./dev.yaml");   // Error: the output is an input
//   replace_file("dev.yaml", text);
//
// All functions throw Error with the path and the reason. Thread-safe for different files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tilecast::base {

// While a claim exists, this process refuses to read the file, or files in the folder, under any
// name. Throws if it cannot be written or is claimed already. Pipes and devices are never claimed.
enum class Output { kFile, kFolder };
class OutputClaim {
 public:
  explicit OutputClaim(const std::string& path, Output kind = Output::kFile);
  ~OutputClaim();
  OutputClaim(const OutputClaim&) = delete;
  OutputClaim& operator=(const OutputClaim&) = delete;
};
// Called by every reader of files; throws if the file is a claimed output.
void refuse_claimed(const std::string& path);

// For output folders: throws unless `path`, or the nearest existing folder above it, is writable.
void require_writable(const std::string& path);

// Replaces the file with a new one of the same mode. Symbolic links are followed; a file with
// several hard links, a pipe or a device is written in place. `durable`: on disk when this returns.
void replace_file(const std::string& path, std::string_view text, bool durable = false);

// Writes all of `text`; `path` is for the message.
void write_all(int fd, std::string_view text, const std::string& path);

// A new folder with an unpredictable name, next to `target`; removed with its contents unless it
// took the target's place.
class FolderBeside {
 public:
  explicit FolderBeside(const std::filesystem::path& target);
  ~FolderBeside();
  FolderBeside(const FolderBeside&) = delete;
  FolderBeside& operator=(const FolderBeside&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Replaces the target; if this throws, the target stays.
  void take_place();

 private:
  std::filesystem::path target_, path_;
};

// A locked file that one process at a time appends to, and reads when it resumes.
class GrowingFile {
 public:
  enum class Begin { kNew, kNewOrOn };
  // Throws if another process holds it for more than a second, and for kNew if it exists, with the
  // message `exists`.
  GrowingFile(std::string path, Begin begin, std::string_view exists = {});
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string contents() const;
  void cut(std::size_t bytes);  // keeps the first `bytes`
  void append(std::string_view text) { write_all(fd_, text, path_); }
  void flush();  // to disk

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace tilecast::base
