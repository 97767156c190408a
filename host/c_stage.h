// Boxes of ops, the buffers that hold them, and the pieces a buffer is assembled from.
//
// A box is a range in every dimension: its start depends on the tile, its size is constant or the
// current tile's. Plain values, used by one Pass (c_pass.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/c_symbols.h"
#include "ir/kernel.h"

namespace tilecast::host {

struct BoxDim {
  Index start, size;
  std::int64_t largest = 1;  // upper bound of the size
};
using Box = std::vector<BoxDim>;
// Layout of a buffer: chosen by the op's rule, or dense in a given order of dimensions.
enum class BoxOrder { kAny, kRowMajor, kPhysical };

struct Stage {
  ir::OpId op;
  std::string type;          // C type of an element in the buffer
  bool accumulates = false;  // elements are not yet rounded to the op's type
  std::uint32_t split = 0;   // bit mask: cut reduction loops it accumulates over
  std::uint32_t late = 0;    // bit mask: cut reduction loops; it runs after their last piece
  bool is_load = false;
  std::string buffer;
  Position starts;                        // start of the box, by dimension
  ir::Dims strides;                       // by dimension, elements
  std::int64_t elements = 0, offset = 0;  // elements of one buffer; offset in bytes
  std::uint32_t loops = 0;                // bit mask: tile loops it depends on
  std::string code;
};

// Element i of a packed dimension is read from `op_dim` of the op at scale * (start + i). With a
// border, start + i is a position in a padded and dilated array: element j is at low + j * step,
// and all other positions hold the fill value.
struct Border {
  Index low;
  std::int64_t step = 1, size = 1;
};
struct PackDim {
  BoxDim box;
  int op_dim = 0;
  std::int64_t scale = 1;
  std::optional<Border> border;
};
struct Piece {
  ir::OpId op;
  std::vector<PackDim> dims;  // in the buffer's order, most major first
  ir::Dims base;              // added to the op's indices
};
struct PackSpec {
  std::string type;
  std::vector<Piece> pieces;  // later ones overwrite earlier ones
  std::string fill;           // a value; "" if the pieces cover every element
  ir::DType fill_type = ir::DType::kF32;
  std::int64_t minor_multiple = 1;  // the most minor extent is padded to a multiple of this
};
struct Packed {
  std::size_t stage = 0;
  ir::Dims strides;  // by packed dimension
};

struct PassLoop {
  int loop = 0;  // index in the iteration space
  TileLoop tile;
  bool cuts_output = true;  // false: a reduction loop
  bool used = false;        // by an output or a split reduction
  Index variable, start, size;
};

}  // namespace tilecast::host
