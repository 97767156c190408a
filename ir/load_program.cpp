#include "ir/load_program.h"

#include <fmt/format.h>

#include "ir/fusion/fusion.h"

namespace tilecast::ir {

LoadedModule load_module(const std::string& path, const LoadOptions& options) {
  LoadedModule loaded{path, read_module(path, options.read), {}};
  for (const std::string& warning : loaded.module.warnings) loaded.notes.push_back({warning});
  if (options.fuse && !is_optimised(loaded.module)) {
    loaded.module = fuse(std::move(loaded.module));
    loaded.notes.push_back({"not optimised: fused by Tilecast's rules (--fusion=none keeps ops)"});
  }
  return loaded;
}

DeviceProgram program_for(LoadedModule loaded, const LayoutRules& layout,
                          const LoadOptions& options) {
  const bool has_tiles = has_device_layouts(loaded.module);
  if (has_tiles == layout.tiled) return program_as_dumped(loaded, options);
  Module laid_out = assign_layouts(std::move(loaded.module), layout);
  loaded.notes.push_back({has_tiles ? "tiled layouts of the file dropped: the device has none"
                                    : "no device layouts in the file: assigned by device rules"});
  if (const std::size_t kept = keep_on_chip(laid_out, layout.scratchpad); kept > 0) {
    loaded.notes.push_back({fmt::format("{} results stay on chip between kernels", kept)});
  }
  return {make_program(laid_out, {.default_trip_count = options.trip_count}),
          std::move(loaded.notes)};
}

DeviceProgram program_as_dumped(const LoadedModule& loaded, const LoadOptions& options) {
  return {make_program(loaded.module, {.default_trip_count = options.trip_count}), loaded.notes};
}

}  // namespace tilecast::ir
