// Reads a file sequentially in bounded memory, decompressing gzip.
//
//   ByteSource source("runs.csv.gz");
//   std::string buffer;
//   while (source.read_more(buffer)) { ... }   // appends up to 256 KiB
//
// Throws Error (naming the file) if it cannot be opened, is damaged, or ends too early.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace tilecast::measured {

class ByteSource {
 public:
  explicit ByteSource(std::string path);
  ~ByteSource();
  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;

  // Appends the next bytes; false at the end of the file.
  bool read_more(std::string& buffer);
  // A function that calls read_more() on this source, which must outlive it.
  [[nodiscard]] std::function<bool(std::string&)> reader() {
    return [this](std::string& buffer) { return read_more(buffer); };
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  // Fraction of the file on disk that has been read, 0 to 1.
  [[nodiscard]] double progress() const;

 private:
  struct File;
  std::string path_;
  std::unique_ptr<File> file_;
};

}  // namespace tilecast::measured
