#include "program_kernels.h"

#include "ir/fusion/fusion.h"
#include "ir/program.h"
#include "ir/text/hlo_parser.h"
#include "ir/verify/verifier.h"
#include "tests/support/folders.h"

namespace tilecast::ir {

std::vector<KernelPlace> kernel_places(const Module& module) {
  std::vector<KernelPlace> places;
  std::vector<bool> seen(module.computations.size(), false);
  std::vector<ComputationId> open = {module.entry};
  while (!open.empty()) {
    const ComputationId id = open.back();
    open.pop_back();
    if (seen[id.index()]) continue;
    seen[id.index()] = true;
    const Computation& computation = module.at(id);
    for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
      const Instruction& op = computation.instructions[i];
      const bool is_control = op.opcode == Opcode::kWhile || op.opcode == Opcode::kConditional ||
                              op.opcode == Opcode::kCall;
      if (is_control) {
        open.insert(open.end(), op.called.begin(), op.called.end());
      } else if (!is_zero_cost(op.opcode)) {
        places.push_back({id, InstrId(i)});
      }
    }
  }
  return places;
}

std::vector<Module> shipped_programs() {
  std::vector<Module> programs;
  const auto folder = support::source_dir() / "configs/programs";
  for (const std::filesystem::path& file : support::files_below(folder, ".hlo")) {
    programs.push_back(fuse(read_hlo_file(file.string())));
    verify(programs.back());
  }
  return programs;
}

}  // namespace tilecast::ir
