// Boxes of ops, the buffers that hold them, and how a buffer is put together.
//
// A box is a range of every dimension: its start follows the tile, its size is constant or that of
// the tile at hand. Plain values, used by one Pass (c_pass.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/c_affine.h"
#include "ir/kernel.h"

namespace tilecast::host {

struct BoxDim {
  Affine start, size;
  std::int64_t largest = 1;  // of the size
};
using Box = std::vector<BoxDim>;
using Index = std::vector<Affine>;
// How a buffer lies: as its op's rule likes best, or dense in a given order of dimensions.
enum class BoxOrder { kAny, kRowMajor, kPhysical };

struct Stage {
  ir::OpId op;
  std::string type;          // C type of an element in the buffer
  bool accumulates = false;  // elements are not rounded to the op's type yet
  std::uint32_t split = 0;   // cut reduction loops over whose pieces it accumulates
  std::uint32_t late = 0;    // cut reduction loops that must be at their last piece when it runs
  bool is_load = false;
  std::string buffer;
  Index starts;                           // of the box, by dimension
  ir::Dims strides;                       // elements, by dimension
  std::int64_t elements = 0, offset = 0;  // of one buffer; bytes
  std::uint32_t loops = 0;                // tile loops it follows
  std::string code;
};

// Elements of a packed dimension come from `op_dim` of the op, at scale * (start + i). With a
// border, start + i counts positions of a padded and dilated array: element j lies at low + j *
// step, what lies between and outside is the fill.
struct Border {
  Affine low;
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
  std::vector<PackDim> dims;  // as the buffer's, most major first
  ir::Dims base;              // added to the op's indices
};
struct PackSpec {
  std::string type;
  std::vector<Piece> pieces;  // later ones overwrite earlier ones
  std::string fill;           // a value; "": every element is in a piece
  ir::DType fill_type = ir::DType::kF32;
  std::int64_t minor_multiple = 1;  // the most minor extent in memory is a multiple of this
};
struct Packed {
  std::size_t stage = 0;
  ir::Dims strides;  // by packed dimension
};

struct PassLoop {
  int loop = 0;  // of the iteration space
  TileLoop tile;
  bool cuts_output = true;  // else a reduction
  bool used = false;        // by an output or a split reduction
  SymbolId symbol = 0;
  Affine start, size;
};

}  // namespace tilecast::host
