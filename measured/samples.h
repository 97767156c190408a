// A measurement set on one device, prepared for models: the work of every row as kernels, so that
// all models get the same input.
//
//   SampleSet samples = make_samples(set, device);
//   std::vector<Prediction> answers = predict(samples, model, device);
//
// A program's work is its kernels with their launches; its time is their sum. With check_physics, a
// row must take at least 0.98 x the speed of light (analytical/roofline.h), where arrays may
// already be in a cache shared by all workers (timing loops repeat a launch), and its ratio to an
// estimate must not be off by 10^3 or 10^6 relative to the set's.
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
  bool asynchronous = false;  // may overlap with later parts (copies, collectives)
};

struct Workload {
  std::string name;      // "fusion.191", "matmul bf16 m=64 n=12288", program name
  std::string op_class;  // "matmul", "softmax", "convolution_fusion", "loop_fusion", "program" ...
  std::string family;    // shape or program family, kept together by splits
  std::string fingerprint;          // equal for equal work, across sets
  std::vector<WorkloadPart> parts;  // one, except for programs and operators of several launches
  // The measured time includes gaps between kernels: waiting for input, for other devices, for each
  // other.
  bool is_program = false;
};

struct Sample {
  std::size_t work = 0;                // into SampleSet::works
  int line = 0;                        // line in measurements.csv
  analytical::TileConfig tile;         // empty: chosen by the model; kernels only
  std::vector<float> parameters = {};  // one per SampleSet::parameter_names; NaN: none
  std::vector<float> quantities = {};  // one per Manifest::quantities; NaN: not measured
  // Time on the device: the run time less the row's dispatch, if given. NaN: not timed; only with
  // SampleOptions::untimed.
  Seconds measured;
  bool holds_dispatch = false;  // `measured` includes an unmeasured dispatch
  std::string split;
  int repeats = 1;      // runs of which the time is the mean or median
  Seconds spread = {};  // of these runs; 0: not known
};

struct SampleSet {
  std::string name, hash, device;
  std::string measured_on;  // set's name for the device: it, or one of its lineage
  Manifest manifest;
  std::vector<std::string> parameter_names = {};  // see MeasurementSet::parameter_names
  std::deque<Workload> works;
  std::vector<Sample> samples;
  std::vector<RowFault> faults;  // of the set on this device, and those found by check_physics
};

struct SampleOptions {
  bool check_physics = true;  // false: keep rows that fail only the physics checks
  // true: keep rows with quantities but no time. false: leave them out; a set without any time is
  // an Error.
  bool untimed = false;
  int jobs = 1;
};

// The rows of `set` measured on `device`: matched by name, else by Device::lineage; all rows if the
// set has only one device. No match: no samples. Throws Error (file, row and column) if the work of
// a row cannot be built.
[[nodiscard]] SampleSet make_samples(const MeasurementSet& set, const hwdesc::Device& device,
                                     const SampleOptions& options = {});

// The class of a kernel: its opcode or, for fusions, the kind of its dominant op
// ("convolution_fusion", "matmul_fusion", "reduce_fusion", "transpose_fusion", "loop_fusion").
[[nodiscard]] std::string op_class(const ir::Kernel& kernel);
// The class of a fusion that does what this kernel does.
[[nodiscard]] std::string fused_class(const ir::Kernel& kernel);

struct Prediction {
  bool answered = false;  // false: outside the model's domain; nothing else is set
  Seconds on_device;      // sum over parts
  Seconds dispatch;       // added if the sample includes one; from device.calibration, else the
                          // manifest's floor, else device.dispatch.host
  std::optional<analytical::Estimate> estimate;  // of the only part; absent for programs
  std::optional<Interval> interval;              // 90 %, of comparable(), seconds; if corrected

  [[nodiscard]] Seconds comparable() const { return on_device + dispatch; }  // to Sample::measured
};

// The distinct queries (kernel, tile, parameters) of a set, collected once so that a calibration
// can run them many times. A row's parameters apply to each kernel of its work. Keeps references
// into `samples`. Thread-safe.
class PredictionPlan {
 public:
  explicit PredictionPlan(const SampleSet& samples);

  // One prediction per sample, in the same order; does not depend on `jobs`.
  [[nodiscard]] std::vector<Prediction> predict(const analytical::CostModel& model,
                                                const hwdesc::Device& device, int jobs = 1) const;
  [[nodiscard]] std::size_t questions() const { return queries_.size(); }

 private:
  struct Term {
    std::size_t query = 0;
    double launches = 1;
  };

  const SampleSet* samples_;
  std::vector<analytical::KernelQuery> queries_;  // queries of the same kernel are adjacent
  std::vector<Term> terms_;                       // of all samples, concatenated
  std::vector<std::size_t> first_term_;           // by sample, plus the end
};

// PredictionPlan(samples).predict(model, device, jobs).
[[nodiscard]] std::vector<Prediction> predict(const SampleSet& samples,
                                              const analytical::CostModel& model,
                                              const hwdesc::Device& device, int jobs = 1);

// The host's dispatch time for one launch of this class.
[[nodiscard]] Seconds dispatch_of(const std::string& op_class, const Manifest& manifest,
                                  const hwdesc::Device& device);

}  // namespace tilecast::measured
