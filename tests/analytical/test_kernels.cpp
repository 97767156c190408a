#include "test_kernels.h"

#include "ir/kernels/kernel_sketch.h"
#include "ir/layout_assignment.h"
#include "ir/program.h"
#include "ir/text/hlo_parser.h"

namespace tilecast::analytical::testing {

ir::Kernel kernel_of(const std::string& hlo) {
  const ir::Module module = ir::parse_hlo(base::SourceText("test.hlo", hlo));
  const ir::Program program = ir::make_program(ir::assign_layouts(module, {}));
  return program.kernels().back().kernel;
}

std::string fusion(const std::vector<std::string>& parameters, const std::string& result,
                   const std::string& body) {
  std::string lines;
  std::string names;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string n = std::to_string(i);
    lines += "  p" + n + " = " + parameters[i] + " parameter(" + n + ")\n";
    names += (i == 0 ? "p" : ", p") + n;
  }
  return "HloModule m\nadder {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
         "  ROOT s = f32[] add(a, b)\n}\nfused {\n" +
         lines + body + "\n}\nENTRY main {\n" + lines + "  ROOT out = " + result + " fusion(" +
         names + "), kind=kLoop, calls=fused\n}\n";
}

std::string array(const std::string& dtype, const std::vector<std::int64_t>& dims) {
  std::string sizes;
  std::string order;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    sizes += (i == 0 ? "" : ",") + std::to_string(dims[i]);
    order += (i == 0 ? "" : ",") + std::to_string(dims.size() - 1 - i);
  }
  const std::string tiling = dims.size() >= 2 ? ":T(8,128)" : ":T(1024)";
  return dtype + "[" + sizes + "]{" + order + tiling + "}";
}

hwdesc::Device round_device() {
  hwdesc::Device d;
  d.name = "round";
  d.clock = Hertz{1e9};
  d.memory.resize(2);
  d.memory[0].name = "hbm";
  d.memory[0].capacity = Bytes{1e12};
  d.memory[0].bandwidth = BytesPerSecond{100e9};
  d.memory[0].memory_space = 0;
  d.memory[1].name = "vmem";
  d.memory[1].capacity = Bytes{16.0 * 1024 * 1024};
  d.memory[1].bandwidth = BytesPerSecond{4e12};
  d.memory[1].memory_space = 1;
  d.engines.resize(1);
  d.matrix.count = 2;
  d.matrix.rows = d.matrix.columns = 128;
  d.matrix.passes = {{"bf16", 1}};
  d.matrix.fill = Cycles{254};
  d.matrix.weight_load = Cycles{128};
  d.vector.lanes = 128;
  d.vector.sublanes = 8;
  d.vector.alus = 2;
  d.transcendental.per_cycle = 1024;
  d.cross_lane.elements_per_cycle = 1024;
  d.cross_lane.reduce_elements_per_cycle = 1024;
  d.cross_lane.irregular_elements_per_cycle = 1024;
  d.native_tile = {.sublanes = 8, .lanes = 128, .word_bits = 32, .tiled = true, .provenance = {}};
  return d;
}

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

namespace {

constexpr ir::LayoutRules kRowMajor{.tiled = false};
constexpr ir::DType kF32 = ir::DType::kF32;

}  // namespace

ir::Kernel convolution_kernel(const ConvolutionSizes& sizes) {
  constexpr std::int64_t kTaps = 3;
  ir::KernelSketch sketch("convolution", ir::Opcode::kConvolution, kRowMajor);
  const std::int64_t side = sizes.side + kTaps - 1;
  const ir::OpId input =
      sketch.row_major_parameter(kF32, {sizes.batch, side, side, sizes.input_features});
  const ir::OpId weights = sketch.row_major_parameter(
      kF32, {kTaps, kTaps, sizes.input_features / sizes.groups, sizes.features});
  ir::ConvAttrs attrs;
  attrs.window = {ir::WindowDim{.size = kTaps}, ir::WindowDim{.size = kTaps}};
  attrs.dims.input_batch = attrs.dims.output_batch = 0;
  attrs.dims.input_spatial = attrs.dims.output_spatial = {1, 2};
  attrs.dims.input_feature = attrs.dims.output_feature = 3;
  attrs.dims.kernel_spatial = {0, 1};
  attrs.dims.kernel_input_feature = 2;
  attrs.dims.kernel_output_feature = 3;
  attrs.feature_group_count = sizes.groups;
  return sketch.build(
      {sketch.convolution(input, weights, std::move(attrs),
                          {sizes.batch, sizes.side, sizes.side, sizes.features}, kF32)});
}

