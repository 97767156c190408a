// Device numbers in groups: iota forms, and groups given by named axes of a mesh.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/text/value_readers.h"

namespace tilecast::ir {
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
