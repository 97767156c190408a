// Attribute values with a syntax of their own: windows, convolution labels, paddings, slices,
// replica groups and aliasing.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>

#include "ir/text/value_readers.h"

namespace tilecast::ir {
namespace {

std::int64_t number_in(const Cursor& cursor, std::string_view text, std::size_t begin) {
  std::int64_t value = 0;
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  cursor.fail_at_if(status != std::errc{} || stop != text.data() + text.size(), begin,
                    "expects an integer of 64 bits, got {}", text);
  return value;
}

// The parts of `text` between separators, as numbers.
Dims split_numbers(const Cursor& cursor, std::string_view text, char separator, std::size_t begin) {
  Dims values;
  for (;;) {
    const std::size_t end = text.find(separator);
    values.push_back(number_in(cursor, text.substr(0, end), begin));
    if (end == std::string_view::npos) return values;
    text.remove_prefix(end + 1);
  }
}

// `3`, `3x3`.
Dims read_sizes(Cursor& cursor) {
  const Token token = cursor.token();
  cursor.fail_if(!token.is(Tok::kInteger) && !token.is(Tok::kSizes),
                 "expects token type kInt or kDxD");
  cursor.advance();
  return split_numbers(cursor, token.text, 'x', token.begin);
}

// `0_0x1_1`: groups of numbers.
std::vector<Dims> read_number_groups(Cursor& cursor, std::string_view message) {
  const Token token = cursor.token();
  cursor.fail_if(!token.is(Tok::kPadding), message);
  cursor.advance();
  std::vector<Dims> groups;
  std::string_view rest = token.text;
  for (;;) {
    const std::size_t end = rest.find('x');
    groups.push_back(split_numbers(cursor, rest.substr(0, end), '_', token.begin));
    if (end == std::string_view::npos) return groups;
    rest.remove_prefix(end + 1);
  }
}

struct WindowText {
  Dims size, stride, lhs_dilate, rhs_dilate, rhs_reversal;
  std::vector<Dims> pad;
};

void read_window_item(Cursor& cursor, WindowText& text) {
  const Token key = cursor.token();
  cursor.expect(Tok::kAttributeName, "expects sub-attributes in window");
  if (key.text == "pad") {
    cursor.fail_at_if(!text.pad.empty(), key.begin, "sub-attribute 'pad=' already exists");
    text.pad = read_number_groups(cursor, "expects window pad pattern, e.g., '0_0x3_3'");
    for (const Dims& pair : text.pad) {
      cursor.fail_at_if(pair.size() != 2, key.begin,
                        "expects padding_low and padding_high separated by '_'");
    }
    return;
  }
  Dims* const target = key.text == "size"           ? &text.size
                       : key.text == "stride"       ? &text.stride
                       : key.text == "lhs_dilate"   ? &text.lhs_dilate
                       : key.text == "rhs_dilate"   ? &text.rhs_dilate
                       : key.text == "rhs_reversal" ? &text.rhs_reversal
                                                    : nullptr;
  cursor.fail_at_if(target == nullptr, key.begin, "unexpected attribute name: {}", key.text);
  cursor.fail_at_if(!target->empty(), key.begin, "sub-attribute '{}=' already exists", key.text);
  *target = read_sizes(cursor);
}

void check_window(const Cursor& cursor, const WindowText& text, std::size_t begin) {
  const auto check = [&](std::string_view key, std::size_t count) {
    cursor.fail_at_if(count != 0 && count != text.size.size(), begin,
                      "expects '{}=' has the same size as 'size='", key);
  };
  check("stride", text.stride.size());
  check("lhs_dilate", text.lhs_dilate.size());
  check("rhs_dilate", text.rhs_dilate.size());
  check("pad", text.pad.size());
  check("rhs_reversal", text.rhs_reversal.size());
  cursor.fail_at_if(static_cast<int>(text.size.size()) > Shape::kMaxRank, begin,
                    "a window has at most 32 dimensions");
}

// Positions of two named labels (b and f, or i and o) and of the digits in `labels`.
struct Labels {
  int first = -1, second = -1;
  Dims spatial;
};

Labels read_labels(const Cursor& cursor, std::string_view text, std::string_view side,
                   std::string_view letters, std::size_t begin) {
  Labels labels;
  const auto fail = [&](std::string_view what) {
    cursor.fail_at(begin, "{} in {} dimension numbers, but sees {}", what, side, text);
  };
  labels.spatial.assign(text.size(), -1);
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '?') continue;
    cursor.fail_at_if(text.find(c, i + 1) != std::string_view::npos, begin,
                      "expects unique {} dimension numbers, but sees {}", side, text);
    if (c == letters[0]) {
      labels.first = static_cast<int>(i);
    } else if (c == letters[1]) {
      labels.second = static_cast<int>(i);
    } else if (c >= '0' && static_cast<std::size_t>(c - '0') < text.size()) {
      labels.spatial[static_cast<std::size_t>(c - '0')] = static_cast<std::int64_t>(i);
      ++count;
    } else {
      fail(fmt::format("expects [0-{}{}]", text.size() - 1, letters));
    }
  }
  labels.spatial.resize(count);
  for (const std::int64_t at : labels.spatial) {
    if (at < 0) fail("expects consecutive spatial dimensions");
  }
  if (labels.first < 0 || labels.second < 0) {
    fail(fmt::format("expects {} and {}", letters[0], letters[1]));
  }
  return labels;
}

}  // namespace

