// Meshes of devices with named axes: named shardings and the groups that a mesh's axes make.
#include <fmt/format.h>

#include <algorithm>

#include "ir/text/value_readers.h"

namespace tilecast::ir {
namespace {

// Axes may be quoted, as in `mesh['x'=2]`.
struct MeshAxis {
  std::string_view name;
  std::int64_t size;
};
using Mesh = std::vector<MeshAxis>;

std::string axis_name(const Token& token) {
  return token.is(Tok::kString) ? fmt::format("'{}'", token.text) : std::string(token.text);
}

// An axis, `a`, or a part of it: of `b:(2)4` those 4 steps that come after 2 larger ones.
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

std::string read_axes(Cursor& cursor, const Mesh& mesh) {
  std::string out;
  cursor.list("a list of axes", [&] {
    const bool any = cursor.accept(Tok::kQuestion);
    out += (out.empty() ? "" : ", ") + (any ? "?" : read_axis_part(cursor, mesh).text);
  });
  return "{" + out + "}";
}

// `[a=2,b=4]` after mesh or maximal_mesh.
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

std::string read_dim_axes(Cursor& cursor, const Mesh& mesh) {
  std::string out;
  cursor.list(
      "the axes of the dimensions",
      [&] { out += (out.empty() ? "" : ", ") + read_axes(cursor, mesh); }, Tok::kLeftSquare,
      Tok::kRightSquare);
  return "[" + out + "]";
}

// `(0,2,1,3)` or an iota form; kept as it is.
std::string read_device_ids(Cursor& cursor) {
  std::string out;
  int depth = 0;
  do {
    cursor.fail_if(cursor.at(Tok::kEof), "expects ')' at the end of device_ids");
    depth += cursor.at(Tok::kLeftParen) ? 1 : cursor.at(Tok::kRightParen) ? -1 : 0;
    cursor.fail_if(depth == 0 && out.empty(), "expects '(' to start device_ids");
    out += cursor.token().text;
    cursor.advance();
  } while (depth > 0);
  return out;
}

std::string read_named_item(Cursor& cursor, const Mesh& mesh) {
  if (cursor.at(Tok::kLeftSquare)) return read_dim_axes(cursor, mesh);
  const Token key = cursor.token();
  if (key.is(Tok::kKeyword)) return std::string(cursor.identifier(""));
  cursor.expect(Tok::kAttributeName, "expects an attribute of a named sharding");
  if (key.text == "device_ids") return "device_ids=" + read_device_ids(cursor);
  if (key.text == "metadata") return "metadata=" + read_metadata_list(cursor);
  cursor.fail_at_if(key.text != "replicated" && key.text != "unreduced" && key.text != "manual",
                    key.begin, "unexpected attribute \"{}\" in sharding", key.text);
  return fmt::format("{}={}", key.text, read_axes(cursor, mesh));
}

// `(0,2,1,3)` or `([2,2]T(1,0))` after device_ids=: the devices of a mesh in the order of its axes.
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

// The mesh with every axis cut into the parts that groups run over and those between them.
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

}  // namespace

std::string read_named_sharding(Cursor& cursor) {
  std::string out = "{" + std::string(cursor.identifier("expects mesh"));
  Mesh mesh;
  out += read_mesh(cursor, mesh);
  while (cursor.accept(Tok::kComma)) out += ", " + read_named_item(cursor, mesh);
  cursor.expect(Tok::kRightBrace, "expects '}' at the end of a sharding");
  return out + "}";
}

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

}  // namespace tilecast::ir
