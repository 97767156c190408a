// The programs the benchmarks run on: our own, and third-party ones where a checkout has them.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/device.h"
#include "ir/hlo.h"

namespace tilecast::bench {

struct BenchProgram {
  std::string name;  // as the benchmark is called
  std::string path;
};

// configs/programs/*.hlo, sorted, then those of the shared folder that are there
// ($TILECAST_SHARED, else ../shared beside the source tree).
[[nodiscard]] std::vector<BenchProgram> bench_programs();
// Further HLO of a megabyte or more in the shared folder, by name.
[[nodiscard]] std::vector<BenchProgram> large_texts();
// `relative` in the shared folder; "" when it is not there.
[[nodiscard]] std::string shared_file(const std::string& relative);

// Reads, verifies, fuses dumps taken before optimisation, gives arrays their device layouts.
[[nodiscard]] ir::Module prepare(const std::string& path, const hwdesc::Device& device);
[[nodiscard]] ir::Module prepare(ir::Module module, const hwdesc::Device& device);

}  // namespace tilecast::bench