Window read_window(Cursor& cursor) {
  const std::size_t begin = cursor.token().begin;
  cursor.expect(Tok::kLeftBrace, "expected '{' to start window attribute");
  WindowText text;
  while (!cursor.at(Tok::kRightBrace)) {
    read_window_item(cursor, text);
    cursor.accept(Tok::kComma);
  }
  check_window(cursor, text, begin);
  cursor.advance();
  Window window(text.size.size());
  for (std::size_t i = 0; i < window.size(); ++i) {
    WindowDim& dim = window[i];
    dim.size = text.size[i];
    if (!text.stride.empty()) dim.stride = text.stride[i];
    if (!text.lhs_dilate.empty()) dim.base_dilation = text.lhs_dilate[i];
    if (!text.rhs_dilate.empty()) dim.window_dilation = text.rhs_dilate[i];
    if (!text.rhs_reversal.empty()) dim.reversal = text.rhs_reversal[i] == 1;
    if (!text.pad.empty()) {
      dim.pad_low = text.pad[i][0];
      dim.pad_high = text.pad[i][1];
    }
  }
  return window;
}

ConvDims read_conv_dims(Cursor& cursor) {
  const Token token = cursor.token();
  cursor.fail_if(!token.is(Tok::kDimLabels), "expects dim labels pattern, e.g., 'bf0_0io->0bf'");
  const std::string_view text = token.text;
  const std::size_t underscore = text.find('_');
  const std::size_t arrow = text.find("->");
  const std::string_view lhs = text.substr(0, underscore);
  const std::string_view rhs = text.substr(underscore + 1, arrow - underscore - 1);
  const std::string_view out = text.substr(arrow + 2);
  const Labels input = read_labels(cursor, lhs, "lhs", "bf", token.begin);
  const Labels kernel = read_labels(cursor, rhs, "rhs", "io", token.begin);
  const Labels output = read_labels(cursor, out, "output", "bf", token.begin);
  cursor.fail_if(input.spatial.size() != kernel.spatial.size() ||
                     input.spatial.size() != output.spatial.size(),
                 "convolution lhs, rhs, and output must have the same rank");
  cursor.advance();
  ConvDims dims;
  dims.input_batch = input.first;
  dims.input_feature = input.second;
  dims.kernel_input_feature = kernel.first;
  dims.kernel_output_feature = kernel.second;
  dims.output_batch = output.first;
  dims.output_feature = output.second;
  dims.input_spatial = input.spatial;
  dims.kernel_spatial = kernel.spatial;
  dims.output_spatial = output.spatial;
  dims.text = text;
  return dims;
}

