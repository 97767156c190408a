#include "simt_kernels.h"

#include "ir/kernels/kernel_sketch.h"

namespace tilecast::analytical::testing {
namespace {

ir::OpId add(ir::KernelBuilder& b, ir::Opcode opcode, ir::Shape shape,
             std::vector<ir::OpId> operands, ir::OpAttrs attrs = {}) {
  ir::Op op;
  op.opcode = opcode;
  op.shape = std::move(shape);
  op.operands = std::move(operands);
  op.attrs = std::move(attrs);
  return b.add(std::move(op));
}

}  // namespace

ir::Kernel product_kernel(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                          ir::DType dtype) {
  const auto array = [&](ir::Dims dims) { return ir::Shape::array(dtype, std::move(dims)); };
  ir::KernelBuilder b("product", ir::Opcode::kDot);
  const ir::OpId lhs = b.parameter(array({rows, depth}));
  const ir::OpId rhs = b.parameter(array({depth, columns}));
  ir::DotAttrs attrs;
  attrs.dims.lhs_contracting = {1};
  attrs.dims.rhs_contracting = {0};
  return b.build({add(b, ir::Opcode::kDot, array({rows, columns}), {lhs, rhs}, std::move(attrs))});
}

ir::Kernel chain_kernel(std::int64_t rows, std::int64_t columns, int ops) {
  const ir::Shape shape = ir::Shape::array(ir::DType::kF32, {rows, columns});
  ir::KernelBuilder b("chain", ir::Opcode::kFusion);
  const ir::OpId x = b.parameter(shape);
  ir::OpId last = b.parameter(shape);
  for (int i = 0; i < ops; ++i) last = add(b, ir::Opcode::kAdd, shape, {x, last});
  return b.build({last});
}

ir::Kernel centred_kernel(std::int64_t rows, std::int64_t columns, int levels) {
  ir::KernelSketch sketch("centred", ir::Opcode::kFusion, {.tiled = false});
  ir::OpId x = sketch.parameter(ir::DType::kF32, {rows, columns});
  for (int i = 0; i < levels; ++i) {
    const ir::OpId sum = sketch.broadcast_like(sketch.reduce(x, ir::Opcode::kAdd, 1), x, {0});
    x = sketch.elementwise(ir::Opcode::kSubtract, {x, sum});
  }
  return sketch.build({x});
}

hwdesc::Device block_device() {
  hwdesc::Device d;
  d.name = "blocks";
  d.execution = hwdesc::Execution::kSimt;
  d.clock = Hertz{1e9};
  d.memory.resize(2);
  d.memory[0].name = "dram";
  d.memory[0].capacity = Bytes{1e12};
  d.memory[0].bandwidth = BytesPerSecond{100e9};
  d.memory[0].latency = Seconds{1e-6};
  d.memory[0].memory_space = 0;
  d.memory[1].name = "shared";
  d.memory[1].capacity = Bytes{64.0 * 1024};
  d.memory[1].bandwidth = BytesPerSecond{1e15};
  d.engines.resize(1);
  d.engines[0].stages = 2;
  d.matrix.count = 1;
  d.matrix.rows = 16;
  d.matrix.columns = 8;
  d.matrix.passes = {{"f16", 1}};
  d.vector.lanes = 32;
  d.transcendental.per_cycle = 32;
  d.cross_lane.elements_per_cycle = 32;
  d.cross_lane.reduce_elements_per_cycle = 32;
  d.cross_lane.irregular_elements_per_cycle = 32;
  d.multiplexing.workers = 4;
  return d;
}

}  // namespace tilecast::analytical::testing
