#include "tests/schedule/random_schedules.h"

#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "ir/kernels/kernel_sketch.h"
#include "schedule/convolution.h"
#include "schedule/from_kernel.h"
#include "schedule/primitives.h"
#include "schedule/walk.h"

namespace tilecast::schedule {
namespace {

using ir::DType;
using ir::OpId;

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  RandomSchedule make_convolution() {
    ir::KernelSketch sketch("random", ir::Opcode::kConvolution, {.tiled = false});
    ir::Kernel kernel = plain_convolution(sketch);
    const std::vector<analytical::TileConfig> tiles = convolution_tiles(kernel);
    analytical::TileConfig tile =
        tiles[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(tiles.size()) - 1))];
    tile.stages = static_cast<int>(pick(0, 3));
    if (coin()) {
      tile.order = {1, 2, 3, 4};
      for (std::size_t i = 4; i-- > 1;) {
        std::swap(tile.order[i],
                  tile.order[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(i)))]);
      }
    }
    TiledLoops loops = convolution_loops(kernel, tile);
    const int pipelined = tile.stages > 1 && loops.refusals.empty();
    return {std::move(kernel), std::move(loops.program), std::move(loops.refusals), pipelined};
  }

  RandomSchedule make() {
    RandomSchedule made{kernel(), {}, {}, 0};
    Schedule schedule(read_loops(made.kernel));
    for (const std::string& nest : nests(schedule.program())) cut(schedule, nest, made.refusals);
    ask_for_stages(schedule, made);
    made.program = schedule.program();
    return made;
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(
                     base::draw(random_, static_cast<std::uint64_t>(high - low + 1)));
  }
  bool coin() { return pick(0, 1) == 1; }

  // --- kernels
  ir::Kernel kernel() {
    ir::KernelSketch sketch("random", ir::Opcode::kFusion, {.tiled = false});
    switch (pick(0, 4)) {
      case 0:
        return convolution(sketch);
      case 1: {
        const OpId x = sketch.row_major_parameter(DType::kF32, {pick(2, 13), pick(2, 24)});
        return sketch.build({sketch.reduce(x, ir::Opcode::kAdd, 1)});
      }
      case 2: {
        const OpId x = sketch.row_major_parameter(DType::kF32, {pick(2, 13), pick(2, 17)});
        const OpId y = sketch.row_major_parameter(DType::kF32, sketch.shape(x).dims);
        const OpId sum = sketch.elementwise(ir::Opcode::kAdd, {x, y});
        return sketch.build({sketch.elementwise(ir::Opcode::kMultiply, {sum, x})});
      }
      case 3: {
        const std::int64_t b = pick(1, 3), m = pick(1, 9), n = pick(1, 9), k = pick(2, 17);
        const OpId x = sketch.row_major_parameter(DType::kF32, {b, m, k});
        const OpId y = sketch.row_major_parameter(DType::kF32, {b, k, n});
        return sketch.build({sketch.dot(
            x, y,
            {.lhs_contracting = {2}, .rhs_contracting = {1}, .lhs_batch = {0}, .rhs_batch = {0}},
            {b, m, n}, DType::kF32)});
      }
      default: {
        const std::int64_t m = pick(1, 13), n = pick(1, 13), k = pick(2, 26);
        OpId x = sketch.row_major_parameter(DType::kF32, {m, k});
        const OpId y = sketch.row_major_parameter(DType::kF32, {k, n});
        if (coin()) x = sketch.elementwise(ir::Opcode::kNegate, {x});
        return sketch.build({sketch.dot(x, y, {.lhs_contracting = {1}, .rhs_contracting = {0}},
                                        {m, n}, DType::kF32)});
      }
    }
  }

  ir::Kernel plain_convolution(ir::KernelSketch& sketch) {
    const std::int64_t batch = pick(1, 2), height = pick(3, 8), width = pick(3, 12);
    const std::int64_t inputs = pick(1, 8), outputs = pick(1, 40), taps = pick(1, 3);
    const std::int64_t stride = pick(1, 2), pad = pick(0, taps / 2);
    const bool minor = coin();  // the features
    const auto result = [&](std::int64_t size) { return (size + 2 * pad - taps) / stride + 1; };
    const auto image = [&](std::int64_t f, std::int64_t h, std::int64_t w) {
      return minor ? ir::Dims{batch, h, w, f} : ir::Dims{batch, f, h, w};
    };
    const OpId x = sketch.row_major_parameter(DType::kF32, image(inputs, height, width));
    const OpId w =
        sketch.row_major_parameter(DType::kF32, minor ? ir::Dims{taps, taps, inputs, outputs}
                                                      : ir::Dims{outputs, inputs, taps, taps});
    ir::ConvAttrs attrs;
    const ir::WindowDim window{.size = taps, .stride = stride, .pad_low = pad, .pad_high = pad};
    attrs.window = {window, window};
    const int feature = minor ? 3 : 1;
    const ir::Dims spatial = minor ? ir::Dims{1, 2} : ir::Dims{2, 3};
    attrs.dims = {.input_batch = 0,
                  .input_feature = feature,
                  .kernel_input_feature = minor ? 2 : 1,
                  .kernel_output_feature = minor ? 3 : 0,
                  .output_batch = 0,
                  .output_feature = feature,
                  .input_spatial = spatial,
                  .kernel_spatial = minor ? ir::Dims{0, 1} : ir::Dims{2, 3},
                  .output_spatial = spatial,
                  .text = minor ? "b01f_01io->b01f" : "bf01_oi01->bf01"};
    return sketch.build({sketch.convolution(
        x, w, attrs, image(outputs, result(height), result(width)), DType::kF32)});
  }

  ir::Kernel convolution(ir::KernelSketch& sketch) {
    const std::int64_t pixels = pick(3, 8), inputs = pick(1, 5), outputs = pick(1, 5);
    const std::int64_t stride = pick(1, 2);
    const OpId x = sketch.row_major_parameter(DType::kF32, {1, pixels, inputs});
    const OpId w = sketch.row_major_parameter(DType::kF32, {3, inputs, outputs});
    ir::ConvAttrs attrs;
    attrs.window = {{.size = 3, .stride = stride, .pad_low = 1, .pad_high = 1}};
    attrs.dims = {.input_batch = 0,
                  .input_feature = 2,
                  .kernel_input_feature = 1,
                  .kernel_output_feature = 2,
                  .output_batch = 0,
                  .output_feature = 2,
                  .input_spatial = {1},
                  .kernel_spatial = {0},
                  .output_spatial = {1},
                  .text = "b0f_0io->b0f"};
    const std::int64_t result = (pixels + 2 - 3) / stride + 1;
    return sketch.build({sketch.convolution(x, w, attrs, {1, result, outputs}, DType::kF32)});
  }

  // --- schedules
  template <class Step>
  bool try_step(std::vector<std::string>& refusals, const Step& step) {
    try {
      step();
      return true;
    } catch (const Error& refused) {
      refusals.emplace_back(refused.what());
      return false;
    }
  }

  // Outermost variables of the nests that compute from arrays.
  static std::vector<std::string> nests(const LoopProgram& program) {
    std::vector<std::string> made;
    for (const Statement& statement : program.body) {
      bool reads = false;
      for_each_access(Body{statement}, [&](const Access& access, Use use) {
        reads = reads || (use == Use::kRead && !access.at.empty());
      });
      const auto* loop = statement.get<Loop>();
      if (loop != nullptr && reads) made.push_back(loop->variable);
    }
    return made;
  }

  static std::vector<const Loop*> loops_of(const LoopProgram& program, const std::string& nest) {
    LoopProgram copy = program;
    std::vector<const Loop*> loops;
    const Loop* loop = &find_loop(copy, nest).loop();
    const Loop* own = nullptr;
    for_each_statement(program.body, [&](const Statement& s) {
      const auto* l = s.get<Loop>();
      if (l != nullptr && l->variable == loop->variable) own = l;
    });
    for (; own != nullptr; own = own->body.size() == 1 ? own->body[0].get<Loop>() : nullptr) {
      loops.push_back(own);
    }
    return loops;
  }

  void cut(Schedule& schedule, const std::string& nest, std::vector<std::string>& refusals) {
    std::vector<std::string> outer, inner, middle;
    const std::size_t rank = loops_of(schedule.program(), nest).size();
    std::vector<std::string> names;
    for (const Loop* loop : loops_of(schedule.program(), nest)) names.push_back(loop->variable);
    for (const std::string& name : names) {
      schedule.split(name, pick(1, 9));
      outer.push_back(name + "o");
      if (coin()) {
        schedule.split(name + "i", pick(1, 3));
        middle.push_back(name + "io");
        inner.push_back(name + "ii");
      } else {
        inner.push_back(name + "i");
      }
    }
    std::vector<std::string> order = outer;
    order.insert(order.end(), middle.begin(), middle.end());
    order.insert(order.end(), inner.begin(), inner.end());
    if (coin())
      std::swap(order[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(rank) - 1))],
                order[rank - 1]);
    if (!try_step(refusals, [&] { schedule.reorder(order); })) return;
    const LoopProgram& program = schedule.program();
    std::vector<std::string> read;
    std::string written;
    for_each_access(program.body, [&](const Access& access, Use use) {
      const Buffer& buffer = program.buffer(access.buffer);
      if (use == Use::kRead && !buffer.dims.empty() && buffer.role != Role::kOutput) {
        read.push_back(buffer.name);
      }
      if (use == Use::kWrite && buffer.role == Role::kOutput) written = buffer.name;
    });
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    const std::string at =
        outer[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(outer.size()) - 1))];
    if (coin()) try_step(refusals, [&] { schedule.cache_write(at, written, Scope::kRegister); });
    const std::string shared_at = coin() ? order[outer.size() - 1] : at;
    const bool deeper = !middle.empty() && coin();
    for (const std::string& buffer : read) {
      std::string cached;
      try_step(refusals, [&] { cached = schedule.cache_read(shared_at, buffer, Scope::kShared); });
      if (deeper && !cached.empty()) {
        try_step(refusals, [&] {
          schedule.cache_read(order[outer.size() + middle.size() - 1], cached, Scope::kRegister);
        });
      }
    }
    if (coin() && inner.size() == 3) {
      try_step(refusals, [&] { schedule.multiply(inner[0]); });
    }
    if (pick(0, 3) == 0) try_step(refusals, [&] { schedule.parallel(order[0]); });
    if (pick(0, 3) == 0) try_step(refusals, [&] { schedule.unroll(order.back()); });
  }

  void ask_for_stages(Schedule& schedule, RandomSchedule& made) {
    const int shared = static_cast<int>(pick(2, 5)), registers = static_cast<int>(pick(2, 4));
    for (const Buffer& buffer : std::vector<Buffer>(schedule.program().buffers)) {
      if (buffer.scope == Scope::kMain) continue;
      const int stages = buffer.scope == Scope::kShared ? shared : registers;
      made.pipelined +=
          try_step(made.refusals, [&] { schedule.pipeline(buffer.name, stages); }) ? 1 : 0;
    }
  }

  std::mt19937_64 random_;
};

}  // namespace

RandomSchedule random_schedule(std::uint64_t seed) {
  return Maker(seed).make();
}

RandomSchedule random_convolution(std::uint64_t seed) {
  return Maker(seed).make_convolution();
}

std::vector<interpreter::Elements> whole_inputs(const ir::Kernel& kernel, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<interpreter::Elements> inputs;
  for (const OpId id : kernel.parameters()) {
    interpreter::Elements& elements = inputs.emplace_back();
    for (std::int64_t i = 0; i < ir::element_count(kernel.op(id).shape); ++i) {
      elements.push_back(static_cast<double>(base::draw(random, 17)) - 8);
    }
  }
  return inputs;
}

}  // namespace tilecast::schedule
