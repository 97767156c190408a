#include "host/c_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "host/c_loops.h"
#include "host/c_pass.h"
#include "host/c_scalar.h"
#include "schedule/tile_schedule.h"

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

struct Cut {  // a loop that the tile cuts
  int loop;
  TileLoop tile;
};

// An output to store. Trailing reshapes that keep every element in place are skipped: the op before
// them is stored, since the tile refers to its dimensions.
struct Stored {
  std::string name;
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

// Number of loops in `cuts` that run along a dimension of the op.
std::size_t followed(const Labels& labels, OpId op, const std::vector<Cut>& cuts) {
  const std::vector<int>& own = labels.loops(op);
  return static_cast<std::size_t>(std::count_if(cuts.begin(), cuts.end(), [&own](const Cut& cut) {
    return std::find(own.begin(), own.end(), cut.loop) != own.end();
  }));
}

Stored stored_output(const Kernel& kernel, const Labels& labels, const std::vector<Cut>& cuts,
                     std::size_t output) {
  Stored made{fmt::format("o{}", output), kernel.outputs()[output], {}};
  made.strides = dense_strides(kernel.op(made.op).shape);
  Stored seen = made;
  ir::Shape shape = kernel.op(made.op).shape;
  for (;;) {
    const Op& op = kernel.op(seen.op);
    const bool reshape = op.opcode == Opcode::kReshape && is_row_major(shape);
    const bool bitcast =
        op.opcode == Opcode::kBitcast && dense_strides(shape) == dense_strides(op.shape);
    if (!reshape && !bitcast) return made;
    const ir::Shape& operand = kernel.op(op.operands[0]).shape;
    if (operand.dtype != op.shape.dtype || operand.is_scalar()) return made;
    shape = reshape ? row_major(operand) : operand;
    seen.op = op.operands[0];
    seen.strides = dense_strides(shape);
    if (followed(labels, seen.op, cuts) >= followed(labels, made.op, cuts)) made = seen;
  }
}

std::vector<Cut> cut_loops(const IterationSpace& space, const LoopSizes& extents) {
  std::vector<Cut> cuts;
  for (const int loop : space.order) {
    const auto i = static_cast<std::size_t>(loop);
    const TileLoop tile{space.loops[i].size, extents[i]};
    if (tile.trips() > 1) cuts.push_back({loop, tile});
  }
  return cuts;
}

// Outputs that one pass can store, because the same cut loops run along their dimensions.
struct Group {
  std::vector<Stored> outputs;
  std::vector<bool> cuts;  // by cut loop: whether it runs along a dimension of the outputs
};

std::vector<bool> cuts_along(const Labels& labels, OpId op, const std::vector<Cut>& cuts) {
  const std::vector<int>& own = labels.loops(op);
  std::vector<bool> along;
  for (const Cut& cut : cuts) {
    along.push_back(std::find(own.begin(), own.end(), cut.loop) != own.end());
  }
  return along;
}

std::vector<Group> group_outputs(const Kernel& kernel, const Labels& labels,
                                 const std::vector<Cut>& cuts) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < kernel.outputs().size(); ++i) {
    const Stored stored = stored_output(kernel, labels, cuts, i);
    const std::vector<bool> along = cuts_along(labels, stored.op, cuts);
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const Group& group) { return group.cuts == along; });
    if (same == groups.end()) {
      groups.push_back({{stored}, along});
    } else {
      same->outputs.push_back(stored);
    }
  }
  // Outputs cut by more loops come first, since others may read them.
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
      stores.push_back({other.op, other.name, other.strides});
    }
    pass.store(stores, pass.box_of(first.op));
  }
}

struct Made {
  std::string text;
  std::int64_t scratch = 0;
  bool follows_tile = true;  // whether every cut loop has an effect
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
      pass.write(out);
      made.text = out.take();
      made.scratch = pass.scratch_bytes();
      return made;
    }
    made.follows_tile = false;
    loops.erase(removed, loops.end());
  }
}

// All passes of a function.
struct KernelBody {
  std::string prologue, text;
  std::int64_t scratch = 0;
  bool follows_tile = false;  // whether it does in some pass
};

class Generator {
 public:
  Generator(const Kernel& kernel, const IterationSpace& space, std::vector<Cut> cuts)
      : kernel_(kernel), space_(space), cuts_(std::move(cuts)), labels_(kernel, space) {}

