// Pretraining of a learner on analytical labels before it sees measurements, as data:
//
//   pretrain: 2000                             unmeasured tiles of the training kernels
//   pretrain: {rows: 20000, programs: [../../configs/programs], fusions: 4,
//              devices: [tpu_v3, tpu_v5e], trees: 300}
//
// For trees; networks gained nothing by it (docs/learning.md). How corrections (`target: residual`)
// use it: see pretraining.h. Plain values.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tilecast::learned {

struct PretrainSpec {
  std::size_t rows = 0;  // number of labelled rows; 0: no pretraining
  // Additional kernels besides those of the training rows: programs, or folders of them, relative
  // to `folder`, the folder of the file.
  std::vector<std::string> programs;
  std::string folder;
  int fusions = 2;                   // random cuts of each program, besides the rules' cut
  std::vector<std::string> devices;  // for these kernels; empty: devices of the training rows
  int trees = 0;                     // 0: half of the learner's, which then has the other half
};

}  // namespace tilecast::learned
