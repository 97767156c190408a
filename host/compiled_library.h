// Compiles C source with the system's compiler into a shared library in a private temporary folder.
//
//   Compiler cc;                                              // finds `cc`, or $CC
//   std::vector<Compilation> results = cc.compile(sources, jobs);
//
// C11, -O3, -march=native, linked with libm, warnings off. From -ffast-math it takes only the
// options that change results by at most a rounding: products and sums may be fused
// (-ffp-contract=fast), and errno and floating-point exceptions are ignored, as no generated
// function reads them. Sums are not reordered, and NaN, infinities and signed zeros are preserved;
// a vectorised sum must be written with explicit lanes. Files are created under $TMPDIR (/tmp if
// unset). A library exists as long as its CompiledLibrary. Not thread-safe while another thread
// changes the environment.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hwdesc/units.h"

namespace tilecast::host {

// Owns a library file and its folder, and removes both. Movable; a moved-from object owns nothing.
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
  std::string error;  // compiler output, or that it took too long; empty on success
};

// C source that calls functions of compiled libraries, which must outlive the library linked to
// them.
struct LinkedSource {
  std::string text;
  std::vector<std::string> libraries;  // their paths
};

class Compiler {
 public:
  // Throws Error if there is no C compiler, naming the package to install. Use -O3 for code to be
  // timed; "-O1" takes a third of the compile time where only results matter.
  explicit Compiler(std::string_view optimise = "-O3");
  // Compiles one library per source with up to `jobs` compilers at once; results are in the order
  // of the sources. A compiler that exceeds `timeout` on a source is killed. Throws Error only if
  // files cannot be written or no process can be started.
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