ir::Kernel batched_product_kernel(std::int64_t batch, std::int64_t rows, std::int64_t columns,
                                  std::int64_t depth) {
  ir::KernelSketch sketch("products", ir::Opcode::kDot, kRowMajor);
  const ir::OpId lhs = sketch.row_major_parameter(kF32, {batch, rows, depth});
  const ir::OpId rhs = sketch.row_major_parameter(kF32, {batch, depth, columns});
  ir::DotDims dims;
  dims.lhs_batch = dims.rhs_batch = {0};
  dims.lhs_contracting = {2};
  dims.rhs_contracting = {1};
  return sketch.build({sketch.dot(lhs, rhs, std::move(dims), {batch, rows, columns}, kF32)});
}

ir::Kernel sum_kernel(std::int64_t rows, std::int64_t columns, int dimension) {
  ir::KernelSketch sketch("sum", ir::Opcode::kReduce, kRowMajor);
  const ir::OpId x = sketch.row_major_parameter(kF32, {rows, columns});
  return sketch.build({sketch.reduce(x, ir::Opcode::kAdd, dimension)});
}

ir::Kernel transpose_kernel(std::int64_t rows, std::int64_t columns) {
  ir::KernelSketch sketch("transpose", ir::Opcode::kTranspose, kRowMajor);
  return sketch.build({sketch.transpose(sketch.row_major_parameter(kF32, {rows, columns}))});
}

ir::Kernel exponential_kernel(std::int64_t rows, std::int64_t columns) {
  ir::KernelSketch sketch("exponential", ir::Opcode::kExp, kRowMajor);
  const ir::OpId x = sketch.row_major_parameter(kF32, {rows, columns});
  return sketch.build({sketch.elementwise(ir::Opcode::kExp, {x})});
}

std::vector<std::pair<std::string, ir::Kernel>> cache_kernels() {
  std::vector<std::pair<std::string, ir::Kernel>> kernels;
  const auto add = [&](std::string name, ir::Kernel kernel) {
    kernels.emplace_back(std::move(name), std::move(kernel));
  };
  add("square product", product_kernel(512, 512, 512, kF32));
  add("large product", product_kernel(4096, 4096, 4096, kF32));
  add("odd product", product_kernel(300, 77, 1000, kF32));
  add("one row", product_kernel(1, 2048, 1024, kF32));
  add("one column", product_kernel(2048, 1, 1024, kF32));
  add("shallow product", product_kernel(700, 900, 3, kF32));
  add("bf16 product", product_kernel(256, 256, 256, ir::DType::kBF16));
  add("batched product", batched_product_kernel(12, 64, 64, 96));
  add("convolution", convolution_kernel({2, 28, 64, 96, 1}));
  add("grouped convolution", convolution_kernel({2, 14, 64, 64, 8}));
  add("depthwise convolution", convolution_kernel({2, 28, 64, 64, 64}));
  add("add", chain_kernel(1000, 1024, 1));
  add("chain", chain_kernel(333, 555, 20));
  add("exponential", exponential_kernel(512, 777));
  add("sum of rows", sum_kernel(1024, 1000, 1));
  add("sum of columns", sum_kernel(1024, 1000, 0));
  add("centred rows", centred_kernel(256, 3000, 2));
  add("transpose", transpose_kernel(1000, 1500));
  add("scalars", chain_kernel(1, 1, 1));
  return kernels;
}

hwdesc::Device core_device() {
  constexpr double kVast = 1e15;
  hwdesc::Device d;
  d.name = "core";
  d.execution = hwdesc::Execution::kCache;
  d.clock = Hertz{1e9};
  d.memory.resize(3);
  d.memory[0].name = "dram";
  d.memory[0].capacity = Bytes{1e12};
  d.memory[0].bandwidth = BytesPerSecond{10e9};
  d.memory[0].memory_space = 0;
  d.memory[1].name = "l2";
  d.memory[1].capacity = Bytes{2.0 * 1024 * 1024};
  d.memory[1].bandwidth = BytesPerSecond{100e9};
  d.memory[2].name = "l1";
  d.memory[2].capacity = Bytes{256.0 * 1024};
  d.memory[2].bandwidth = BytesPerSecond{1e12};
  for (hwdesc::MemoryLevel& level : d.memory) level.granule = Bytes{64};
  d.engines.resize(2);
  d.matrix.count = 2;
  d.matrix.rows = 1;
  d.matrix.columns = 8;
  d.matrix.passes = {{"f32", 1}, {"f64", 2}};
  d.matrix.fill = Cycles{4};
  d.vector.lanes = 8;
  d.vector.alus = d.vector.load_ports = d.vector.store_ports = kVast;
  d.transcendental.per_cycle = kVast;
  d.cross_lane.elements_per_cycle = kVast;
  d.cross_lane.reduce_elements_per_cycle = kVast;
  d.cross_lane.irregular_elements_per_cycle = kVast;
  return d;
}

}  // namespace tilecast::analytical::testing
