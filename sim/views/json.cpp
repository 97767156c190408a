#include <nlohmann/json.hpp>

#include "sim/program_numbers.h"
#include "sim/version.h"
#include "sim/views/energy.h"
#include "sim/views/memory.h"
#include "sim/views/rows.h"
#include "sim/views/simulation.h"

namespace tilecast::sim::views {
namespace {

using Json = nlohmann::ordered_json;

Json kernel_json(const SimulatedKernel& kernel) {
  Json out = {{"name", kernel.name},
              {"opcode", std::string(ir::name(kernel.opcode))},
              {"class", std::string(ir::name(ir::op_class(kernel.opcode)))},
              {"computation", kernel.computation},
              {"multiplicity", kernel.multiplicity},
              {"skipped", kernel.skipped},
              {"total_s", kernel.total().value},
              {"start_s", kernel.start.value},
              {"end_s", kernel.end.value},
              {"lane", std::string(name(kernel.lane))}};
  if (!kernel.content.empty()) out["content"] = kernel.content;
  out.update(kernel.skipped ? Json{{"time_s", 0.0}} : estimate_json(*kernel.estimate));
  return out;
}

void add_trust(Json& out, const Simulation& run) {
  if (!run.model.empty()) out["model"] = run.model;
  if (run.interval) {
    out["low_s"] = run.interval->low;
    out["high_s"] = run.interval->high;
  }
  const auto shares = belief_shares(run);
  if (!shares) return;
  const auto add = [&](const char* name, const BeliefShare& share) {
    out["believed"][name] = {{"kernels", share.kernels}, {"time_s", share.time.value}};
  };
  add("above_half", shares->most);
  add("up_to_half", shares->some);
  add("physics_alone", shares->none);
}

Json roofs_json(const MachineRoofs& roofs) {
  Json out = {{"peaks", Json::array()}, {"memory", Json::array()}};
  for (const ComputeRoof& peak : roofs.peaks) {
    out["peaks"].push_back(
        {{"unit", peak.unit}, {"dtype", peak.dtype}, {"flops_per_s", peak.rate.value}});
  }
  for (const MemoryRoof& level : roofs.memory) {
    out["memory"].push_back({{"name", level.name},
                             {"read_bytes_per_s", level.read.value},
                             {"write_bytes_per_s", level.write.value},
                             {"capacity_bytes", level.capacity.value}});
  }
  return out;
}

Json run_json(const Simulation& run) {
  Json kernels = Json::array();
  for (const SimulatedKernel& kernel : run.kernels) kernels.push_back(kernel_json(kernel));
  Json notes = Json::array();
  for (const ir::Note& note : run.notes) {
    notes.push_back({{"what", note.what}, {"count", note.count}});
  }
  Json out = {{"file", run.file},
              {"program", run.program},
              {"device", run.device},
              {"time_s", run.time.value},
              {"timeline_s", run.timeline.value},
              {"host_dispatch_s", run.host_dispatch.value},
              {"roofs", roofs_json(run.roofs)},
              {"kernels", std::move(kernels)},
              {"notes", std::move(notes)}};
  if (run.communication) {
    out["communication"] = {{"time_s", run.communication->time.value},
                            {"hidden_s", run.communication->hidden.value}};
  }
  for (const ProgramNumber& number : energy_numbers()) {
    out[std::string(number.name)] = json_number(number.of(run));
  }
  if (run.energy) out["energy"] = energy_json(*run.energy);
  if (run.memory) out["memory"] = memory_json(*run.memory);
  add_trust(out, run);
  return out;
}

}  // namespace

std::string json(std::span<const Simulation> runs) {
  Json programs = Json::array();
  for (const Simulation& run : runs) programs.push_back(run_json(run));
  return json_text({{"schema", "tilecast.simulate/2"},
                    {"programs", std::move(programs)},
                    {"version", version()}});
}

}  // namespace tilecast::sim::views
