// Static analysis of compiled code: llvm-mca on loops, and function sizes of an object file.
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

// Result for one loop, iterated 100 times in llvm-mca's core model: caches always hit, no branch is
// mispredicted, a call takes 100 cycles.
struct McaAnswer {
  double cycles_per_iteration = 0;
  double vector_utilisation = 0;  // busy share of the vector pipes, 0 ... 1
};

class McaTool {
 public:
  // `cpu` must be one whose vector pipes are known here: znver3. Throws Error if llvm-mca is not
  // found, naming the package to install.
  explicit McaTool(std::string cpu);
  [[nodiscard]] const std::string& description() const { return description_; }

  // Each loop is given as instructions, one per line. nullopt: llvm-mca does not know an
  // instruction. `folder`: for temporary files. Throws Error if llvm-mca cannot be run.
  [[nodiscard]] std::vector<std::optional<McaAnswer>> analyse(std::span<const std::string> loops,
                                                              const std::string& folder) const;

 private:
  [[nodiscard]] std::vector<std::optional<McaAnswer>> run(std::span<const std::string> loops,
                                                          const std::string& folder) const;

  std::string tool_, cpu_, description_;
};

// Function sizes in bytes of an x86-64 ELF object, by name. Throws Error for any other file.
[[nodiscard]] std::map<std::string, std::int64_t> function_sizes(const std::string& object_file);

}  // namespace tilecast::host