  KernelBody generate() const {
    KernelBody body = passes(std::nullopt);
    if (body.follows_tile) return body;
    // If no output can be cut by the tile (because of a slice, pad, or reshape that merges cut
    // dimensions), an op that can be is first stored whole, and the rest is computed from it.
    constexpr int kTries = 30;
    int tries = 0;
    for (std::size_t i = kernel_.ops().size(); i-- > 0 && tries < kTries;) {
      const bool follows = followed(labels_, OpId(i), cuts_) > 0;
      if (!follows || kernel_.ops()[i].operands.empty()) continue;
      ++tries;
      body = passes(OpId(i));
      if (body.follows_tile) return body;
    }
    throw Refused{"the tile cuts a dimension that no result and no sum follows"};
  }

 private:
  KernelBody passes(std::optional<OpId> kept) const {
    Function function(kernel_);
    KernelBody body;
    if (kept) {
      const Source source = function.keep(*kept);
      const Group group{{{source.name, *kept, source.strides}}, cuts_along(labels_, *kept, cuts_)};
      add(make_pass(function, labels_, space_, cuts_, group), body);
      if (!body.follows_tile) return body;
      function.add_output(*kept, source);
    }
    for (const Group& group : group_outputs(kernel_, labels_, cuts_)) {
      add(make_pass(function, labels_, space_, cuts_, group), body);
      for (const Stored& stored : group.outputs) {
        if (function.is_scalar(stored.op) || function.source(stored.op) != nullptr) continue;
        function.add_output(stored.op, {stored.name, stored.strides});
      }
    }
    body.prologue = function.prologue();
    return body;
  }

  static void add(const Made& pass, KernelBody& body) {
    body.text += pass.text;
    body.scratch = std::max(body.scratch, pass.scratch);
    body.follows_tile = body.follows_tile || pass.follows_tile;
  }

  const Kernel& kernel_;
  const IterationSpace& space_;
  std::vector<Cut> cuts_;
  Labels labels_;
};

// For a tile with stages: generates the loops of its schedule.
CKernel generate_staged(const Kernel& kernel, const analytical::TileConfig& tile,
                        const std::string& name) {
  const schedule::TiledLoops made = schedule::tiled_loops(kernel, tile);
  if (!made.refusals.empty()) throw Refused{made.refusals.front()};
  auto c = c_of_loops(made.program, name);
  if (auto* unsupported = std::get_if<Unsupported>(&c)) throw Refused{unsupported->reason};
  auto generated = std::get<CKernel>(std::move(c));
  if (generated.scratch_bytes > kMaxScratch) throw Refused{"more than 64 MiB of scratch"};
  for (const OpId id : kernel.outputs()) generated.outputs.push_back(kernel.op(id).shape);
  for (const OpId id : kernel.parameters()) generated.inputs.push_back(kernel.op(id).shape);
  return generated;
}

CKernel generate(const Kernel& kernel, const analytical::TileConfig& tile,
                 const std::string& name) {
  check_kernel(kernel);
  if (tile.stages > 0 || tile.unroll > 0) return generate_staged(kernel, tile, name);
  const IterationSpace space = analytical::make_iteration_space(kernel, {.tiled = false});
  if (!space.flags.empty()) throw Refused{space.flags.front()};
  const std::string mismatch = analytical::tile_mismatch(tile, analytical::full_tile(space));
  if (!mismatch.empty()) throw Refused{mismatch};
  const LoopSizes extents = analytical::tile_extents(space, tile);
  if (analytical::tile_count(space, extents) > kMaxTiles) throw Refused{"more than 1e9 tiles"};
  const KernelBody body = Generator(kernel, space, cut_loops(space, extents)).generate();
  CKernel made{.function = name, .scratch_bytes = body.scratch};
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
  made.source += body.prologue + body.text + "}\n";
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
  } catch (const Error& error) {  // from a schedule without loops
    return Unsupported{error.what()};
  }
}

std::string unrolled(std::string source, int factor) {
  constexpr std::string_view kParallel = "#pragma GCC ivdep\n";  // c_nest.cpp, c_reduce.cpp
  if (factor <= 1) return source;
  const std::string pragma = fmt::format("#pragma GCC unroll {}\n", factor);
  for (std::size_t at = source.find(kParallel); at != std::string::npos;
       at = source.find(kParallel, at)) {
    at += kParallel.size();
    source.insert(at, pragma);
    at += pragma.size();
  }
  return source;
}

std::int64_t host_bytes(const ir::Shape& shape) {
  return ir::element_count(shape) * bytes_of(storage_type(shape.dtype));
}

}  // namespace tilecast::host
