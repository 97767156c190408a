#include "validation/tuning/kernel_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/workloads.h"
#include "ir/op_hash.h"

namespace tilecast::validation {

using search::HardwareTime;

std::vector<HardwareTime> KernelStore::time(std::span<const search::HardwareJob> jobs) {
  std::vector<HardwareTime> times;
  for (const search::HardwareJob& job : jobs) times.push_back(time(job));
  return times;
}

HardwareTime KernelStore::time(const search::HardwareJob& job) {
  clock_s_ += options_.program_s;
  const auto written = host::make_c_program(host::laid_out(job.module, device_), device_,
                                            {.generate = bench_.generate});
  if (const auto* problem = std::get_if<host::Unsupported>(&written)) {
    return {std::nullopt, "unsupported: " + problem->reason};
  }
  const auto& program = std::get<host::CProgram>(written);
  std::vector<HardwareTime> parts;
  for (const host::PartKernel& part : program.parts) parts.push_back(time(part));
  HardwareTime total{0.0};
  for (const std::size_t call : program.calls) {
    if (!parts[call].seconds) return parts[call];
    *total.seconds += *parts[call].seconds;
  }
  ir::Hash128 name;
  name.add(std::string_view(program.caller));
  keep({*total.seconds, fmt::format("{:016x}", name.result()[0]), job.module});
  return total;
}

HardwareTime KernelStore::time(const host::PartKernel& part) {
  const std::string& name = part.code.function;
  if (store_.find(name) == nullptr) {
    const double begin = options_.now();
    HardwareTime time = run(part);
    store_.add({name, std::move(time), options_.now() - begin});
  }
  const search::TuningJournal::Row& row = *store_.find(name);
  if (paid_.insert(name).second) clock_s_ += row.spent_s;
  return row.time;
}

HardwareTime KernelStore::run(const host::PartKernel& part) const {
  const std::vector<std::string> sources = {host::part_source(part)};
  const std::vector<host::Compilation> compiled = bench_.compile(sources, 1);
  if (!compiled[0].library) return {std::nullopt, "compile error: " + compiled[0].error};
  const std::vector<host::RunJob> jobs = {
      {part.code.function, part.code.inputs, part.code.outputs, part.code.scratch_bytes}};
  HardwareTime time;
  bench_.run(compiled[0].library->path(), jobs, {.state = host::CacheState::kWarm},
             [&](std::size_t, const host::RunOutcome& outcome) {
               const host::RunStatus status = outcome.status;
               if (status == host::RunStatus::kTimed || status == host::RunStatus::kUnstable) {
                 time.seconds = outcome.timing.minimum.value;
               } else {
                 time.failure = fmt::format("{}: {}", host::reason(status), outcome.message);
               }
               return true;
             });
  return time;
}

void KernelStore::keep(Ran ran) {
  if (std::ranges::find(fastest_, ran.name, &Ran::name) != fastest_.end()) return;
  const auto at = std::ranges::upper_bound(fastest_, ran.seconds, {}, &Ran::seconds);
  fastest_.insert(at, std::move(ran));
  if (fastest_.size() > search::kFinalists) fastest_.pop_back();
}

}  // namespace tilecast::validation