std::vector<PadDim> read_padding(Cursor& cursor) {
  const std::size_t begin = cursor.token().begin;
  std::vector<PadDim> dims;
  if (cursor.at(Tok::kString) && cursor.token().text.empty()) {
    cursor.advance();
    return dims;
  }
  constexpr std::string_view kExpected =
      "expects padding config pattern like 'low_high_interior' or 'low_high'";
  for (const Dims& part : read_number_groups(cursor, kExpected)) {
    cursor.fail_at_if(part.size() != 2 && part.size() != 3, begin, kExpected);
    dims.push_back({part[0], part[1], part.size() == 3 ? part[2] : 0});
    cursor.fail_at_if(dims.back().interior < 0, begin, "interior padding must be >= 0");
  }
  return dims;
}

std::vector<SliceDim> read_slices(Cursor& cursor) {
  std::vector<SliceDim> dims;
  cursor.expect(Tok::kLeftBrace, "expects '{' to start ranges");
  while (!cursor.at(Tok::kRightBrace)) {
    cursor.expect(Tok::kLeftSquare, "expects '[' to start a range");
    SliceDim dim;
    dim.start = cursor.integer();
    cursor.expect(Tok::kColon, "expects ':' between start and limit");
    dim.limit = cursor.integer();
    if (cursor.accept(Tok::kColon)) dim.stride = cursor.integer();
    cursor.expect(Tok::kRightSquare, "expects ']' to end a range");
    dims.push_back(dim);
    cursor.fail_if(!cursor.accept(Tok::kComma) && !cursor.at(Tok::kRightBrace),
                   "expects ',' or '}' in ranges");
  }
  cursor.advance();
  return dims;
}

Dims read_square_dims(Cursor& cursor) {
  Dims dims;
  cursor.expect(Tok::kLeftSquare, "expects '[' to start a list of dimensions");
  do {
    cursor.fail_if(static_cast<int>(dims.size()) >= Shape::kMaxRank, "at most 32 dimensions");
    dims.push_back(cursor.integer_from(1, "dimension"));
  } while (cursor.accept(Tok::kComma));
  cursor.expect(Tok::kRightSquare, "expects ']' at the end of a list of dimensions");
  return dims;
}

namespace {

bool read_alias_kind(Cursor& cursor) {
  const Token word = cursor.token();
  const std::string_view text = cursor.identifier("expects 'may-alias' or 'must-alias'");
  cursor.fail_at_if(text != "may-alias" && text != "must-alias", word.begin,
                    "Unexpected aliasing kind {}, expects 'may-alias' or "
                    "'must-alias'",
                    text);
  return text == "must-alias";
}

}  // namespace

std::vector<Alias> read_aliases(Cursor& cursor, bool with_kind) {
  constexpr std::string_view kFormat =
      "Expected format: <output_shape_index>: (<input_param>, <input_param_shape_index>) OR "
      "<output_shape_index>: <input_param>";
  std::vector<Alias> aliases;
  cursor.expect(Tok::kLeftBrace, "Expects '{' at the start of aliasing description");
  while (!cursor.at(Tok::kRightBrace)) {
    Alias alias;
    alias.output_index = read_shape_index(cursor);
    cursor.expect(Tok::kColon, kFormat);
    cursor.expect(Tok::kLeftParen, kFormat);
    alias.operand = cursor.integer_from(0, "number of the aliased operand");
    cursor.expect(Tok::kComma, kFormat);
    alias.operand_index = read_shape_index(cursor);
    if (with_kind && cursor.accept(Tok::kComma)) alias.must_alias = read_alias_kind(cursor);
    cursor.expect(Tok::kRightParen, kFormat);
    aliases.push_back(std::move(alias));
    if (!cursor.accept(Tok::kComma)) break;
  }
  cursor.expect(Tok::kRightBrace, "Expects '}' at the end of aliasing description");
  return aliases;
}

// Device numbers in groups: iota forms, and groups given by named axes of a mesh.

