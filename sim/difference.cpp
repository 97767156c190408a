#include "sim/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "analytical/analytical_model.h"
#include "base/parallel.h"

namespace tilecast::sim {
namespace {

using analytical::BoundVector;
using analytical::Estimate;

// What each resource adds to a launch of the kernel; sums to the estimate's time.
BoundVector added_by_resource(const ir::Kernel& kernel, const hwdesc::Device& device,
                              const Estimate& answer) {
  const analytical::KernelAnalysis analysis(kernel, device);
  const bool knows_tile = answer.tile != analytical::TileConfig{} || !analysis.tileable();
  const Estimate physics = knows_tile ? answer : analysis.estimate_best();
  BoundVector added = analysis.attributed_time(physics);
  const double factor = physics.time.value > 0 ? answer.time / physics.time : 1;
  for (Seconds& part : added) part = factor * part;
  return added;
}

// The same by kernel of the run; kernels that share an estimate are asked once.
std::vector<BoundVector> added_in(const PlacedProgram& placed, const Simulation& run, int jobs) {
  std::vector<std::size_t> first, which;
  std::unordered_map<const void*, std::size_t> known;
  for (std::size_t i = 0; i < run.kernels.size(); ++i) {
    const auto [at, fresh] = known.emplace(run.kernels[i].estimate.identity(), first.size());
    if (fresh) first.push_back(i);
    which.push_back(at->second);
  }
  std::vector<BoundVector> distinct(first.size());
  base::parallel_for(first.size(), jobs, [&](std::size_t i) {
    const SimulatedKernel& kernel = run.kernels[first[i]];
    if (kernel.skipped) return;
    distinct[i] = added_by_resource(placed.built.program.at(kernel.id).kernel, placed.device,
                                    *kernel.estimate);
  });
  std::vector<BoundVector> added;
  for (std::size_t i = 0; i < which.size(); ++i) {
    added.push_back(distinct[which[i]]);
    for (Seconds& part : added.back()) part = run.kernels[i].multiplicity * part;
  }
  return added;
}

using PairKey = std::function<std::string(const SimulatedKernel&)>;

// Pairs kernels of equal keys in program order; "" pairs nothing.
void pair_by(const PairKey& key, const Simulation& before, const Simulation& after,
             std::vector<KernelChange>& rows, std::vector<bool>& taken) {
  std::unordered_map<std::string, std::vector<std::size_t>> waiting;  // rows, the last first
  for (std::size_t row = before.kernels.size(); row-- > 0;) {
    if (!rows[row].is) waiting[key(before.kernels[row])].push_back(row);
  }
  waiting.erase("");
  for (std::size_t i = 0; i < after.kernels.size(); ++i) {
    if (taken[i]) continue;
    const auto found = waiting.find(key(after.kernels[i]));
    if (found == waiting.end() || found->second.empty()) continue;
    rows[found->second.back()].is = i;
    found->second.pop_back();
    taken[i] = true;
  }
}

// All kernels of `before` in order, each with its partner, then those of `after` without one.
std::vector<KernelChange> paired(const Simulation& before, const Simulation& after) {
  std::vector<KernelChange> rows(before.kernels.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].was = i;
  std::vector<bool> taken(after.kernels.size());
  const auto content = [](const SimulatedKernel& of) { return of.content; };
  const auto scope = [](const SimulatedKernel& of) {
    return of.op_name.empty() ? "" : fmt::format("{} {}", ir::name(of.opcode), of.op_name);
  };
  const auto named = [](const PairKey& key) -> PairKey {
    return [key](const SimulatedKernel& of) {
      const std::string text = key(of);
      return text.empty() ? "" : fmt::format("{} {} {}", text, of.computation, of.name);
    };
  };
  const auto opcode = [](const SimulatedKernel& of) {
    return of.op_name.empty() ? std::string(ir::name(of.opcode)) : "";
  };
  for (const PairKey& key : std::initializer_list<PairKey>{named(content), content, named(scope),
                                                           scope, named(opcode)}) {
    pair_by(key, before, after, rows, taken);
  }
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (taken[i]) continue;
    rows.emplace_back().is = i;
  }
  return rows;
}

bool by_change(const Change& a, const Change& b) {
  return std::abs(a.change().value) > std::abs(b.change().value);
}

std::vector<ResourceChange> resources_of(const Simulation& before, const Simulation& after,
                                         const BoundVector& was, const BoundVector& is) {
  std::vector<ResourceChange> resources;
  for (std::size_t b = 0; b < analytical::kBoundCount; ++b) {
    resources.push_back({{was[b], is[b]}, std::string(name(static_cast<analytical::Bound>(b)))});
  }
  resources.push_back(
      {{before.time - before.device_time, after.time - after.device_time}, "host_launches"});
  std::erase_if(resources, [](const ResourceChange& one) {
    return one.before.value <= 0 && one.after.value <= 0;
  });
  std::ranges::stable_sort(resources, by_change);
  return resources;
}

}  // namespace

Difference difference(const DifferenceSide& before, const DifferenceSide& after,
                      const ChosenModel& model, int jobs) {
  const SimulateOptions options{.skip_unknown = true, .contents = true, .jobs = jobs};
  Difference result{.before = simulate(before.placed, model, options),
                    .after = simulate(after.placed, model, options),
                    .before_label = before.label,
                    .after_label = after.label};
  const std::vector<BoundVector> was = added_in(before.placed, result.before, jobs);
  const std::vector<BoundVector> is = added_in(after.placed, result.after, jobs);
  BoundVector all_before{}, all_after{};
  result.kernels = paired(result.before, result.after);
  for (KernelChange& row : result.kernels) {
    if (row.was) row.before = result.before.kernels[*row.was].total();
    if (row.is) row.after = result.after.kernels[*row.is].total();
    for (std::size_t b = 0; b < analytical::kBoundCount; ++b) {
      const Seconds then = row.was ? was[*row.was][b] : Seconds{};
      const Seconds now = row.is ? is[*row.is][b] : Seconds{};
      all_before[b] += then;
      all_after[b] += now;
      row.by[b] = now - then;
    }
  }
  result.resources = resources_of(result.before, result.after, all_before, all_after);
  std::ranges::stable_sort(result.kernels, by_change);
  return result;
}

}  // namespace tilecast::sim
