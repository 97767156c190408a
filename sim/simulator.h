// Simulates whole programs: estimates kernels with a cost model, sums them and builds a timeline.
//
//   Simulation s = simulate(program, device, model);
//   s.time         // sum over kernels of time x multiplicity, or the host's launches if longer
//   s.timeline     // the same kernels with copies and collectives overlapping, never longer
//
// A Simulation is plain data, independent of program and device; views (sim/views/) turn it into
// text. All times are on the device; the host's dispatch is reported separately, never added.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analytical/cost_model.h"
#include "hwdesc/device.h"
#include "ir/program.h"
#include "measured/metrics.h"
#include "sim/run_parts.h"

namespace tilecast::sim {

struct SimulateOptions {
  bool skip_unknown = false;  // kernels without an estimate take no time; else they are an Error
  bool contents = false;      // fill SimulatedKernel::content
  int jobs = 1;               // threads; the result does not depend on it
};

struct SimulatedKernel {
  ir::KernelId id;
  std::string name, computation;
  std::string op_name = {};  // of the framework: "jit(step)/layer1/dot_general"; may be empty
  std::string content = {};  // ir/canonical_hash.h; empty: not requested
  ir::Opcode opcode = ir::Opcode::kFusion;
  double multiplicity = 1;  // launches per run of the program
  Lane lane = Lane::kCompute;
  ir::Shared<analytical::Estimate> estimate = analytical::Estimate{};  // per launch
  bool skipped = false;  // --unknown-op=skip: no time, noted in the report
  Seconds start, end;    // on the timeline, all launches together

  [[nodiscard]] Seconds total() const { return estimate->time * multiplicity; }
};

struct Simulation {
  std::string program, file, device;
  std::string model = {};  // display name of the model; empty: not set
  Seconds time;            // of the device, but not shorter than the host's launches
  Seconds device_time;     // sum over kernels of time x multiplicity
  Seconds host_launches;   // until the host has launched the last kernel or graph
  // 90 % interval of `time`, in seconds; only for models that learned from measurements.
  std::optional<measured::Interval> interval = {};
  std::optional<ProgramMemory> memory = {};  // per device
  Seconds timeline;  // with async copies and collectives overlapping other kernels
  std::optional<Communication> communication = {};  // included in both of the above
  Seconds host_dispatch;                     // one dispatch of the program; in neither of the above
  std::optional<ProgramEnergy> energy = {};  // for the timeline (sim/run_parts.h)
  MachineRoofs roofs;                        // of the device
  std::int64_t devices = 1;                  // number that the program is for
  double tokens = 0;                         // of a run (ir/program.h); 0: unknown
  std::optional<double> slice_devices = {};  // in the described slice
  std::vector<SimulatedKernel> kernels;
  std::vector<ir::Note> notes;
};

// Kernels in one range of the correction's weight.
struct BeliefShare {
  std::size_t kernels = 0;
  Seconds time;  // x launches
};
// The parts of a program's time by the weight k of corrections (docs/hybrid.md).
struct BeliefShares {
  BeliefShare most;  // k above kHalfBelieved
  BeliefShare some;  // above 0, up to kHalfBelieved
  BeliefShare none;  // 0: the analytical time
};
inline constexpr double kHalfBelieved = 0.5;
// nullopt if the model does not correct.
[[nodiscard]] std::optional<BeliefShares> belief_shares(const Simulation& simulation);

// Throws Error if the model has no estimate for a kernel (unless skipped) or the device lacks a
// unit that a kernel needs. Deterministic; kernels are passed to the model in batches.
[[nodiscard]] Simulation simulate(const ir::Program& program, const hwdesc::Device& device,
                                  const analytical::CostModel& model,
                                  const SimulateOptions& options = {});

// Numbers of a program run other than times, by name: one list for the tables, CSV and JSON of
// `simulate` and the columns of studies.
struct ProgramNumber {
  std::string_view name;                           // ends in its unit
  std::optional<double> (*of)(const Simulation&);  // SI units; nullopt: not described or unknown
};

// energy_J, average_power_W: if the device describes energy.
[[nodiscard]] std::span<const ProgramNumber> energy_numbers();
// peak_memory_bytes, memory_capacity_bytes: of main memory.
[[nodiscard]] std::span<const ProgramNumber> memory_numbers();
// work_FLOP, main_memory_bytes: of all launches. mfu, main_memory_share: those over the timeline
// and the peak of the matrix unit (16 bit where it has it) or main memory's read bandwidth.
// tokens_per_s: over the timeline.
[[nodiscard]] std::span<const ProgramNumber> work_numbers();

// The kernels of a program that may differ in time. Programs repeat layers, so a cost model only
// estimates one kernel of each kind.
struct DistinctKernels {
  std::vector<const ir::Kernel*> kernels;  // the first of each kind; point into the program
  std::vector<bool> in_graph;              // of each kind: launched as part of a graph
  std::vector<std::size_t> which;          // by kernel of the program, into `kernels`
};

// In a launch graph a kernel follows the one before without dispatch.kernel_launch.
void leave_out_gap(analytical::Estimate& estimate, const hwdesc::Device& device);

// Kernels are of one kind if their fingerprints are equal and, on a slice (whose links depend on
// the placement of groups), their groups as well. Pure.
[[nodiscard]] DistinctKernels distinct_kernels(const ir::Program& program,
                                               const hwdesc::Device& device);

}  // namespace tilecast::sim
