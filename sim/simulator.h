// Whole programs: kernels through a cost model, added up and laid on a timeline.
//
//   Simulation s = simulate(program, device, model);
//   s.time         // sum over kernels of time x multiplicity
//   s.timeline     // the same kernels with copies and collectives overlapping, never longer
//
// A Simulation is plain data and needs neither program nor device any more: views (sim/views/) turn
// it into text. All times are on the device; the host's dispatch is reported apart, never added.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analytical/cost_model.h"
#include "ir/program.h"
#include "measured/metrics.h"
#include "sim/communication.h"
#include "sim/energy.h"
#include "sim/memory.h"
#include "sim/roofs.h"
#include "sim/timeline.h"

namespace tilecast::sim {

// What to do with a kernel the model has no answer for.
enum class UnknownOp { kError, kSkip };

struct SimulateOptions {
  UnknownOp unknown_op = UnknownOp::kError;
  bool contents = false;  // fill SimulatedKernel::content
  int jobs = 1;           // threads; the result does not depend on it
};

struct SimulatedKernel {
  ir::KernelId id;
  std::string name, computation;
  std::string content = {};  // ir/canonical_hash.h; empty: not asked for
  ir::Opcode opcode = ir::Opcode::kFusion;
  double multiplicity = 1;  // launches per run of the program
  Lane lane = Lane::kCompute;
  ir::Shared<analytical::Estimate> estimate = analytical::Estimate{};  // of one launch
  bool skipped = false;  // --unknown-op=skip: no time, and the report says so
  Seconds start, end;    // on the timeline, all launches together

  [[nodiscard]] Seconds total() const { return estimate->time * multiplicity; }
};

struct Simulation {
  std::string program, file, device;
  std::string model = {};  // what answered, in words; empty: not said
  Seconds time;            // sum over kernels of time x multiplicity: the papers' definition
  // 90 % of `time`, in seconds; of models that learned from measurements.
  std::optional<measured::Interval> interval = {};
  std::optional<ProgramMemory> memory = {};  // of one device
  Seconds timeline;  // with async copies and collectives overlapping other kernels
  std::optional<Communication> communication = {};  // in both of the above
  Seconds host_dispatch;  // one dispatch of the program by the host; in neither of the above
  std::optional<ProgramEnergy> energy = {};  // of the timeline (sim/energy.h)
  MachineRoofs roofs;                        // of the device
  std::int64_t devices = 1;                  // that the program is for
  std::optional<double> slice_devices = {};  // of a described slice
  std::vector<SimulatedKernel> kernels;
  std::vector<ir::Note> notes;
};

// Kernels whose corrections are believed alike.
struct BeliefShare {
  std::size_t kernels = 0;
  Seconds time;  // x launches
};
// How much of a program's time is corrected, by the weight k of corrections (docs/hybrid.md).
struct BeliefShares {
  BeliefShare most;  // k above kHalfBelieved
  BeliefShare some;  // above 0, up to kHalfBelieved
  BeliefShare none;  // 0: physics alone
};
inline constexpr double kHalfBelieved = 0.5;
// nullopt where no correction was asked for.
[[nodiscard]] std::optional<BeliefShares> belief_shares(const Simulation& simulation);

// Throws Error when the model has no answer for a kernel (unless skipped) or the device lacks a
// unit that a kernel needs. Deterministic; the kernels go to the model in batches.
[[nodiscard]] Simulation simulate(const ir::Program& program, const hwdesc::Device& device,
                                  const analytical::CostModel& model,
                                  const SimulateOptions& options = {});

}  // namespace tilecast::sim