namespace {

// The number of devices in a tile assignment of these dimensions; an error at `begin` if too many.
std::int64_t product_of(const Cursor& cursor, const Dims& dims, std::size_t begin) {
  constexpr std::int64_t kMostTiledDevices = std::int64_t{1} << 24;
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) {
    cursor.fail_at_if(__builtin_mul_overflow(product, dim, &product) || product > kMostTiledDevices,
                      begin, "more than {} devices", kMostTiledDevices);
  }
  return product;
}

// Numbers 0..count-1 in the row-major order of `reshape` transposed by `permutation`.
std::vector<std::int64_t> expand_iota(const Dims& reshape, const Dims& permutation,
                                      std::int64_t count) {
  const std::size_t rank = reshape.size();
  Dims stride(rank, 1);
  for (std::size_t i = rank - 1; i > 0; --i) stride[i - 1] = stride[i] * reshape[i];
  Dims position(rank, 0);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
  for (std::int64_t& id : ids) {
    id = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      id += position[i] * stride[static_cast<std::size_t>(permutation[i])];
    }
    for (std::size_t i = rank; i-- > 0;) {
      if (++position[i] < reshape[static_cast<std::size_t>(permutation[i])]) break;
      position[i] = 0;
    }
  }
  return ids;
}

// T(1,0)
Dims read_permutation(Cursor& cursor, std::size_t rank) {
  const std::size_t begin = cursor.token().begin;
  Dims permutation;
  cursor.advance();
  cursor.expect(Tok::kLeftParen, "expects '(' after T");
  std::uint64_t seen = 0;
  do {
    const std::int64_t dim = cursor.integer_from(0, "transposed dimension");
    cursor.fail_at_if(dim >= static_cast<std::int64_t>(rank) || (seen >> dim & 1U) != 0, begin,
                      "expects a permutation of the reshaped dimensions after T");
    seen |= std::uint64_t{1} << dim;
    permutation.push_back(dim);
  } while (cursor.accept(Tok::kComma));
  cursor.expect(Tok::kRightParen, "expects ')' after the permutation");
  cursor.fail_at_if(permutation.size() != rank, begin,
                    "expects a permutation of the reshaped dimensions after T");
  return permutation;
}

std::vector<std::vector<std::int64_t>> in_groups_of(std::int64_t size,
                                                    std::span<const std::int64_t> ids) {
  std::vector<std::vector<std::int64_t>> groups;
  for (; !ids.empty(); ids = ids.subspan(static_cast<std::size_t>(size))) {
    const auto group = ids.first(static_cast<std::size_t>(size));
    groups.emplace_back(group.begin(), group.end());
  }
  return groups;
}

