// A measurement set on one device, ready for models: every row's work as real kernels, so that all
// models see the same thing.
//
//   SampleSet samples = make_samples(set, device);
//   std::vector<Prediction> answers = predict(samples, model, device);
//
// A kernel is its own work; a program is its kernels with their launches, and its time their sum.
// Physics a row must obey (analytical/roofline.h; check_physics): it takes at least 0.98 x the
// speed of light, where arrays that fit a cache shared by all workers may be there already (timing
// loops repeat a launch); its ratio to an estimate is not 10^3 or 10^6 times off the set's.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "analytical/cost_model.h"
#include "hwdesc/device.h"
#include "ir/kernel.h"
#include "measured/measurement_set.h"
#include "measured/metrics.h"

namespace tilecast::measured {

struct WorkloadPart {
  ir::Kernel kernel;
  double launches = 1;
  bool asynchronous = false;  // may run beside the parts after it (copies, collectives)
};

struct Workload {
  std::string name;      // "fusion.191", "matmul bf16 m=64 n=12288", program name
  std::string op_class;  // "matmul", "softmax", "convolution_fusion", "loop_fusion", "program" ...
  std::string family;    // shape family or program family: what splits keep together
  std::string fingerprint;          // equal work has equal fingerprints, across sets
  std::vector<WorkloadPart> parts;  // one, unless a program or an operator of several launches
  // Its time holds what is between kernels: waiting for input, for other devices, for each other.
  bool is_program = false;
};

struct Sample {
  std::size_t work = 0;                // into SampleSet::works
  int line = 0;                        // of measurements.csv
  analytical::TileConfig tile;         // empty: the model chooses; kernels only
  std::vector<float> parameters = {};  // one per SampleSet::parameter_names; NaN: none
  std::vector<float> quantities = {};  // one per Manifest::quantities; NaN: not measured
  // On the device: the run time less the dispatch of its row, if given. NaN: not timed, which only
  // SampleOptions::untimed asks for.
  Seconds measured;
  bool holds_dispatch = false;  // `measured` still holds a dispatch nobody measured
  std::string split;
  int repeats = 1;  // runs the time is the mean or median of
};

struct SampleSet {
  std::string name, hash, device;
  std::string measured_on;  // what the set calls the rows' device: it, or one of its lineage
  Manifest manifest;
  std::vector<std::string> parameter_names = {};  // as MeasurementSet::parameter_names
  std::deque<Workload> works;
  std::vector<Sample> samples;
  std::vector<RowFault> faults;  // those of the set on this device, and those physics found
};

struct SampleOptions {
  bool check_physics = true;  // false: keep rows that only physics doubts
  // true: also rows that hold quantities and no time; false: they are left out, and a set without
  // any time is an Error.
  bool untimed = false;
  int jobs = 1;
};

// The rows of `set` whose device is `device`: by name, else by Device::lineage; all rows when the
// set has one device. None: no samples. Throws Error where work cannot be built: file, row and
// column.
[[nodiscard]] SampleSet make_samples(const MeasurementSet& set, const hwdesc::Device& device,
                                     const SampleOptions& options = {});

// The class of a kernel: its opcode, or for fusions what dominates it ("convolution_fusion",
// "matmul_fusion", "reduce_fusion", "transpose_fusion", "loop_fusion").
[[nodiscard]] std::string op_class(const ir::Kernel& kernel);

struct Prediction {
  bool answered = false;  // false: outside the model's domain; nothing else is set
  Seconds on_device;      // sum over parts
  Seconds dispatch;  // added when the sample holds one; device.calibration, else the manifest's
                     // floor, else device.dispatch.host
  std::optional<analytical::Estimate> estimate;  // of the only part; absent for programs
  std::optional<Interval> interval;  // 90 %, of comparable(), seconds; of models that are corrected

  [[nodiscard]] Seconds comparable() const { return on_device + dispatch; }  // to Sample::measured
};

// The distinct questions (kernel, tile, parameters) of a set, found once: a calibration asks them
// many times. A row's parameters go with each kernel of its work.
// Keeps references into `samples`. Thread-safe.
class PredictionPlan {
 public:
  explicit PredictionPlan(const SampleSet& samples);

  // One per sample, same order, whatever `jobs`.
  [[nodiscard]] std::vector<Prediction> predict(const analytical::CostModel& model,
                                                const hwdesc::Device& device, int jobs = 1) const;
  [[nodiscard]] std::size_t questions() const { return queries_.size(); }

 private:
  struct Term {
    std::size_t query = 0;
    double launches = 1;
  };

  const SampleSet* samples_;
  std::vector<analytical::KernelQuery> queries_;  // those of one kernel stand together
  std::vector<Term> terms_;                       // of all samples, one after the other
  std::vector<std::size_t> first_term_;           // by sample, and the end
};

// PredictionPlan(samples).predict(model, device, jobs).
[[nodiscard]] std::vector<Prediction> predict(const SampleSet& samples,
                                              const analytical::CostModel& model,
                                              const hwdesc::Device& device, int jobs = 1);

// The host's dispatch for one launch of this class.
[[nodiscard]] Seconds dispatch_of(const std::string& op_class, const Manifest& manifest,
                                  const hwdesc::Device& device);

}  // namespace tilecast::measured
