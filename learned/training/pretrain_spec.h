// Pretraining of a learner on analytical labels before it sees measurements, as data:
//
//   pretrain: 2000                             unmeasured tiles of the training kernels
//   pretrain: {rows: 20000, programs: [../../configs/programs], fusions: 4,
//              devices: [tpu_v3, tpu_v5e], tasks: [time, bounds], epochs: 20, freeze: yes}
//
// How corrections (`target: residual`) use it: see pretraining.h. Plain values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tilecast::learned {

// The analytical label of a tile. kTime: log of seconds. kBounds: log of the seconds that each
// resource is busy. kRank: the rank among the kernel's tiles, from 0 (fastest) to 1 (slowest).
// kBinding: the limiting bound.
enum class PretrainTask { kTime, kBounds, kRank, kBinding };
inline constexpr std::string_view kPretrainTasks[] = {"time", "bounds", "rank", "binding"};

struct PretrainSpec {
  std::size_t rows = 0;  // number of labelled rows; 0: no pretraining
  // Additional kernels besides those of the training rows: programs, or folders of them, relative
  // to `folder`, the folder of the file.
  std::vector<std::string> programs;
  std::string folder;
  int fusions = 2;                   // random cuts of each program, besides the rules' cut
  std::vector<std::string> devices;  // for these kernels; empty: devices of the training rows
  std::vector<PretrainTask> tasks = {PretrainTask::kTime};  // for networks; trees only learn time
  int steps = 0;        // epochs or trees; 0: half of the learner's, which then has the other half
  bool freeze = false;  // only a network's last layer learns from measurements

  [[nodiscard]] bool time_alone() const {
    return tasks.size() == 1 && tasks.front() == PretrainTask::kTime;
  }
};

}  // namespace tilecast::learned
