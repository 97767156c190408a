#include "measured/importers/xplane_join.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "ir/load_program.h"
#include "ir/proto/hlo_proto.h"
#include "measured/importers/xplane_graphs.h"

namespace tilecast::measured {
namespace {

// Maps an instruction to the kernel that its time belongs to: itself, the start of which it is the
// done, or the kernel that calls its computation. Empty for instructions outside all kernels
// (while, call, tuple ...).
using KernelOf = std::map<std::string, std::string, std::less<>>;

KernelOf kernels_by_instruction(const ir::Module& module, const ir::Program& program) {
  KernelOf found;
  for (const ir::ScheduledKernel& kernel : program.kernels()) {
    found[kernel.kernel.name()] = kernel.kernel.name();
  }
  std::vector<std::string> inside(module.computations.size());  // kernel that calls the computation
  for (std::size_t i = module.computations.size(); i-- > 0;) {
    for (const ir::Instruction& op : module.computations[i].instructions) {
      std::string& kernel = found[op.name];
      if (kernel.empty()) kernel = inside[i];
      const bool ends_another =
          ir::op_class(op.opcode) == ir::OpClass::kAsyncDone || ir::is_async_chain(op.opcode);
      if (kernel.empty() && ends_another && !op.operands.empty()) {
        kernel = found[module.computations[i].at(op.operands[0]).name];
      }
      for (const ir::ComputationId callee : op.called) {
        if (!kernel.empty()) inside[callee.index()] = kernel;
      }
    }
  }
  return found;
}

class ModuleSource {
 public:
  explicit ModuleSource(const std::vector<std::string>& files) {
    for (const std::string& file : files) {
      given_.push_back(ir::load_module(file, {}));
      ir::fuse_by({}, {}, given_.back());
    }
  }

  // nullopt if there is no module; if it cannot be read, a note says why.
  std::optional<JoinedModule> read(const XplaneModule& profiled, std::vector<std::string>& notes) {
    try {
      std::optional<ir::Module> module = find(profiled);
      if (!module) return std::nullopt;
      ir::Program program = ir::make_program(*module);
      return JoinedModule{&profiled, *std::move(module), std::move(program), {}};
    } catch (const Error& error) {
      notes.emplace_back(error.what());
      return std::nullopt;
    }
  }
  void require_all_used(const XplaneProfile& profile) const {
    for (std::size_t i = 0; i < given_.size(); ++i) {
      if (used_.contains(i)) continue;
      std::set<std::string> names;
      for (const XplaneModule& module : profile.modules) names.insert(module.name);
      throw Error(fmt::format("{}: the profile has no module {}; its modules: {}", given_[i].file,
                              given_[i].module.name, fmt::join(names, ", ")));
    }
  }

 private:
  std::optional<ir::Module> find(const XplaneModule& profiled) {
    for (std::size_t i = 0; i < given_.size(); ++i) {
      const bool only = given_.size() == 1 && profiled.hlo_proto.empty();
      if (given_[i].module.name == profiled.name || only) {
        used_.insert(i);
        return given_[i].module;
      }
    }
    if (profiled.hlo_proto.empty()) return std::nullopt;
    return ir::read_hlo_proto(profiled.hlo_proto, "module " + profiled.name + " of the profile");
  }

  std::vector<ir::LoadedModule> given_;
  std::set<std::size_t> used_;
};

void leave_over(const XplaneModule& module, std::string_view category, std::string_view name,
                const XplaneTimes& times, XplaneJoin& join) {
  join.left_over.push_back({std::string(category), fmt::format("{} of {}", name, module.name),
                            times.occurrences, times.total});
}

void add_module(JoinedModule joined, XplaneJoin& join) {
  const XplaneModule& profiled = *joined.profiled;
  const KernelOf kernels = kernels_by_instruction(joined.module, joined.program);
  const auto add = [&](const std::string& name, const XplaneTimes& times) {
    const auto found = kernels.find(name);
    if (found == kernels.end())
      return leave_over(profiled, "unknown instruction", name, times, join);
    (found->second.empty() ? join.controls : join.kernels) += times.total;
    add_times(times, joined.instructions[name]);
    if (found->second == name) joined.kernels[name] = joined.instructions[name];
  };
  for (const auto& [name, times] : profiled.instructions) add(name, times);
  GraphTimes graphs = times_of_graphs(profiled, joined.program, kernels);
  for (const auto& [name, times] : graphs.kernels) add(name, times);
  for (const auto& [name, times] : graphs.unknown) {
    leave_over(profiled, "unknown kernel", name, times, join);
  }
  for (const auto& [name, times] : graphs.transfers) join.transfers += times.total;
  joined.transfers = std::move(graphs.transfers);
  for (const auto& [name, times] : profiled.transfers) {
    if (kernels.contains(name)) joined.kernels[name] = times;
  }
  join.modules.push_back(std::move(joined));
}

}  // namespace

XplaneJoin join_modules(const XplaneProfile& profile, const std::vector<std::string>& files) {
  XplaneJoin join{.left_over = profile.left_over};
  ModuleSource source(files);
  for (const XplaneModule& profiled : profile.modules) {
    if (std::optional<JoinedModule> joined = source.read(profiled, join.notes)) {
      add_module(*std::move(joined), join);
      continue;
    }
    for (const auto& [name, times] : profiled.instructions) {
      leave_over(profiled, "unknown module", name, times, join);
    }
    for (const XplaneGraph& graph : profiled.graphs) {
      for (const auto& [name, times] : graph.nodes) {
        leave_over(profiled, "unknown module", name, times, join);
      }
    }
  }
  source.require_all_used(profile);
  std::stable_sort(join.left_over.begin(), join.left_over.end(),
                   [](const auto& a, const auto& b) { return a.total > b.total; });
  return join;
}

}  // namespace tilecast::measured
