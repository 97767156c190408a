// C text compiled by the system's compiler into a shared library in a private temporary folder.
//
//   Compiler cc;                                              // finds `cc`, or $CC
//   std::vector<Compilation> made = cc.compile(sources, jobs);
//
// Flags: -O3 -march=native -ffast-math is NOT used (results must match the evaluator), C11, no
// warnings. A library lives as long as its CompiledLibrary.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilecast::host {

class CompiledLibrary {  // owns the file; movable
 public:
  explicit CompiledLibrary(std::string path) : path_(std::move(path)) {}
  CompiledLibrary(CompiledLibrary&& other) noexcept;
  CompiledLibrary& operator=(CompiledLibrary&& other) noexcept;
  ~CompiledLibrary();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Compilation {
  std::optional<CompiledLibrary> library;
  std::string error;  // what the compiler said, or that it took too long; empty when made
};

class Compiler {
 public:
  Compiler();  // throws Error when there is no C compiler, naming the package to install
  // One library per source, `jobs` compilers at once, same order. Throws Error only when files
  // cannot be written.
  [[nodiscard]] std::vector<Compilation> compile(std::span<const std::string> sources,
                                                 int jobs) const;
  // "gcc (Debian 12.2.0-14) 12.2.0; -O3 -march=native ..."
  [[nodiscard]] const std::string& description() const { return description_; }

 private:
  std::string command_, description_;
};

}  // namespace tilecast::host
