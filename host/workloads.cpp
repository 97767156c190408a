// Splits programs into kernels by random fusion configurations.
#include "host/workloads.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <unordered_set>

#include "analytical/layout_rules.h"
#include "analytical/roofline.h"
#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/device_yaml.h"
#include "ir/canonical_hash.h"
#include "ir/fusion/fusion.h"
#include "ir/fusion/fusion_space.h"
#include "ir/kernels/kernel_module.h"
#include "ir/load_program.h"
#include "ir/op_hash.h"
#include "ir/program.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"

namespace tilecast::host {

namespace {

using ir::ComputationId;
using ir::InstrId;
using ir::Instruction;
using ir::Kernel;
using ir::Module;
using ir::OpClass;
using ir::Opcode;

// Why an op cannot run alone on one core; empty if it can.
std::string_view unfit(const ir::Op& op) {
  switch (ir::op_class(op.opcode)) {
    case OpClass::kCollective:
      return "collective";
    case OpClass::kControl:
      return "control flow";
    case OpClass::kCustomCall:
      return "custom call";
    case OpClass::kHost:
      return "host transfer";
    case OpClass::kRandom:
      return "random numbers";
    default:
      break;
  }
  if (op.opcode == Opcode::kCopyStart) return "asynchronous copy";
  if (op.opcode == Opcode::kReplicaId || op.opcode == Opcode::kPartitionId) return "device number";
  return op.shape.dynamic_mask != 0 ? "dynamic shape" : std::string_view();
}

std::string unfit(const Kernel& kernel) {
  for (const ir::Op& op : kernel.ops()) {
    if (const std::string_view reason = unfit(op); !reason.empty()) return std::string(reason);
  }
  return kernel.outputs().empty() ? "no result" : "";
}

std::string too_long(const Kernel& kernel, const hwdesc::Device& device, Seconds longest) {
  if (analytical::speed_of_light(kernel, device) <= longest) return {};
  return fmt::format("longer than {:g} ms", longest.value * 1e3);
}

// Calls `visit(computation, instruction)` once per instruction that takes time, callers first.
template <class Visit>
void for_each_kernel(const Module& module, Visit&& visit) {
  std::vector<bool> seen(module.computations.size(), false);
  std::vector<ComputationId> open = {module.entry};
  while (!open.empty()) {
    const ComputationId id = open.back();
    open.pop_back();
    if (seen[id.index()]) continue;
    seen[id.index()] = true;
    const std::vector<Instruction>& instructions = module.at(id).instructions;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const Instruction& instruction = instructions[i];
      if (ir::is_control_flow(instruction.opcode)) {
        open.insert(open.end(), instruction.called.begin(), instruction.called.end());
      } else if (!ir::is_zero_cost(instruction.opcode)) {
        visit(id, InstrId(i));
      }
    }
  }
}

std::string name_of(const Module& program) {
  const std::string stem = std::filesystem::path(program.file).stem().string();
  return stem.empty() ? program.name : stem;
}

// Iterates over the program's configurations.
class Configurations {
 public:
  Configurations(const Module& program, const hwdesc::Device& device, const FusionCut& cut)
      : program_(program),
        device_(device),
        cut_(cut),
        count_(ir::is_optimised(program) ? 1 : cut.configurations) {}

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] Module make(std::size_t number) const {
    if (ir::is_optimised(program_)) return laid_out(program_, device_);
    return laid_out(fused(program_, fusion_configuration(cut_.seed, number)), device_);
  }
  [[nodiscard]] std::string name(std::size_t number) const {
    return fmt::format("{}.c{}", name_of(program_), number);
  }

 private:
  const Module& program_;
  const hwdesc::Device& device_;
  const FusionCut& cut_;
  std::size_t count_;
};

// A number in [0, 1) that depends on seed, configuration and purpose.
double draw(std::uint64_t seed, std::size_t configuration, std::string_view purpose) {
  ir::Hash128 hash;
  hash.add(seed);
  hash.add(std::uint64_t{configuration});
  hash.add(purpose);
  return std::ldexp(static_cast<double>(hash.result()[0] >> 11), -53);
}

}  // namespace

Module laid_out(Module module, const hwdesc::Device& device) {
  if (ir::has_device_layouts(module) == device.native_tile.tiled) return module;
  return ir::assign_layouts(std::move(module), analytical::layout_rules(device));
}

