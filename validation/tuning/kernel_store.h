// Hardware on which each kernel is timed once, for comparing many searches over one program.
//
//   TuningJournal store(file, program_hash);                           // shared by all runs
//   KernelStore run(device, bench, store, {.program_s = 0.4, .now = now_s});    // one run
//   (void)verify_fusions(plans, found, run, {.now = [&] { return run.clock_s(); }}, journal);
//
// A program takes the sum of its kernels' times, each timed alone with its arrays in caches. The
// store keeps a kernel's time and what compiling and timing it took. A run's clock advances by what
// the run would take without the store: this for each kernel that is new to the run, and
// `program_s` for each program. Kernels are named after their code. Not thread-safe (forks).
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "host/c_program.h"
#include "host/measure.h"
#include "search/fusion_tuner.h"

namespace tilecast::validation {

class KernelStore final : public search::Hardware {
 public:
  struct Options {
    double program_s = 0;         // to link, check and time a program whose kernels are compiled
    std::function<double()> now;  // seconds, for what a kernel takes
  };
  // All arguments must outlive this.
  KernelStore(const hwdesc::Device& device, const host::Bench& bench, search::TuningJournal& store,
              Options options)
      : device_(device), bench_(bench), store_(store), options_(std::move(options)) {}

  // A program fails if it cannot be written or one of its kernels fails. Tiles of jobs are ignored.
  [[nodiscard]] std::vector<search::HardwareTime> time(
      std::span<const search::HardwareJob> jobs) override;
  [[nodiscard]] double clock_s() const { return clock_s_; }

  struct Ran {
    double seconds = 0;
    std::string name;  // of the code: equal programs have equal names
    ir::Module module;
  };
  // The distinct programs that took least, fastest first, kFinalists at most.
  [[nodiscard]] const std::vector<Ran>& fastest() const { return fastest_; }

 private:
  [[nodiscard]] search::HardwareTime time(const search::HardwareJob& job);
  [[nodiscard]] search::HardwareTime time(const host::PartKernel& part);
  [[nodiscard]] search::HardwareTime run(const host::PartKernel& part) const;
  void keep(Ran ran);

  const hwdesc::Device& device_;
  const host::Bench& bench_;
  search::TuningJournal& store_;
  Options options_;
  std::set<std::string> paid_;  // kernels that the clock includes
  double clock_s_ = 0;
  std::vector<Ran> fastest_;
};

}  // namespace tilecast::validation
