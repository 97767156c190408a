#include <cmath>

#include "learned/table_features_groups.h"

namespace tilecast::learned {
namespace {

constexpr std::size_t kSizes = 12;

// Names, in the order of alignment_columns().
Columns::PartName size_part(std::size_t part) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, kSizes> kNames = {{
      {"output_minor", "minor-most dimension of the largest output"},
      {"output_second", "second minor dimension of the largest output"},
      {"parameter_minor", "minor-most dimension of the largest parameter"},
      {"parameter_second", "second minor dimension of the largest parameter"},
      {"matrix_m", "rows of the largest product"},
      {"matrix_n", "columns of the largest product"},
      {"matrix_k", "terms of the sums of the largest product"},
      {"tile_minor", "minor-most extent of the tile"},
      {"tile_second", "second minor extent of the tile"},
      {"tile_m", "rows of the tile's product"},
      {"tile_n", "columns of the tile's product"},
      {"tile_k", "terms of the sums of the tile's product"},
  }};
  return {std::string(kNames[part].first), std::string(kNames[part].second)};
}

double second_minor_size(const ir::Shape& shape) {
  const bool laid_out = shape.layout && shape.layout->minor_to_major.size() > 1;
  return dimension_size(shape, laid_out ? shape.layout->minor_to_major[1] : shape.rank() - 2);
}

}  // namespace

// Units are the native tile (sublanes x lanes: 8 x 128 on a TPU), else vectors.
void alignment_columns(const KernelScan& scan, const hwdesc::Device& device, const TileSizes& tile,
                       Columns& to) {
  const hwdesc::NativeTile& native = device.native_tile;
  const auto vector = static_cast<double>(device.vector.lanes * device.vector.sublanes);
  const double lanes = native.tiled ? static_cast<double>(native.lanes) : std::fmax(vector, 1);
  const double sublanes = native.tiled ? static_cast<double>(native.sublanes) : 1;
  const auto of_array = [](const ir::Op* op, auto&& size) {
    return op == nullptr ? kMissing : size(op->shape);
  };
  const auto of_product = [&](double size) { return scan.matrix == nullptr ? kMissing : size; };
  const std::pair<double, double> sizes[kSizes] = {
      // the units
      {of_array(scan.largest_output, minor_size), lanes},
      {of_array(scan.largest_output, second_minor_size), sublanes},
      {of_array(scan.largest_parameter, minor_size), lanes},
      {of_array(scan.largest_parameter, second_minor_size), sublanes},
      {of_product(scan.sizes.m), sublanes},
      {of_product(scan.sizes.n), lanes},
      {of_product(scan.sizes.k), lanes},
      {tile.minor, lanes},
      {tile.second_minor, sublanes},
      {tile.m, sublanes},
      {tile.n, lanes},
      {tile.k, lanes}};
  std::array<double, kSizes> over{}, modulo{};
  for (std::size_t i = 0; i < kSizes; ++i) {
    over[i] = sizes[i].first / sizes[i].second;
    modulo[i] = std::fmod(sizes[i].first, sizes[i].second);
  }
  to.parts({"over", "Size over that of the native tile or vector"}, over, size_part);
  to.parts({"modulo", "Size modulo that of the native tile or vector"}, modulo, size_part);
}

}  // namespace tilecast::learned
