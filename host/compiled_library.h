// C text compiled by the system's compiler into a shared library in a private temporary folder.
//
//   Compiler cc;                                              // finds `cc`, or $CC
//   std::vector<Compilation> made = cc.compile(sources, jobs);
//
// C11, -O3, for this machine's instructions, linked with libm, warnings off. Of -ffast-math only
// what cannot move a result by more than a rounding: products and sums may be fused
// (-ffp-contract=fast), and the compiler may ignore errno and floating-point exceptions, which no
// generated function reads. Sums are not reordered, NaN, infinities and signed zeros are kept: a
// function that wants a vectorised sum has to write its lanes.
// Files are made under $TMPDIR (/tmp when unset). A library lives as long as its CompiledLibrary.
// Not thread-safe while another thread changes the environment.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hwdesc/units.h"

namespace tilecast::host {

// Owns a library and the folder made for it; removes both. Movable; a moved-from one owns nothing.
class CompiledLibrary {
 public:
  explicit CompiledLibrary(std::string path) : path_(std::move(path)) {}
  CompiledLibrary(CompiledLibrary&& other) noexcept;
  CompiledLibrary& operator=(CompiledLibrary&& other) noexcept;
  ~CompiledLibrary();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void remove() noexcept;
  std::string path_;
};

struct Compilation {
  std::optional<CompiledLibrary> library;
  std::string error;  // what the compiler said, or that it took too long; empty when made
};

// C that calls functions of libraries made before, which must be there as long as it is used.
struct LinkedSource {
  std::string text;
  std::vector<std::string> libraries;  // their paths
};

class Compiler {
 public:
  // Throws Error when there is no C compiler, naming the package to install. What is timed is made
  // with -O3; "-O1" makes what is only looked at in a third of the time.
  explicit Compiler(std::string_view optimise = "-O3");
  // One library per source, `jobs` compilers at once, same order. A compiler that needs longer than
  // `timeout` for one source is killed. Throws Error only when files cannot be written or no
  // process can be started.
  [[nodiscard]] std::vector<Compilation> compile(std::span<const std::string> sources, int jobs,
                                                 Seconds timeout = Seconds{60}) const;
  [[nodiscard]] std::vector<Compilation> compile(std::span<const LinkedSource> sources, int jobs,
                                                 Seconds timeout = Seconds{60}) const;
  // "gcc (Debian 12.2.0-14) 12.2.0; -O3 -march=native ..."
  [[nodiscard]] const std::string& description() const { return description_; }

 private:
  std::vector<std::string> command_;  // the compiler and its flags
  std::string description_;
};

}  // namespace tilecast::host