// The device numbers from `<=[4,2]T(1,0)`, and its text.
struct IotaList {
  std::vector<std::int64_t> ids;
  std::string text;
};
IotaList read_iota(Cursor& cursor, std::int64_t count) {
  IotaList list;
  const std::size_t begin = cursor.token().begin;
  cursor.expect(Tok::kLessEqual, "expects '<=' before the reshaped dimensions");
  const Dims reshape = read_square_dims(cursor);
  cursor.fail_at_if(product_of(cursor, reshape, begin) != count, begin,
                    "the reshaped dimensions hold {} devices, expected {}",
                    product_of(cursor, reshape, begin), count);
  Dims permutation(reshape.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  list.text = "<=" + fmt::format("[{}]", fmt::join(reshape, ","));
  if (reshape.size() > 1) {
    cursor.fail_if(!cursor.at(Tok::kIdentifier) || cursor.token().text != "T",
                   "expects 'T(...)' after more than one reshaped dimension");
    permutation = read_permutation(cursor, reshape.size());
    list.text += fmt::format("T({})", fmt::join(permutation, ","));
  }
  list.ids = expand_iota(reshape, permutation, count);
  return list;
}

// ---- meshes ------------------------------------------------------------------------------------

// Axes may be quoted, as in `mesh['x'=2]`.
struct MeshAxis {
  std::string_view name;
  std::int64_t size;
};
using Mesh = std::vector<MeshAxis>;

std::string axis_name(const Token& token) {
  return token.is(Tok::kString) ? fmt::format("'{}'", token.text) : std::string(token.text);
}

// An axis `a`, or a sub-axis: `b:(2)4` has size 4, and the part of `b` before it has size 2.
struct AxisPart {
  std::size_t axis;
  std::int64_t before, size;
  std::string text;
};

AxisPart read_axis_part(Cursor& cursor, const Mesh& mesh) {
  const Token token = cursor.token();
  const bool quoted = cursor.accept(Tok::kString);
  if (!quoted) static_cast<void>(cursor.name());
  const bool divided = token.is(Tok::kName) || (quoted && cursor.accept(Tok::kColon));
  const auto found = std::ranges::find(mesh, token.text, &MeshAxis::name);
  cursor.fail_at_if(found == mesh.end(), token.begin, "axis {} is not in the mesh", token.text);
  const auto axis = static_cast<std::size_t>(found - mesh.begin());
  if (!divided) return {axis, 1, found->size, axis_name(token)};
  cursor.expect(Tok::kLeftParen, "expects '(' in a sub-axis");
  const std::int64_t before = cursor.integer_from(1, "sub-axis pre-size");
  cursor.expect(Tok::kRightParen, "expects ')' in a sub-axis");
  const std::int64_t size = cursor.integer_from(2, "sub-axis size");
  return {axis, before, size, fmt::format("{}:({}){}", axis_name(token), before, size)};
}

// `[a=2,b=4]` after mesh.
std::string read_mesh(Cursor& cursor, Mesh& mesh) {
  std::string out;
  cursor.list(
      "a mesh",
      [&] {
        const Token key = cursor.token();
        if (cursor.accept(Tok::kString)) {
          cursor.expect(Tok::kEqual, "expects '=' after the name of a mesh axis");
        } else {
          cursor.expect(Tok::kAttributeName, "expects the name of a mesh axis");
        }
        mesh.push_back({key.text, cursor.integer_from(0, "size of a mesh axis")});
        out += fmt::format("{}{}={}", out.empty() ? "" : ",", axis_name(key), mesh.back().size);
      },
      Tok::kLeftSquare, Tok::kRightSquare);
  return "[" + out + "]";
}

// `(0,2,1,3)` or `([2,2]T(1,0))` after device_ids=: the devices of a mesh in row-major order of its
// axes.
std::vector<std::int64_t> read_mesh_devices(Cursor& cursor) {
  std::vector<std::int64_t> ids;
  const std::size_t begin = cursor.token().begin;
  cursor.list(
      "device_ids",
      [&] {
        if (!cursor.at(Tok::kLeftSquare)) {
          ids.push_back(cursor.integer_from(0, "device"));
          return;
        }
        const Dims dims = read_square_dims(cursor);
        const std::int64_t count = product_of(cursor, dims, begin);
        cursor.fail_if(cursor.token().text != "T", "expects 'T(...)' after the dimensions");
        ids = expand_iota(dims, read_permutation(cursor, dims.size()), count);
      },
      Tok::kLeftParen, Tok::kRightParen);
  return ids;
}

// The mesh with every axis cut into the sub-axes of the groups and the parts between them.
struct CutMesh {
  Dims dims;
  Dims between, members;  // positions in dims; members in the order of the parts
};

CutMesh cut(const Cursor& cursor, const Mesh& mesh, const std::vector<AxisPart>& parts,
            std::size_t begin) {
  CutMesh result;
  result.members.resize(parts.size());
  const auto add = [&result](std::int64_t size) {
    result.dims.push_back(size);
    return static_cast<std::int64_t>(result.dims.size()) - 1;
  };
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    std::vector<std::size_t> of_axis;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].axis == axis) of_axis.push_back(i);
    }
    std::ranges::sort(of_axis, {}, [&](std::size_t i) { return parts[i].before; });
    std::int64_t rest = mesh[axis].size;
    std::int64_t done = 1;
    for (const std::size_t i : of_axis) {
      const auto [_, before, size, text] = parts[i];
      const std::int64_t gap = before / done;
      cursor.fail_at_if(before % done != 0 || rest % gap != 0 || rest / gap % size != 0, begin,
                        "{} does not divide its axis of {}", text, mesh[axis].size);
      result.between.push_back(add(gap));
      result.members[i] = add(size);
      rest = rest / gap / size;
      done = before * size;
    }
    result.between.push_back(add(rest));
  }
  return result;
}

