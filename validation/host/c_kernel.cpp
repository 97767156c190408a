#include "validation/host/c_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "validation/host/c_types.h"
#include "validation/host/c_write_pass.h"

namespace tilecast::host {
namespace {

using analytical::IterationSpace;
using analytical::LoopSizes;
using ir::Kernel;
using ir::Op;
using ir::Opcode;
using ir::OpId;

constexpr std::int64_t kMaxScratch = std::int64_t{64} << 20;  // bytes
constexpr double kMaxTiles = 1e9;

void check_shape(const ir::Shape& shape) {
  if (!shape.is_array() || !is_generated(shape.dtype)) {
    throw Refused{fmt::format("type {} is not generated", ir::name(shape.dtype))};
  }
  if (shape.dynamic_mask != 0 || shape.is_unbounded()) throw Refused{"a dynamic shape"};
  if (ir::element_count(shape) == 0) throw Refused{"an array without elements"};
  if (shape.layout && (!shape.layout->tiles.empty() || shape.layout->element_bits != 0)) {
    throw Refused{"a layout with native tiles"};
  }
}

void check_kernel(const Kernel& kernel) {
  for (const Op& op : kernel.ops()) {
    switch (ir::op_class(op.opcode)) {
      case ir::OpClass::kSort:
      case ir::OpClass::kRandom:
      case ir::OpClass::kNormalization:
      case ir::OpClass::kLinearAlgebra:
      case ir::OpClass::kCollective:
      case ir::OpClass::kAsyncDone:
      case ir::OpClass::kControl:
      case ir::OpClass::kCustomCall:
      case ir::OpClass::kHost:
        throw Refused{fmt::format("{} is not generated", ir::name(op.opcode))};
      default:
        check_shape(op.shape);
    }
  }
  if (kernel.outputs().empty()) throw Refused{"no output"};
}

// An output as it is stored: through trailing reshapes that keep every element's place, as the op
// before them, whose dimensions the tile knows.
struct Stored {
  std::size_t output = 0;
  OpId op;
  ir::Dims strides;
};

ir::Shape row_major(const ir::Shape& shape) {
  ir::Shape plain = shape;
  plain.layout.reset();
  return plain;
}

bool is_row_major(const ir::Shape& shape) {
  return dense_strides(shape) == dense_strides(row_major(shape));
}

Stored stored_output(const Kernel& kernel, std::size_t output) {
  Stored made{output, kernel.outputs()[output], {}};
  made.strides = dense_strides(kernel.op(made.op).shape);
  ir::Shape seen = kernel.op(made.op).shape;
  for (;;) {
    const Op& op = kernel.op(made.op);
    const bool reshape = op.opcode == Opcode::kReshape && is_row_major(seen);
    const bool bitcast = op.opcode == Opcode::kBitcast &&
                         dense_strides(seen) == dense_strides(op.shape);
    if (!reshape && !bitcast) return made;
    const ir::Shape& operand = kernel.op(op.operands[0]).shape;
    if (operand.dtype != op.shape.dtype || operand.is_scalar()) return made;
    made.op = op.operands[0];
    seen = reshape ? row_major(operand) : operand;
    made.strides = dense_strides(seen);
  }
}

struct Cut {  // a loop that the tile cuts
  int loop;
  TileLoop tile;
};

std::vector<Cut> cut_loops(const IterationSpace& space, const LoopSizes& extents) {
  std::vector<Cut> cuts;
  for (const int loop : space.order) {
    const auto i = static_cast<std::size_t>(loop);
    const TileLoop tile{space.loops[i].size, extents[i]};
    if (tile.trips() > 1) cuts.push_back({loop, tile});
  }
  return cuts;
}

// Outputs that one pass can store: the same cut loops run along their dimensions.
struct Group {
  std::vector<Stored> outputs;
  std::vector<bool> cuts;  // by cut loop: along a dimension of the outputs
};

std::vector<Group> group_outputs(const Kernel& kernel, const Labels& labels,
                                 const std::vector<Cut>& cuts) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < kernel.outputs().size(); ++i) {
    const Stored stored = stored_output(kernel, i);
    const std::vector<int>& own = labels.loops(stored.op);
    std::vector<bool> along;
    for (const Cut& cut : cuts) {
      along.push_back(std::find(own.begin(), own.end(), cut.loop) != own.end());
    }
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const Group& group) { return group.cuts == along; });
    if (same == groups.end()) {
      groups.push_back({{stored}, along});
    } else {
      same->outputs.push_back(stored);
    }
  }
  // Outputs that follow more of the tile first: others may read them.
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return std::count(a.cuts.begin(), a.cuts.end(), true) >
           std::count(b.cuts.begin(), b.cuts.end(), true);
  });
  return groups;
}

