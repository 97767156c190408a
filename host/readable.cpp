#include <fmt/format.h>

#include "analytical/layout_rules.h"
#include "base/error.h"
#include "base/source_text.h"
#include "host/workloads.h"
#include "ir/canonical_hash.h"
#include "ir/fusion/fusion.h"
#include "ir/load_program.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"

namespace tilecast::host {

std::string not_readable(const Workload& workload, const hwdesc::Device& device) {
  try {
    ir::Module module =
        ir::parse_hlo(base::SourceText(workload.name, ir::print_hlo(workload.module)));
    if (!ir::is_optimised(module)) module = ir::fuse(std::move(module));
    const ir::Program program = ir::program_for({workload.name, std::move(module), {}},
                                                analytical::layout_rules(device), {})
                                    .program;
    if (program.kernels().size() != 1) {
      return fmt::format("reads back as {} kernels, expected one", program.kernels().size());
    }
    const bool same = ir::canonical_hash(program.kernels().front().kernel) == workload.hash;
    return same ? "" : "reads back as another kernel";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace tilecast::host
