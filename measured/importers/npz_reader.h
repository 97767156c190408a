// NumPy archives (.npz): arrays read front to back in bounded memory.
//
//   NpzFile file("graph.npz");
//   NpyArray runs = file.open("config_runtime");    // {"dtype" int64, shape {47712}}
//   std::vector<double> next(16);
//   runs.read(next);
//
// Strict: the header of an array is what numpy writes, its size is that of its shape to the byte,
// and what does not fit is an Error naming file and array. Dtypes: bool, int8 to int64, uint8 to
// uint64, float32, float64, little-endian. Values are doubles: whole numbers up to 2^53 are exact.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/zip_module.h"

namespace tilecast::measured {

struct NpyHeader {
  char kind = 'f';        // 'b', 'i', 'u', 'f'
  std::size_t bytes = 4;  // of an element
  bool fortran_order = false;
  std::vector<std::int64_t> shape;

  [[nodiscard]] std::int64_t elements() const;
};
// `text` is the dictionary of an .npy header; throws Error starting with `where`.
[[nodiscard]] NpyHeader parse_npy_header(std::string_view text, const std::string& where);

class NpyArray {
 public:
  [[nodiscard]] const NpyHeader& header() const { return header_; }
  // The next values, in the order of the file; throws Error when it ends or is damaged.
  void read(std::span<double> values);
  // All of a matrix (or vector: one column) in row-major order, whatever the order of the file.
  [[nodiscard]] std::vector<double> read_matrix();

 private:
  friend class NpzFile;
  void read_bytes(char* to, std::size_t count);

  std::string where_;
  NpyHeader header_;
  std::unique_ptr<base::ZipEntry> file_;
  std::vector<char> buffer_;
};

class NpzFile {
 public:
  explicit NpzFile(const std::string& path);  // throws Error

  [[nodiscard]] bool has(const std::string& array) const;
  [[nodiscard]] NpyArray open(const std::string& array) const;  // throws Error
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::unique_ptr<base::ZipArchive> archive_;
};

}  // namespace tilecast::measured
