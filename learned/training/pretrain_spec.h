// What a learner learns of physics before it sees a measurement, as data:
//
//   pretrain: 2000                             unmeasured tiles of the training kernels
//   pretrain: {rows: 20000, programs: [../../configs/programs], fusions: 4,
//              devices: [tpu_v3, tpu_v5e], tasks: [time, bounds], epochs: 20, freeze: yes}
//
// What of it reaches the corrections of physics (`target: residual`): docs of pretraining.h. Plain
// values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tilecast::learned {

// What physics says of a tile. kTime: log of seconds. kBounds: log of the seconds that each
// resource is busy. kRank: its place among the tiles of its kernel, 0 the fastest, 1 the slowest.
// kBinding: which bound holds it up.
enum class PretrainTask { kTime, kBounds, kRank, kBinding };
inline constexpr std::string_view kPretrainTasks[] = {"time", "bounds", "rank", "binding"};

struct PretrainSpec {
  std::size_t rows = 0;  // labelled by physics; 0: no pretraining
  // More kernels than those of the training rows: programs, or folders of them. Relative to
  // `folder`, that of the file which says so.
  std::vector<std::string> programs;
  std::string folder;
  int fusions = 2;                   // random cuts of each program, beside that of the rules
  std::vector<std::string> devices;  // of those kernels; none: the devices of the training rows
  std::vector<PretrainTask> tasks = {PretrainTask::kTime};  // of a network; trees: time
  int steps = 0;        // epochs, trees; 0: half of the learner's, and the other half is measured
  bool freeze = false;  // a network's last layer alone learns from measurements

  [[nodiscard]] bool time_alone() const {
    return tasks.size() == 1 && tasks.front() == PretrainTask::kTime;
  }
};

}  // namespace tilecast::learned