// `mesh['x'=2,'y'=4] {'y'}`: devices that differ only in the named axes form a group.
ReplicaGroups read_mesh_groups(Cursor& cursor) {
  const std::size_t begin = cursor.token().begin;
  cursor.advance();
  ReplicaGroups result;
  Mesh mesh;
  result.text = "mesh" + read_mesh(cursor, mesh);
  Dims sizes;
  for (const MeshAxis& axis : mesh) sizes.push_back(axis.size);
  const std::int64_t count = product_of(cursor, sizes, begin);
  cursor.fail_at_if(count < 1 || mesh.empty(), begin, "expects a mesh of at least one device");
  std::vector<std::int64_t> devices;
  if (cursor.accept(Tok::kComma)) {
    cursor.fail_if(cursor.token().text != "device_ids", "expects device_ids= after a mesh");
    cursor.advance();
    const std::size_t ids_begin = cursor.token().begin;
    devices = read_mesh_devices(cursor);
    cursor.fail_at_if(static_cast<std::int64_t>(devices.size()) != count, ids_begin,
                      "{} devices, but the mesh has {}", devices.size(), count);
    result.text += fmt::format(", device_ids={}",
                               cursor.text().substr(ids_begin, cursor.read_up_to() - ids_begin));
  }
  std::vector<AxisPart> parts;
  std::string names;
  cursor.list("the axes of replica groups", [&] {
    parts.push_back(read_axis_part(cursor, mesh));
    names += (names.empty() ? "" : ",") + parts.back().text;
  });
  result.text += " {" + names + "}";
  const CutMesh pieces = cut(cursor, mesh, parts, begin);
  Dims order = pieces.between;
  std::int64_t size = 1;
  for (const std::int64_t dim : pieces.members) {
    order.push_back(dim);
    size *= pieces.dims[static_cast<std::size_t>(dim)];
  }
  std::vector<std::int64_t> ids = expand_iota(pieces.dims, order, count);
  if (!devices.empty()) {
    for (std::int64_t& id : ids) id = devices[static_cast<std::size_t>(id)];
  }
  result.groups = in_groups_of(size, ids);
  return result;
}

}  // namespace

void check_tiles(Cursor& cursor) {
  const std::size_t begin = cursor.token().begin;
  const std::int64_t count = product_of(cursor, read_square_dims(cursor), begin);
  const std::size_t iota = cursor.token().begin;
  if (!cursor.accept(Tok::kLessEqual)) return;
  const std::int64_t held = product_of(cursor, read_square_dims(cursor), iota);
  cursor.fail_at_if(held != count, iota, "the reshaped dimensions hold {} devices, expected {}",
                    held, count);
}

ReplicaGroups read_replica_groups(Cursor& cursor) {
  ReplicaGroups result;
  if (cursor.at(Tok::kIdentifier) && cursor.token().text == "mesh") return read_mesh_groups(cursor);
  if (cursor.at(Tok::kLeftSquare)) {
    const std::size_t begin = cursor.token().begin;
    const Dims shape = read_square_dims(cursor);
    cursor.fail_at_if(shape.size() != 2, begin, "expects [number of groups, size of a group]");
    std::int64_t count = 0;
    constexpr std::int64_t kMostIds = std::int64_t{1} << 24;
    cursor.fail_at_if(__builtin_mul_overflow(shape[0], shape[1], &count) || count > kMostIds, begin,
                      "replica groups of more than {} devices", kMostIds);
    const IotaList iota = read_iota(cursor, count);
    result.groups = in_groups_of(shape[1], iota.ids);
    result.text = fmt::format("[{},{}]{}", shape[0], shape[1], iota.text);
    return result;
  }
  std::vector<Dims> lists;
  cursor.list("replica groups", [&] {
    const Dims& group = lists.emplace_back(cursor.int_list());
    result.groups.emplace_back(group.begin(), group.end());
  });
  result.text = to_text(lists);
  return result;
}

}  // namespace tilecast::ir
