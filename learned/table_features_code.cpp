#include "learned/register_need.h"
#include "learned/table_features_groups.h"

namespace tilecast::learned {
namespace {

constexpr std::size_t kNeeds = 10;

// Names, in the order of values_of().
Columns::PartName need_part(std::size_t part) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, kNeeds> kNames = {{
      {"pressure", "registers of what changes along the loop"},
      {"invariants", "values that do not"},
      {"streams", "arrays read along their minor-most dimension"},
      {"strided", "arrays read along another dimension"},
      {"ops", "arithmetic"},
      {"shared", "arithmetic used more than once"},
      {"functions", "exponentials, logarithms and the like"},
      {"divisions", "divisions and roots"},
      {"selections", "comparisons, selections, extremes"},
      {"conversions", "conversions of the type"},
  }};
  return {std::string(kNames[part].first), std::string(kNames[part].second)};
}

std::array<double, kNeeds> values_of(const RegisterNeed& need) {
  return {need.pressure, need.invariants, need.streams,   need.strided,    need.ops,
          need.shared,   need.functions,  need.divisions, need.selections, need.conversions};
}

void need_columns(const KernelScan& scan, const ir::Op* root, const Columns::Text& text,
                  Columns& to) {
  std::array<double, kNeeds> values{};
  values.fill(kMissing);
  if (root != nullptr) {
    const auto index = static_cast<std::size_t>(root - scan.kernel->ops().data());
    values = values_of(register_need(*scan.kernel, ir::OpId(index)));
  }
  to.parts(text, values, need_part);
}

// Elements of the innermost loop after merging loops that the tile does not cut.
double run_of(const TileScan& scan, const analytical::TileConfig* tile) {
  const std::vector<analytical::Loop>& loops = scan.space.loops;
  if (tile == nullptr || loops.empty()) return kMissing;
  const analytical::LoopSizes extents = analytical::tile_extents(scan.space, *tile);
  double run = 1;
  for (std::size_t i = scan.space.output_slots; i-- > 0;) {
    run *= static_cast<double>(extents[i]);
    if (extents[i] != loops[i].size) break;
  }
  return run;
}

}  // namespace

void code_columns(const KernelScan& scan, Columns& to) {
  need_columns(scan, scan.largest_output,
               {"output", "Innermost loop of the largest output (register_need.h)"}, to);
  need_columns(scan, scan.reduction,
               {"reduction", "Innermost loop of the largest reduction (register_need.h)"}, to);
}

void run_column(const TileScan& scan, const analytical::TileConfig* tile, Columns& to) {
  to.value({"run", "Elements of the tile that lie one after the other in the output."},
           run_of(scan, tile));
}

}  // namespace tilecast::learned
