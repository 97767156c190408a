// The rows of one measurement set on one device, found by kernel: what sim/compare_inputs.h joins
// programs with. Not thread-safe: it keeps in mind which rows were found.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/kernels/kernel_fingerprint.h"
#include "ir/program.h"
#include "measured/samples.h"
#include "sim/compare.h"

namespace tilecast::sim {

struct MeasuredKernel {
  Seconds time = {};           // on the device: less a dispatch floor where the row holds one
  bool own = true;             // false: of equal work under another name
  bool same = true;            // false: another kernel, of the same name in a file of the same name
  std::size_t tiles = 1;       // rows of it
  bool is_of_compiler = true;  // false: the fastest of `tiles`
};

class MeasuredKernels {
 public:
  MeasuredKernels(const measured::MeasurementSet& set, measured::SampleSet samples,
                  const hwdesc::Device& device);

  // `stem`: of the program's file.
  [[nodiscard]] std::optional<MeasuredKernel> find(const ir::Kernel& kernel,
                                                   const std::string& stem);
  // A run of the whole program.
  [[nodiscard]] std::optional<MeasuredKernel> find(const ir::Program& program,
                                                   const std::string& stem);
  // Rows of work that was never found; one per work, the fastest.
  [[nodiscard]] std::vector<Unmatched> unmatched() const;
  [[nodiscard]] const measured::SampleSet& samples() const { return samples_; }
  // Rows that hold a dispatch as long as the whole run: of no use here.
  [[nodiscard]] std::size_t all_dispatch() const { return all_dispatch_; }

 private:
  struct Rows {  // of one work
    std::string stem;
    bool is_program = false, found = false;
    std::vector<std::size_t> samples;
  };
  [[nodiscard]] std::optional<Seconds> time_of(const measured::Sample& sample) const;
  [[nodiscard]] std::optional<MeasuredKernel> choose(std::size_t work,
                                                     const analytical::TileConfig& wanted);

  measured::SampleSet samples_;
  const hwdesc::Device* device_;
  std::vector<Rows> works_;
  std::map<ir::Fingerprint, std::vector<std::size_t>> by_print_;  // works of one kernel
  std::unordered_map<std::string, std::vector<std::size_t>> by_name_;
  std::size_t all_dispatch_ = 0;
};

}  // namespace tilecast::sim
