// The programs used by the benchmarks: our own, and third-party ones if the checkout has them.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/device.h"
#include "ir/hlo.h"

namespace tilecast::bench {

struct BenchProgram {
  std::string name;  // part of the benchmark's name
  std::string path;
};

// configs/programs/*.hlo, sorted, then existing files of the shared folder ($TILECAST_SHARED, else
// ../shared beside the source tree).
[[nodiscard]] std::vector<BenchProgram> bench_programs();
// More HLO files of a megabyte or more in the shared folder, by name.
[[nodiscard]] std::vector<BenchProgram> large_texts();
// The path of `relative` in the shared folder; "" if it does not exist.
[[nodiscard]] std::string shared_file(const std::string& relative);

// Reads and verifies the program, fuses it if it was dumped before optimisation, and assigns device
// layouts.
[[nodiscard]] ir::Module prepare(const std::string& path, const hwdesc::Device& device);
[[nodiscard]] ir::Module prepare(ir::Module module, const hwdesc::Device& device);

}  // namespace tilecast::bench
