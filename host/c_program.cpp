#include "host/c_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "base/math.h"
#include "ir/kernels/kernel_fingerprint.h"
#include "ir/op_hash.h"

namespace tilecast::host {
namespace {

using ir::Shape;

constexpr std::string_view kFunction = "tilecast_program";
// Placeholder name of a function while its code is compared with existing ones.
constexpr std::string_view kAnyFunction = "tilecast_part";

// Function name derived from the code, so that equal kernels have equal names.
std::string function_of(const std::string& code) {
  ir::Hash128 hash;
  hash.add(code);
  const auto digits = hash.result();
  return fmt::format("part_{:016x}{:016x}", digits[0], digits[1]);
}

class ProgramWriter {
 public:
  ProgramWriter(WiredProgram wired, const hwdesc::Device& device, const CProgramOptions& options)
      : wired_(std::move(wired)), device_(device), options_(options) {}

  std::variant<CProgram, Unsupported> write() {
    const HeapPlan heap = plan_heap(wired_);
    for (const Launch& launch : wired_.launches) {
      const auto part = this->part(launch.kernel);
      if (const auto* problem = std::get_if<Unsupported>(&part)) return *problem;
      program_.calls.push_back(std::get<std::size_t>(part));
    }
    std::int64_t scratch = 0;
    for (const PartKernel& part : program_.parts) {
      scratch = std::max(scratch, part.code.scratch_bytes);
    }
    scratch = base::round_up<std::int64_t>(scratch, kHeapAlignment);
    program_.function = kFunction;
    program_.heap_bytes = heap.bytes;
    program_.scratch_bytes = scratch + heap.bytes;
    program_.caller = caller(heap, scratch);
    program_.inputs = std::move(wired_.inputs);
    program_.outputs = std::move(wired_.results);
    return std::move(program_);
  }

 private:
  // The part that computes this kernel, either an existing or a new one.
  std::variant<std::size_t, Unsupported> part(const ir::Kernel& kernel) {
    auto [tile, given] = tile_of(kernel);
    auto code = options_.generate(kernel, tile, std::string(kAnyFunction));
    if (std::holds_alternative<Unsupported>(code) && !given && tile != analytical::TileConfig{}) {
      tile = {};
      code = options_.generate(kernel, tile, std::string(kAnyFunction));
    }
    if (const auto* problem = std::get_if<Unsupported>(&code)) {
      return Unsupported{kernel.name() + ": " + problem->reason};
    }
    const std::string& text = std::get<CKernel>(code).source;
    const auto [known, is_new] = part_by_text_.try_emplace(text, program_.parts.size());
    if (!is_new) return known->second;
    auto named = options_.generate(kernel, tile, function_of(text));
    TC_CHECK(std::holds_alternative<CKernel>(named), "a function's name does not matter");
    program_.parts.push_back({kernel, std::move(tile), std::get<CKernel>(std::move(named))});
    return known->second;
  }

  struct Tile {
    analytical::TileConfig tile;
    bool given = false;
  };
  Tile tile_of(const ir::Kernel& kernel) {
    const auto [known, is_new] = tiles_.try_emplace(ir::fingerprint(kernel));
    if (!is_new) return known->second;
    if (auto given = options_.tile(kernel)) {
      known->second = {std::move(*given), true};
    } else {
      known->second.tile = default_tile(kernel, device_);
    }
    return known->second;
  }

  std::string caller(const HeapPlan& heap, std::int64_t scratch) const {
    std::string text = "\n";
    for (const PartKernel& part : program_.parts) {
      text += fmt::format("void {}(const void* const* in, void* const* out, void* scratch);\n",
                          part.code.function);
    }
    text += fmt::format(
        "\nvoid {}(const void* const* in, void* const* out, void* scratch) {{\n"
        "  char* const heap = (char*)scratch + {};\n  (void)in;\n  (void)out;\n  (void)heap;\n",
        kFunction, scratch);
    for (std::size_t i = 0; i < program_.calls.size(); ++i) {
      text += call(wired_.launches[i], program_.parts[program_.calls[i]], heap);
    }
    for (const auto& [from, result] : wired_.copies) {
      text += fmt::format("  __builtin_memcpy(out[{}], {}, {});\n", result, place(from, heap),
                          host_bytes(wired_.results[result]));
    }
    return text + "}\n";
  }

  [[nodiscard]] std::string call(const Launch& launch, const PartKernel& part,
                                 const HeapPlan& heap) const {
    std::string reads, writes;
    for (const ArrayRef& read : launch.reads) reads += place(read, heap) + ", ";
    for (const std::size_t array : launch.writes) {
      writes += place({ArrayRef::Kind::kArray, array}, heap) + ", ";
    }
    // A kernel may have no inputs, but C has no empty arrays.
    return fmt::format(
        "  {{\n    const void* const i[] = {{{}0}};\n    void* const o[] = {{{}0}};\n"
        "    {}(i, o, scratch);\n  }}\n",
        reads, writes, part.code.function);
  }

  [[nodiscard]] std::string place(const ArrayRef& ref, const HeapPlan& heap) const {
    TC_CHECK(ref.kind != ArrayRef::Kind::kNothing, "kernels read arrays");
    if (ref.kind == ArrayRef::Kind::kInput) return fmt::format("in[{}]", ref.index);
    const ProgramArray& array = wired_.arrays[ref.index];
    if (array.result) return fmt::format("out[{}]", *array.result);
    return fmt::format("heap + {}", heap.offsets[ref.index]);
  }

  WiredProgram wired_;
  const hwdesc::Device& device_;
  const CProgramOptions& options_;
  CProgram program_;
  std::unordered_map<std::string, std::size_t> part_by_text_;
  std::map<ir::Fingerprint, Tile> tiles_;
};

}  // namespace

analytical::TileConfig default_tile(const ir::Kernel& kernel, const hwdesc::Device& device) {
  const analytical::KernelAnalysis analysis(kernel, device);
  return analysis.tileable() ? analysis.estimate_best().tile : analytical::TileConfig{};
}

std::variant<CProgram, Unsupported> make_c_program(const ir::Module& module,
                                                   const hwdesc::Device& device,
                                                   const CProgramOptions& options) {
  auto wired = wire_program(module);
  if (auto* problem = std::get_if<Unsupported>(&wired)) return std::move(*problem);
  return ProgramWriter(std::get<WiredProgram>(std::move(wired)), device, options).write();
}

std::string part_source(const PartKernel& part) {
  return std::string(c_prelude()) + part.code.source;
}

RunJob whole_job(const CProgram& program) {
  RunJob job{program.function, {}, program.outputs, program.scratch_bytes};
  for (const ProgramInput& input : program.inputs) job.inputs.push_back(input.shape);
  return job;
}

}  // namespace tilecast::host
