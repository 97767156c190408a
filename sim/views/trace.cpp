#include <nlohmann/json.hpp>

#include "sim/views/rows.h"
#include "sim/views/simulation.h"

namespace tilecast::sim::views {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMicrosecondsPerSecond = 1e6;

Json metadata(std::string_view what, std::size_t pid, std::size_t tid, const std::string& value) {
  return {{"ph", "M"},
          {"name", std::string(what)},
          {"pid", pid},
          {"tid", tid},
          {"args", {{"name", value}}}};
}

Json event(const SimulatedKernel& kernel, std::size_t pid) {
  const analytical::Estimate& e = *kernel.estimate;
  return {{"ph", "X"},
          {"name", kernel.name},
          {"cat", std::string(ir::name(kernel.opcode))},
          {"pid", pid},
          {"tid", static_cast<std::size_t>(kernel.lane)},
          {"ts", kernel.start.value * kMicrosecondsPerSecond},
          {"dur", (kernel.end - kernel.start).value * kMicrosecondsPerSecond},
          {"args",
           {{"launches", kernel.multiplicity},
            {"bound", kernel.skipped ? "skipped" : std::string(analytical::name(e.bound))},
            {"utilisation", e.utilisation},
            {"hbm_bytes", (e.hbm_read + e.hbm_write).value},
            {"flops", e.flops.value},
            {"tile", analytical::to_string(e.tile)}}}};
}

}  // namespace

std::string trace(std::span<const Simulation> runs) {
  Json events = Json::array();
  for (std::size_t pid = 0; pid < runs.size(); ++pid) {
    const Simulation& run = runs[pid];
    events.push_back(metadata("process_name", pid, 0, run.program + " on " + run.device));
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      events.push_back(
          metadata("thread_name", pid, lane, std::string(name(static_cast<Lane>(lane)))));
    }
    for (const SimulatedKernel& kernel : run.kernels) events.push_back(event(kernel, pid));
  }
  const Json document = {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
  return json_text(document, -1);
}

}  // namespace tilecast::sim::views
