// Unmeasured kernels, to be labelled by the analytical model: from programs, each cut by Tilecast's
// fusion rules and by random legal fusions (Kaufman et al., MLSys 2021, section 4), laid out for
// every device. Equal kernels of a device occur once. Internal to training.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "hwdesc/device.h"
#include "ir/program.h"
#include "learned/training/pretrain_spec.h"

namespace tilecast::learned {

struct CorpusKernel {
  const ir::Kernel* kernel = nullptr;
  const hwdesc::Device* device = nullptr;
  std::string program;  // file name
};

// Owns the kernels, and the devices named by `spec`.
class Corpus {
 public:
  // `devices`: used if `spec` names none; must outlive it. Throws Error for an unreadable program
  // or device. The result does not depend on `jobs`.
  Corpus(const PretrainSpec& spec, std::vector<const hwdesc::Device*> devices, std::uint64_t seed,
         int jobs);
  Corpus(const Corpus&) = delete;
  Corpus& operator=(const Corpus&) = delete;

  // By device, then program, in the order of the program's text.
  [[nodiscard]] const std::vector<CorpusKernel>& kernels() const { return kernels_; }

 private:
  std::deque<hwdesc::Device> described_;
  std::vector<std::vector<ir::Program>> programs_;  // by device and file: one per cut
  std::vector<CorpusKernel> kernels_;
};

}  // namespace tilecast::learned
