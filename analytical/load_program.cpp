#include "analytical/load_program.h"

#include "ir/fusion.h"
#include "ir/hlo_parser.h"

namespace tilecast::analytical {

LoadedModule load_module(const std::string& path, const LoadOptions& options) {
  LoadedModule loaded{path, ir::read_hlo_file(path, {.strict = options.strict}), {}};
  for (const std::string& warning : loaded.module.warnings) loaded.notes.push_back({warning});
  if (options.fuse && !ir::is_optimised(loaded.module)) {
    loaded.module = ir::fuse(std::move(loaded.module));
    loaded.notes.push_back({"not optimised: fused by Tilecast's rules (--fusion=none keeps ops)"});
  }
  return loaded;
}

ir::LayoutRules layout_rules(const hwdesc::Device& device) {
  ir::LayoutRules rules;
  rules.sublanes = device.native_tile.sublanes;
  rules.lanes = device.native_tile.lanes;
  rules.word_bits = device.native_tile.word_bits;
  rules.tiled = device.native_tile.tiled;
  return rules;
}

DeviceProgram program_for(LoadedModule loaded, const hwdesc::Device& device,
                          const LoadOptions& options) {
  const bool has_tiles = ir::has_device_layouts(loaded.module);
  if (has_tiles == device.native_tile.tiled) return program_as_dumped(loaded, options);
  const ir::Module laid_out = ir::assign_layouts(std::move(loaded.module), layout_rules(device));
  loaded.notes.push_back({has_tiles ? "tiled layouts of the file dropped: the device has none"
                                    : "no device layouts in the file: assigned by device rules"});
  return {ir::make_program(laid_out, {.default_trip_count = options.trip_count}),
          std::move(loaded.notes)};
}

DeviceProgram program_as_dumped(const LoadedModule& loaded, const LoadOptions& options) {
  return {ir::make_program(loaded.module, {.default_trip_count = options.trip_count}),
          loaded.notes};
}

}  // namespace tilecast::analytical
