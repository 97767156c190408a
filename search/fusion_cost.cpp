#include "search/fusion_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "ir/kernels/kernel_fingerprint.h"
#include "ir/op_hash.h"
#include "ir/program.h"

namespace tilecast::search {
namespace {

PlanHash hash_of(ir::ComputationId computation, ir::FusedKernel& kernel) {
  std::sort(kernel.members.begin(), kernel.members.end());
  std::sort(kernel.roots.begin(), kernel.roots.end());
  ir::Hash128 hash;
  hash.add(std::uint64_t{computation.index()});
  for (const ir::InstrId member : kernel.members) hash.add(std::uint64_t{member.index()});
  hash.add(std::uint64_t{kernel.members.size()});
  for (const ir::InstrId root : kernel.roots) hash.add(std::uint64_t{root.index()});
  return hash.result();
}

double seconds_of(const std::optional<analytical::Estimate>& answer, const ir::Kernel& kernel,
                  const hwdesc::Device& device) {
  if (answer) return answer->time.value;
  throw Error(fmt::format("kernel {} ({}): the model has no time for it on device {}",
                          kernel.name(), ir::name(kernel.opcode()), device.name));
}

}  // namespace

FusionCost::FusionCost(const ir::FusionSpace& space, const hwdesc::Device& device,
                       const analytical::CostModel& model, double trip_count)
    : space_(space),
      device_(device),
      model_(model),
      laid_out_(ir::assign_layouts(space.module(), analytical::layout_rules(device))),
      maker_(laid_out_) {
  find_parts(trip_count);
}

// From the unfused program: launches of each computation, and the time of unfusible kernels.
void FusionCost::find_parts(double trip_count) {
  const ir::Program program = ir::make_program(laid_out_, {.default_trip_count = trip_count});
  std::map<std::string_view, std::map<std::string_view, double>> launches;  // by instruction
  for (const ir::ScheduledKernel& scheduled : program.kernels()) {
    launches[scheduled.computation][scheduled.kernel.name()] += scheduled.multiplicity;
  }
  std::set<std::pair<std::string_view, std::string_view>> fusible;
  for (std::size_t i = 0; i < laid_out_.computations.size(); ++i) {
    const ir::ComputationId id(i);
    const ir::Computation& computation = laid_out_.at(id);
    const auto found = launches.find(computation.name);
    if (!space_.is_sequential(id) || found == launches.end()) continue;
    Part part{.id = id, .launches = found->second.begin()->second};
    const std::span<const ir::FusionDecision> decisions = space_.decisions();
    for (std::uint32_t d = 0; d < decisions.size(); ++d) {
      if (decisions[d].computation == id) part.decisions.push_back(d);
    }
    for (const ir::FusedKernel& kernel : space_.plan(id, space_.by_rules())) {
      for (const ir::InstrId member : kernel.members) {
        fusible.emplace(computation.name, computation.at(member).name);
      }
    }
    parts_.push_back(std::move(part));
  }
  std::vector<analytical::KernelQuery> queries;
  std::vector<double> multiplicities;
  for (const ir::ScheduledKernel& scheduled : program.kernels()) {
    if (fusible.contains({scheduled.computation, scheduled.kernel.name()})) continue;
    queries.push_back({scheduled.kernel});
    multiplicities.push_back(scheduled.multiplicity);
  }
  const auto answers = model_.estimate(queries, device_);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    fixed_ += multiplicities[i] * seconds_of(answers[i], queries[i].kernel, device_);
  }
  fixed_kernels_ = queries.size();
}

PlanCost FusionCost::of(const ir::FusionConfiguration& chosen) {
  PlanCost total{fixed_, {}, fixed_kernels_};
  ir::Hash128 hash;
  for (Part& part : parts_) {
    const PlanCost cost = of(part, chosen);
    total.seconds += cost.seconds;
    total.kernels += cost.kernels;
    hash.add(cost.plan[0]);
    hash.add(cost.plan[1]);
  }
  total.plan = hash.result();
  return total;
}

PlanCost FusionCost::of(Part& part, const ir::FusionConfiguration& chosen) {
  const auto same = [&](std::size_t i) { return part.chosen[i] == chosen[part.decisions[i]]; };
  bool unchanged = part.cost.has_value();
  for (std::size_t i = 0; unchanged && i < part.decisions.size(); ++i) unchanged = same(i);
  if (unchanged) return *part.cost;
  std::vector<ir::FusedKernel> kernels = space_.plan(part.id, chosen);
  PlanCost cost;
  for (const Known& one : known(part.id, kernels)) {
    cost.seconds += one.seconds * part.launches;
    cost.plan[0] += one.work[0];  // a sum, so that the order of kernels does not matter
    cost.plan[1] += one.work[1];
    cost.kernels += one.work != PlanHash{} ? 1 : 0;
  }
  part.chosen.clear();
  for (const std::uint32_t decision : part.decisions) part.chosen.push_back(chosen[decision]);
  part.cost = cost;
  return cost;
}

std::vector<FusionCost::Known> FusionCost::known(ir::ComputationId computation,
                                                 std::span<ir::FusedKernel> kernels) {
  std::vector<PlanHash> names(kernels.size()), unknown_names;
  std::vector<const ir::FusedKernel*> unknown;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    names[i] = hash_of(computation, kernels[i]);
    if (by_members_.contains(names[i])) continue;
    unknown.push_back(&kernels[i]);
    unknown_names.push_back(names[i]);
  }
  if (!unknown.empty()) ask(computation, unknown, unknown_names);
  std::vector<Known> result;
  for (const PlanHash& name : names) result.push_back(by_members_.at(name));
  return result;
}

void FusionCost::ask(ir::ComputationId computation, std::span<const ir::FusedKernel* const> kernels,
                     std::span<const PlanHash> names) {
  std::vector<ir::Kernel> made;
  std::vector<std::pair<PlanHash, PlanHash>> wanted;  // name, work
  std::vector<PlanHash> works;                        // of `made`
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const ir::FusedKernel& kernel = *kernels[i];
    const ir::Instruction& root = laid_out_.at(computation).at(kernel.roots.front());
    if (kernel.members.size() == 1 && ir::is_zero_cost(root.opcode)) {
      by_members_[names[i]] = {};
      continue;
    }
    ir::Kernel next = maker_.make(computation, kernel);
    const PlanHash work = ir::fingerprint(next);
    wanted.emplace_back(names[i], work);
    if (by_work_.contains(work) || std::ranges::find(works, work) != works.end()) continue;
    works.push_back(work);
    made.push_back(std::move(next));
  }
  std::vector<analytical::KernelQuery> queries;
  for (const ir::Kernel& kernel : made) queries.push_back({kernel});
  const auto answers = model_.estimate(queries, device_);
  for (std::size_t i = 0; i < made.size(); ++i) {
    by_work_[works[i]] = seconds_of(answers[i], made[i], device_);
  }
  for (const auto& [name, work] : wanted) by_members_[name] = {by_work_.at(work), work};
}

}  // namespace tilecast::search
