#include "ir/load_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ir/cache_residency.h"
#include "ir/fusion/attention_form.h"
#include "ir/fusion/fusion_space.h"
#include "ir/memory/carry_copies.h"
#include "ir/verify/verifier.h"

namespace tilecast::ir {

namespace {

// Whether any array is sharded, in HLO or in an attribute kept from StableHLO.
bool has_tiled_sharding(const Module& module) {
  const auto cuts = [](const Instruction& op) {
    return std::ranges::any_of(*op.raw, [](const RawAttr& attr) {
      const bool holds = attr.key == "sharding" || attr.key == "frontend_attributes";
      return holds && attr.value.find("devices=[") != std::string::npos;
    });
  };
  return std::ranges::any_of(module.computations, [&](const Computation& computation) {
    return std::ranges::any_of(computation.instructions, cuts);
  });
}

std::string_view name(Compiler compiler) {
  if (compiler == Compiler::kXlaGpu) return "XLA:GPU";
  return compiler == Compiler::kXlaCpu ? "XLA:CPU" : "XLA:TPU";
}

// Fuses modules that are not yet optimised, and adds notes on assumptions.
LoadedModule prepared(LoadedModule loaded, const LoadOptions& options) {
  for (const std::string& warning : loaded.module.warnings) loaded.notes.push_back({warning});
  const bool optimised = is_optimised(loaded.module);
  loaded.optimised = optimised;
  if (!optimised) pack_narrow_types(loaded.module);
  if (!optimised && loaded.module.num_partitions > 1 && has_tiled_sharding(loaded.module)) {
    loaded.notes.push_back(
        {fmt::format("not partitioned: its shardings over {} devices are not applied; every time "
                     "is that of the whole program on one (give the module after partitioning)",
                     loaded.module.num_partitions),
         1, /*matters=*/true});
  }
  if (!options.fusion.empty() && optimised) {
    throw Error(fmt::format("{}: is fused already; {} needs the program from before that",
                            loaded.file, options.fusion));
  }
  loaded.unfused = !optimised && (options.fuse || !options.fusion.empty());
  return loaded;
}

// Who runs the program, and whether its fusions are that compiler's own.
struct MadeFor {
  bool xla_gpu = false, compiled = false;
};

ProgramOptions program_options(const LoadOptions& options, MadeFor made) {
  return {.default_trip_count = options.trip_count,
          .xla_gpu = made.xla_gpu,
          .gpu_code = made.xla_gpu && made.compiled,
          .jobs = options.jobs};
}

void note_attention(AttentionCalls which, LoadedModule& loaded) {
  if (which == AttentionCalls::kNone) return;
  loaded.module = with_calls_inlined(std::move(loaded.module));
  const int calls = call_attention(loaded.module, which);
  if (calls == 0) return;
  loaded.notes.push_back(
      {which == AttentionCalls::kAlone
           ? "nothing but one attention: taken as a library's fused kernel; --set attention=own "
             "gives what XLA makes of it, products and a softmax"
           : fmt::format("{} attentions taken as a library's fused kernels (attention: library)",
                         calls)});
}

DeviceProgram with_notes(Program program, std::vector<Note> notes) {
  if (program.kernels().empty()) {
    notes.push_back(
        {"no kernel: the program passes on arguments and constants, or computes nothing"});
  }
  return {std::move(program), std::move(notes)};
}

DeviceProgram as_dumped(LoadedModule loaded, const LoadOptions& options, MadeFor made) {
  return with_notes(make_program(loaded.module, program_options(options, made)),
                    std::move(loaded.notes));
}

}  // namespace

void fuse_by(const FusionOptions& rules, const LoadOptions& options, LoadedModule& loaded) {
  if (!std::exchange(loaded.unfused, false)) return;
  if (!options.fusion.empty()) {
    const FusionSpace space(std::move(loaded.module), rules);
    loaded.module = space.fused(space.read(base::SourceText::read_file(options.fusion)));
    verify(loaded.module);  // the decisions come from a user's file
    loaded.notes.push_back({fmt::format("fused by the decisions in {}", options.fusion)});
  } else if (rules.compiler == Compiler::kNone) {
    loaded.notes.push_back({"not optimised, and the device's description says fusion: none"});
    return;
  } else {
    note_attention(rules.attention, loaded);
    loaded.module = fuse(std::move(loaded.module), rules);
    loaded.notes.push_back(
        {fmt::format("not optimised: fused by Tilecast's rules for {} (--fusion=none keeps ops)",
                     name(rules.compiler))});
  }
  loaded.module = with_carry_copies(std::move(loaded.module));
}

LoadedModule load_module(const std::string& path, const LoadOptions& options) {
  return prepared({path, read_module(path, options.read), {}}, options);
}

LoadedModule load_module(base::SourceText text, const LoadOptions& options) {
  std::string file = text.file();
  Module module = read_module(std::move(text), options.read);
  return prepared({std::move(file), std::move(module), {}}, options);
}

DeviceProgram program_for(LoadedModule loaded, const LayoutRules& layout,
                          const LoadOptions& options) {
  const bool fuses = loaded.unfused, compiled = loaded.module.is_scheduled && !fuses;
  fuse_by(layout.fusion, options, loaded);
  if (const std::size_t found = find_in_caches(loaded.module, layout.caches); found > 0) {
    loaded.notes.push_back({fmt::format("{} arrays are found in caches", found)});
  }
  const bool has_tiles = has_device_layouts(loaded.module);
  const MadeFor made{.xla_gpu = (fuses || compiled) && !has_tiles && !layout.tiled &&
                                layout.fusion.compiler == Compiler::kXlaGpu,
                     .compiled = compiled};
  if (has_tiles != layout.tiled && loaded.optimised) {
    loaded.notes.push_back({fmt::format("compiled for {}: its fusions and library calls are kept",
                                        has_tiles ? "a TPU" : "a GPU or a processor"),
                            1, /*matters=*/true});
  }
  if (has_tiles == layout.tiled) return as_dumped(std::move(loaded), options, made);
  Module laid_out = assign_layouts(std::move(loaded.module), layout);
  loaded.notes.push_back({has_tiles ? "tiled layouts of the file dropped: the device has none"
                                    : "no device layouts in the file: assigned by device rules"});
  if (const std::size_t kept = keep_on_chip(laid_out, layout.scratchpad); kept > 0) {
    loaded.notes.push_back({fmt::format("{} results stay on chip between kernels", kept)});
  }
  return with_notes(make_program(laid_out, program_options(options, made)),
                    std::move(loaded.notes));
}

DeviceProgram program_as_dumped(LoadedModule loaded, const LoadOptions& options) {
  fuse_by({}, options, loaded);
  return as_dumped(std::move(loaded), options, {});
}

}  // namespace tilecast::ir
