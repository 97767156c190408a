#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/report/readers.h"

namespace tilecast::sim::report {
namespace {

// "out 128x512, kernel 256" of {"output": [128, 512], "kernel": [256], ...}
std::string tile_text(const Value& tile) {
  std::string text;
  for (const auto& [key, label] :
       {std::pair{"output", "out"}, {"kernel", "kernel"}, {"input", "in"}}) {
    std::string sizes;
    for (const Value& size : tile.list_if(key)) {
      sizes += fmt::format("{}{}", sizes.empty() ? "" : "x", size.number());
    }
    if (!sizes.empty()) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", label, sizes);
  }
  return text;
}

std::string flag_text(const Value& kernel) {
  std::string text;
  for (const Value& flag : kernel.list_if("flags")) {
    text += (text.empty() ? "" : "; ") + flag.text();
  }
  return text;
}

void read_kernel_estimate(const Value& json, KernelResult& kernel) {
  kernel.bound = json.text("bound");
  kernel.next_bound = json.text("next_bound");
  kernel.next_time_s = size_of(json, "next_time_s");
  kernel.light_s = size_of(json, "speed_of_light_s");
  kernel.flops = size_of(json, "flops");
  kernel.read_bytes = size_of(json, "hbm_read_bytes");
  kernel.write_bytes = size_of(json, "hbm_write_bytes");
  kernel.model = json.text_if("model");
  kernel.interval = interval_of(json);
  kernel.weight = json.number_if("weight");
  kernel.flags = flag_text(json);
  if (const auto tile = json.object_if("tile")) kernel.tile = tile_text(*tile);
  const Value bounds = json.object("bounds_s");
  for (std::size_t i = 0; i < analytical::kBoundCount; ++i) {
    const auto busy = bounds.number_if(analytical::name(static_cast<analytical::Bound>(i)));
    kernel.bounds_s[i] = busy.value_or(0);
  }
}

KernelResult read_kernel(const Value& json) {
  KernelResult kernel{.name = json.text("name"),
                      .opcode = json.text("opcode"),
                      .op_class = json.text("class"),
                      .computation = json.text_if("computation"),
                      .lane = json.text("lane"),
                      .content = json.text_if("content"),
                      .launches = size_of(json, "multiplicity"),
                      .time_s = size_of(json, "time_s"),
                      .total_s = size_of(json, "total_s"),
                      .start_s = size_of(json, "start_s"),
                      .end_s = size_of(json, "end_s"),
                      .skipped = json.truth("skipped")};
  if (!kernel.skipped) read_kernel_estimate(json, kernel);
  return kernel;
}

void read_roofs(const Value& roofs, SimulationResult& run) {
  for (const Value& peak : roofs.list("peaks")) {
    run.peaks.push_back({peak.text("unit"), peak.text("dtype"), size_of(peak, "flops_per_s")});
  }
  for (const Value& level : roofs.list("memory")) {
    run.memory.push_back({level.text("name"), size_of(level, "read_bytes_per_s")});
  }
}

std::string note_text(const Value& note) {
  const double count = note.number_if("count").value_or(1);
  const std::string what = note.text("what");
  return count > 1 ? fmt::format("{} x {}", count, what) : what;
}

// The kernels carry the whole: what is attributed to them adds up to it.
void check_sum(const Value& json, const SimulationResult& run) {
  constexpr double kRounding = 1e-9;  // of sums of up to millions of terms
  double sum = 0;
  for (const KernelResult& kernel : run.kernels) sum += kernel.total_s;
  if (std::abs(sum - run.time_s) > kRounding * std::max(sum, run.time_s)) {
    throw json.error(fmt::format(
        "time_s: got {} s, but its kernels' total_s add up to {} s; was the file edited?",
        run.time_s, sum));
  }
}

SimulationResult read_simulation(const Value& json, const std::string& source) {
  SimulationResult run{.source = source,
                       .file = json.text("file"),
                       .program = json.text("program"),
                       .device = json.text("device"),
                       .model = json.text_if("model"),
                       .time_s = size_of(json, "time_s"),
                       .timeline_s = size_of(json, "timeline_s"),
                       .host_dispatch_s = size_of(json, "host_dispatch_s"),
                       .interval = interval_of(json),
                       .energy_j = json.number_if("energy_J")};
  if (const auto memory = json.object_if("memory")) {
    run.peak_bytes = memory->number_if("peak_bytes");
    run.capacity_bytes = memory->number_if("capacity_bytes");
  }
  if (const auto roofs = json.object_if("roofs")) read_roofs(*roofs, run);
  for (const Value& kernel : json.list("kernels")) run.kernels.push_back(read_kernel(kernel));
  for (const Value& note : json.list("notes")) run.notes.push_back(note_text(note));
  check_sum(json, run);
  return run;
}

}  // namespace

SimulationResults read_simulations(const Value& root) {
  SimulationResults runs;
  for (const Value& program : root.list("programs")) {
    runs.push_back(read_simulation(program, root.file()));
    runs.back().version = root.text_if("version");
  }
  if (runs.empty()) throw root.error("programs: got none, expected one or more");
  return runs;
}

}  // namespace tilecast::sim::report