FusionDraw fusion_configuration(std::uint64_t seed, std::size_t number) {
  if (number == 0) return {};
  if (number == 1) return {.share = 0};
  const auto drawn = [&](std::string_view purpose) { return draw(seed, number, purpose); };
  FusionDraw result{.share = 0.25 + 0.75 * drawn("share"),
                    .seed = seed * 0x9e3779b97f4a7c15ULL + number};
  ir::FusionOptions& options = result.options;
  options.recompute_to_save_bytes = drawn("recompute") < 0.5;
  if (drawn("ops limited") < 0.25) options.max_ops = 3 + static_cast<int>(drawn("ops") * 20);
  if (drawn("parameters limited") < 0.25) {
    options.max_parameters = 3 + static_cast<int>(drawn("parameters") * 6);
  }
  return result;
}

Module fused(const Module& program, const FusionDraw& draw) {
  return ir::fuse_at_random(program, draw.share, draw.seed, draw.options);
}

ProgramKernels fusion_workloads(const Module& program, const hwdesc::Device& device,
                                const FusionCut& cut) {
  ProgramKernels result;
  std::unordered_set<std::string> seen;
  const Configurations configurations(program, device, cut);
  for (std::size_t c = 0; c < configurations.count(); ++c) {
    const Module module = configurations.make(c);
    ir::WorkCounter counter(module);
    for_each_kernel(module, [&](ComputationId computation, InstrId instruction) {
      ++result.kernels;
      Kernel kernel = ir::make_kernel(module, computation, instruction, counter);
      std::string hash = ir::canonical_hash(kernel);
      if (!seen.insert(hash).second) {
        ++result.duplicates;
        return;
      }
      std::string reason = unfit(kernel);
      if (reason.empty()) reason = too_long(kernel, device, cut.longest);
      if (!reason.empty()) {
        ++result.left_out[reason];
        return;
      }
      const std::string name = fmt::format("{}.{}", configurations.name(c), kernel.name());
      result.workloads.push_back({name, name_of(program),
                                  ir::isolate(module, computation, instruction, name),
                                  std::move(kernel), std::move(hash)});
    });
  }
  return result;
}

namespace {

Workload workload_of(const std::string& family, ir::Module module, const hwdesc::Device& device) {
  module = ir::assign_layouts(std::move(module), analytical::layout_rules(device));
  ir::WorkCounter counter(module);
  Kernel kernel = ir::make_kernel(module, module.entry, module.entry_computation().root, counter);
  std::string hash = ir::canonical_hash(kernel);
  std::string name = module.name;
  return {std::move(name), family, std::move(module), std::move(kernel), std::move(hash)};
}

// The kernels of a shipped file, one module each.
void add_shipped(const std::string& family, const hwdesc::Device& device,
                 std::vector<Workload>& workloads) {
  constexpr std::string_view kModule = "\nHloModule ";
  const std::string path = (shipped_folder("kernels") / (family + ".hlo")).string();
  const std::string text = base::SourceText::read_bytes(path);
  for (std::size_t at = text.find(kModule), next = 0; at != std::string::npos; at = next) {
    next = text.find(kModule, at + 1);
    workloads.push_back(workload_of(
        family, ir::parse_hlo(base::SourceText(path, text.substr(at, next - at))), device));
  }
}

}  // namespace

std::filesystem::path shipped_folder(const std::string& name) {
  const std::vector<std::string> presets = hwdesc::preset_names();
  if (presets.empty()) return {};
  return std::filesystem::path(hwdesc::preset_path(presets.front())).parent_path().parent_path() /
         name;
}

std::vector<Workload> tile_workloads(const hwdesc::Device& device) {
  std::vector<Workload> workloads;
  for (const char* family :
       {"convolution", "matmul", "epilogue", "reduction", "movement", "rows"}) {
    add_shipped(family, device, workloads);
  }
  return workloads;
}

std::vector<Workload> schedule_workloads(const hwdesc::Device& device) {
  std::vector<Workload> workloads;
  add_shipped("schedule", device, workloads);
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    workloads[i].family = fmt::format("C{}", i + 1);
  }
  return workloads;
}

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
