// Tools around a compiler that say what its code would do: llvm-mca, and the symbols of an object
// file.
//
//   McaTool mca("znver3");                              // finds llvm-mca, or llvm-mca-14
//   std::vector<std::optional<McaAnswer>> answers = mca.analyse(loops, folder);
//
// Thread-safe: each call starts its own process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilecast::host {

// Of one loop, repeated 100 times by llvm-mca's model of the core: caches always hit, no branch is
// mispredicted, a call takes 100 cycles.
struct McaAnswer {
  double cycles_per_iteration = 0;
  double vector_utilisation = 0;  // of the pipes that compute on vectors, 0 ... 1: share busy
};

class McaTool {
 public:
  // `cpu` is one whose vector pipes are known here: znver3. Throws Error when there is no llvm-mca,
  // naming the package to install.
  explicit McaTool(std::string cpu);
  [[nodiscard]] const std::string& description() const { return description_; }

  // By text of a loop (instructions, one a line); nullopt: llvm-mca does not know an instruction.
  // `folder`: where files may be written. Throws Error when llvm-mca cannot be run.
  [[nodiscard]] std::vector<std::optional<McaAnswer>> analyse(std::span<const std::string> loops,
                                                              const std::string& folder) const;

 private:
  [[nodiscard]] std::vector<std::optional<McaAnswer>> run(std::span<const std::string> loops,
                                                          const std::string& folder) const;

  std::string tool_, cpu_, description_;
};

// Bytes of the functions of an ELF object (x86-64), by name. Throws Error for another file.
[[nodiscard]] std::map<std::string, std::int64_t> function_sizes(const std::string& object_file);

}  // namespace tilecast::host
