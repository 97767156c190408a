// Finds the rows of one measurement set on one device by kernel; sim/compare_inputs.h joins
// programs with them. Not thread-safe: it records which rows were found.
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
  Seconds time = {};           // on the device, minus the dispatch floor if the row has one
  bool own = true;             // false: equal work under another name
  bool same = true;            // false: another kernel with equal name and file name
  std::size_t tiles = 1;       // number of its rows
  bool is_of_compiler = true;  // false: the fastest of `tiles`
};

class MeasuredKernels {
 public:
  MeasuredKernels(const measured::MeasurementSet& set, measured::SampleSet samples,
                  const hwdesc::Device& device);

  // `stem`: of the program's file.
  [[nodiscard]] std::optional<MeasuredKernel> find(const ir::Kernel& kernel,
                                                   const std::string& stem);
  // The measured run of the whole program.
  [[nodiscard]] std::optional<MeasuredKernel> find(const ir::Program& program,
                                                   const std::string& stem);
  // The workloads that were never found, each with its fastest row.
  [[nodiscard]] std::vector<Unmatched> unmatched() const;
  [[nodiscard]] const measured::SampleSet& samples() const { return samples_; }
  // Rows whose dispatch is as long as the whole run; they are not usable.
  [[nodiscard]] std::size_t all_dispatch() const { return all_dispatch_; }

 private:
  struct Rows {  // rows of one workload
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
  std::map<ir::Fingerprint, std::vector<std::size_t>> by_print_;  // workloads per kernel
  std::unordered_map<std::string, std::vector<std::size_t>> by_name_;
  std::size_t all_dispatch_ = 0;
};

}  // namespace tilecast::sim
