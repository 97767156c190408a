// Files that are written over what users have: whole or not at all, and never over what is read.
//
//   const OutputClaim claim("dev.yaml");   // before the work: can it be written?
//   SourceText::read_file("./dev.yaml");   // Error: the output is an input
//   replace_file("dev.yaml", text);
//
// All throw Error with the path and the reason. Thread-safe for different files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tilecast::base {

// While it is there this process refuses to read the file, or what is in the folder, under any
// name. Throws where it cannot be written or is claimed already. Pipes and devices are never
// claimed.
enum class Output { kFile, kFolder };
class OutputClaim {
 public:
  explicit OutputClaim(const std::string& path, Output kind = Output::kFile);
  ~OutputClaim();
  OutputClaim(const OutputClaim&) = delete;
  OutputClaim& operator=(const OutputClaim&) = delete;
};
// Every reader of files asks; throws where the file is a claimed output.
void refuse_claimed(const std::string& path);

// Throws where neither it nor, where it is not there yet, the folder that it would be made in can
// be written.
void require_writable(const std::string& path);

// A new file beside it takes its place, with its mode. Symbolic links to it stay; a file of several
// names, a pipe or a device is written as it is. `durable`: on the disk when this returns.
void replace_file(const std::string& path, std::string_view text, bool durable = false);

// All of it; `path` is for the message.
void write_all(int fd, std::string_view text, const std::string& path);

// A new folder of a name that nobody can foresee, beside `target`; removed with what is in it
// unless it took the target's place.
class FolderBeside {
 public:
  explicit FolderBeside(const std::filesystem::path& target);
  ~FolderBeside();
  FolderBeside(const FolderBeside&) = delete;
  FolderBeside& operator=(const FolderBeside&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // What is there now goes away, or stays where this throws.
  void take_place();

 private:
  std::filesystem::path target_, path_;
};

// A file that one process at a time adds to, and reads when it goes on.
class GrowingFile {
 public:
  enum class Begin { kNew, kNewOrOn };
  // Throws where another process has it (after a moment), and for kNew where it exists: `exists` is
  // what to say then.
  GrowingFile(std::string path, Begin begin, std::string_view exists = {});
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string contents() const;
  void cut(std::size_t bytes);  // to its first ones
  void append(std::string_view text) { write_all(fd_, text, path_); }
  void flush();  // to the disk

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace tilecast::base