// Stores of the same elements in the same order share a nest.
void store_outputs(Pass& pass, const Group& group) {
  std::vector<bool> done(group.outputs.size(), false);
  for (std::size_t i = 0; i < group.outputs.size(); ++i) {
    if (done[i]) continue;
    const Stored& first = group.outputs[i];
    std::vector<Pass::Store> stores;
    for (std::size_t j = i; j < group.outputs.size(); ++j) {
      const Stored& other = group.outputs[j];
      const bool alike = pass.op(other.op).shape.dims == pass.op(first.op).shape.dims &&
                         other.strides == first.strides &&
                         pass.labels().loops(other.op) == pass.labels().loops(first.op);
      if (done[j] || !alike) continue;
      done[j] = true;
      stores.push_back({other.op, fmt::format("o{}", other.output), other.strides});
    }
    pass.store(stores, pass.box_of(first.op));
  }
}

struct Made {
  std::string text;
  std::int64_t scratch = 0;
  bool follows_tile = true;  // every cut loop has an effect
};

Made make_pass(Function& function, const Labels& labels, const IterationSpace& space,
               const std::vector<Cut>& cuts, const Group& group) {
  std::vector<PassLoop> loops;
  for (const bool output : {true, false}) {
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      if (group.cuts[i] != output) continue;
      loops.push_back(
          {.loop = cuts[i].loop, .tile = cuts[i].tile, .cuts_output = output, .used = output});
    }
  }
  Made made;
  for (;;) {
    Pass pass(function, labels, space, loops);
    store_outputs(pass, group);
    const auto unused = [&](const PassLoop& loop) {
      const auto own = std::find_if(pass.loops().begin(), pass.loops().end(),
                                    [&](const PassLoop& l) { return l.loop == loop.loop; });
      return !own->used;
    };
    const auto removed = std::remove_if(loops.begin(), loops.end(), unused);
    if (removed == loops.end()) {
      Writer out;
      write_pass(pass, out);
      made.text = out.take();
      made.scratch = pass.scratch_bytes();
      return made;
    }
    made.follows_tile = false;
    loops.erase(removed, loops.end());
  }
}

CKernel generate(const Kernel& kernel, const analytical::TileConfig& tile,
                 const std::string& name) {
  check_kernel(kernel);
  const IterationSpace space = analytical::make_iteration_space(kernel, {.tiled = false});
  if (!space.flags.empty()) throw Refused{space.flags.front()};
  const std::string mismatch = analytical::tile_mismatch(tile, analytical::full_tile(space));
  if (!mismatch.empty()) throw Refused{mismatch};
  const LoopSizes extents = analytical::tile_extents(space, tile);
  if (analytical::tile_count(space, extents) > kMaxTiles) throw Refused{"more than 1e9 tiles"};
  const std::vector<Cut> cuts = cut_loops(space, extents);
  const Labels labels(kernel, space);
  Function function(kernel);
  CKernel made{.function = name};
  std::string body;
  bool follows = false;
  for (const Group& group : group_outputs(kernel, labels, cuts)) {
    Made pass = make_pass(function, labels, space, cuts, group);
    body += pass.text;
    made.scratch_bytes = std::max(made.scratch_bytes, pass.scratch);
    follows = follows || pass.follows_tile;
    for (const Stored& stored : group.outputs) {
      if (function.is_scalar(stored.op) || function.source(stored.op) != nullptr) continue;
      function.add_output(stored.op, {fmt::format("o{}", stored.output), stored.strides});
    }
  }
  if (!follows) throw Refused{"the tile cuts a dimension that neither an output nor a sum follows"};
  if (made.scratch_bytes > kMaxScratch) {
    throw Refused{fmt::format("a tile needs {} MiB, more than {}", made.scratch_bytes >> 20,
                              kMaxScratch >> 20)};
  }
  made.source = fmt::format(
      "void {}(const void* const* in, void* const* out, void* scratch_) {{\n"
      "char* const scratch = (char*)scratch_;\n",
      name);
  for (std::size_t i = 0; i < kernel.outputs().size(); ++i) {
    const auto type = storage_type(kernel.op(kernel.outputs()[i]).shape.dtype);
    made.source += fmt::format("{0}* restrict const o{1} = ({0}*)out[{1}];\n", type, i);
    made.outputs.push_back(kernel.op(kernel.outputs()[i]).shape);
  }
  for (const OpId id : kernel.parameters()) made.inputs.push_back(kernel.op(id).shape);
  made.source += function.prologue() + body + "}\n";
  return made;
}

}  // namespace

std::variant<CKernel, Unsupported> generate_c(const Kernel& kernel,
                                              const analytical::TileConfig& tile,
                                              const std::string& function) {
  try {
    return generate(kernel, tile, function);
  } catch (const Refused& refused) {
    return Unsupported{refused.reason};
  }
}

std::int64_t host_bytes(const ir::Shape& shape) {
  return ir::element_count(shape) * bytes_of(storage_type(shape.dtype));
}

}  // namespace tilecast::host
