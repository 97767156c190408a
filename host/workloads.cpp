// Splits programs into kernels by random fusion configurations.
#include "host/workloads.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <unordered_set>

#include "analytical/layout_rules.h"
#include "analytical/roofline.h"
#include "base/error.h"
#include "base/source_text.h"
#include "host/kernel_text.h"
#include "ir/canonical_hash.h"
#include "ir/fusion/fusion.h"
#include "ir/fusion/fusion_space.h"
#include "ir/kernels/kernel_module.h"
#include "ir/load_program.h"
#include "ir/op_hash.h"
#include "ir/program.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"

namespace tilecast::host {

namespace {

using ir::ComputationId;
using ir::InstrId;
using ir::Instruction;
using ir::Kernel;
using ir::Module;
using ir::OpClass;
using ir::Opcode;

// Why an op cannot run alone on one core; empty if it can.
std::string_view unfit(const ir::Op& op) {
  switch (ir::op_class(op.opcode)) {
    case OpClass::kCollective:
      return "collective";
    case OpClass::kControl:
      return "control flow";
    case OpClass::kCustomCall:
      return "custom call";
    case OpClass::kHost:
      return "host transfer";
    case OpClass::kRandom:
      return "random numbers";
    default:
      break;
  }
  if (op.opcode == Opcode::kCopyStart) return "asynchronous copy";
  if (op.opcode == Opcode::kReplicaId || op.opcode == Opcode::kPartitionId) return "device number";
  return op.shape.dynamic_mask != 0 ? "dynamic shape" : std::string_view();
}

std::string unfit(const Kernel& kernel) {
  for (const ir::Op& op : kernel.ops()) {
    if (const std::string_view reason = unfit(op); !reason.empty()) return std::string(reason);
  }
  return kernel.outputs().empty() ? "no result" : "";
}

std::string too_long(const Kernel& kernel, const hwdesc::Device& device, Seconds longest) {
  if (analytical::speed_of_light(kernel, device) <= longest) return {};
  return fmt::format("longer than {:g} ms", longest.value * 1e3);
}

// Calls `visit(computation, instruction)` once per instruction that takes time, callers first.
template <class Visit>
void for_each_kernel(const Module& module, Visit&& visit) {
  std::vector<bool> seen(module.computations.size(), false);
  std::vector<ComputationId> open = {module.entry};
  while (!open.empty()) {
    const ComputationId id = open.back();
    open.pop_back();
    if (seen[id.index()]) continue;
    seen[id.index()] = true;
    const std::vector<Instruction>& instructions = module.at(id).instructions;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const Instruction& instruction = instructions[i];
      if (ir::is_control_flow(instruction.opcode)) {
        open.insert(open.end(), instruction.called.begin(), instruction.called.end());
      } else if (!ir::is_zero_cost(instruction.opcode)) {
        visit(id, InstrId(i));
      }
    }
  }
}

std::string name_of(const Module& program) {
  const std::string stem = std::filesystem::path(program.file).stem().string();
  return stem.empty() ? program.name : stem;
}

// Iterates over the program's configurations.
class Configurations {
 public:
  Configurations(const Module& program, const hwdesc::Device& device, const FusionCut& cut)
      : program_(program),
        device_(device),
        cut_(cut),
        count_(ir::is_optimised(program) ? 1 : cut.configurations) {}

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] Module make(std::size_t number) const {
    if (ir::is_optimised(program_)) return laid_out(program_, device_);
    return laid_out(fused(program_, fusion_configuration(cut_.seed, number)), device_);
  }
  [[nodiscard]] std::string name(std::size_t number) const {
    return fmt::format("{}.c{}", name_of(program_), number);
  }

 private:
  const Module& program_;
  const hwdesc::Device& device_;
  const FusionCut& cut_;
  std::size_t count_;
};

// A number in [0, 1) that depends on seed, configuration and purpose.
double draw(std::uint64_t seed, std::size_t configuration, std::string_view purpose) {
  ir::Hash128 hash;
  hash.add(seed);
  hash.add(std::uint64_t{configuration});
  hash.add(purpose);
  return std::ldexp(static_cast<double>(hash.result()[0] >> 11), -53);
}

}  // namespace

Module laid_out(Module module, const hwdesc::Device& device) {
  if (ir::has_device_layouts(module) == device.native_tile.tiled) return module;
  return ir::assign_layouts(std::move(module), analytical::layout_rules(device));
}

FusionDraw fusion_configuration(std::uint64_t seed, std::size_t number) {
  if (number == 0) return {};
  if (number == 1) return {.share = 0};
  const auto drawn = [&](std::string_view purpose) { return draw(seed, number, purpose); };
  FusionDraw result{.share = 0.25 + 0.75 * drawn("share"),
                    .seed = seed * 0x9e3779b97f4a7c15ULL + number};
  ir::FusionOptions& options = result.options;
  options.recompute_to_save_bytes = drawn("recompute") < 0.5;
  if (drawn("ops limited") < 0.25) options.max_ops = 3 + static_cast<int>(drawn("ops") * 20);
  if (drawn("parameters limited") < 0.25) {
    options.max_parameters = 3 + static_cast<int>(drawn("parameters") * 6);
  }
  return result;
}

Module fused(const Module& program, const FusionDraw& draw) {
  return ir::fuse_at_random(program, draw.share, draw.seed, draw.options);
}

ProgramKernels fusion_workloads(const Module& program, const hwdesc::Device& device,
                                const FusionCut& cut) {
  ProgramKernels result;
  std::unordered_set<std::string> seen;
  const Configurations configurations(program, device, cut);
  for (std::size_t c = 0; c < configurations.count(); ++c) {
    const Module module = configurations.make(c);
    ir::WorkCounter counter(module);
    for_each_kernel(module, [&](ComputationId computation, InstrId instruction) {
      ++result.kernels;
      Kernel kernel = ir::make_kernel(module, computation, instruction, counter);
      std::string hash = ir::canonical_hash(kernel);
      if (!seen.insert(hash).second) {
        ++result.duplicates;
        return;
      }
      std::string reason = unfit(kernel);
      if (reason.empty()) reason = too_long(kernel, device, cut.longest);
      if (!reason.empty()) {
        ++result.left_out[reason];
        return;
      }
      const std::string name = fmt::format("{}.{}", configurations.name(c), kernel.name());
      result.workloads.push_back({name, name_of(program),
                                  ir::isolate(module, computation, instruction, name),
                                  std::move(kernel), std::move(hash)});
    });
  }
  return result;
}

// Kernels with many tiles, for `measure host`.

namespace {

using ir::Dims;

struct KernelSource {
  std::string name, family, hlo;
};

// ---- convolutions ------------------------------------------------------------------------------

struct ConvLayer {
  std::int64_t size, in, out;  // height and width of the input; channels
  std::int64_t kernel, stride;
};

// Sizes and channels are those of the table (the network itself is 14 and 7 wide in the last four
// layers); kernels and strides are those of ResNet-18 (He et al., arXiv:1512.03385, Table 1), with
// padding that keeps the size.
constexpr ConvLayer kResNet18[] = {
    {224, 3, 64, 7, 2},   {56, 64, 64, 3, 1},   {56, 64, 64, 1, 1},   {56, 64, 128, 3, 2},
    {56, 64, 128, 1, 2},  {28, 128, 128, 3, 1}, {28, 128, 256, 3, 2}, {28, 128, 256, 1, 2},
    {28, 256, 256, 3, 1}, {28, 256, 512, 3, 2}, {28, 256, 512, 1, 2}, {28, 512, 512, 3, 1},
};

// The network's own sizes; only these give the numbers of configurations in Tomczak et al.
// (arXiv:1904.11876, Table 1).
constexpr ConvLayer kNetwork[] = {
    {224, 3, 64, 7, 2},   {56, 64, 64, 3, 1},   {56, 64, 64, 1, 1},   {56, 64, 128, 3, 2},
    {56, 64, 128, 1, 2},  {28, 128, 128, 3, 1}, {28, 128, 256, 3, 2}, {28, 128, 256, 1, 2},
    {14, 256, 256, 3, 1}, {14, 256, 512, 3, 2}, {14, 256, 512, 1, 2}, {7, 512, 512, 3, 1},
};

TextValue convolved(KernelText& k, const TextValue& x, const ConvLayer& layer) {
  const TextValue weights = k.parameter("f32", {layer.kernel, layer.kernel, layer.in, layer.out});
  return k.convolution(x, weights, {layer.stride, layer.kernel / 2});
}

TextValue convolved(KernelText& k, const ConvLayer& layer) {
  return convolved(k, k.parameter("f32", {1, layer.size, layer.size, layer.in}), layer);
}

void add_convolutions(std::vector<KernelSource>& texts) {
  int number = 1;
  for (const ConvLayer& layer : kResNet18) {
    const std::string name = fmt::format("resnet18_c{}", number++);
    KernelText k;
    texts.push_back({name, "convolution", k.module(name, {convolved(k, layer)})});
  }
}

// ---- matrix products ---------------------------------------------------------------------------

void add_product(std::vector<KernelSource>& texts, std::int64_t m, std::int64_t k, std::int64_t n,
                 const std::string& dtype = "f32") {
  const std::string name = fmt::format("matmul_{}_{}x{}x{}", dtype, m, k, n);
  KernelText text;
  const TextValue x = text.parameter(dtype, {m, k}), y = text.parameter(dtype, {k, n});
  texts.push_back({name, "matmul", text.module(name, {text.dot(x, y, {1}, {0})})});
}

void add_products(std::vector<KernelSource>& texts) {
  for (const std::int64_t size : {128, 256, 512}) add_product(texts, size, size, size);
  add_product(texts, 1024, 512, 1024);
  add_product(texts, 64, 1024, 64);    // long sums, few results
  add_product(texts, 1024, 64, 64);    // tall
  add_product(texts, 64, 64, 1024);    // wide
  add_product(texts, 16, 1024, 1024);  // the second operand dominates the bytes
  add_product(texts, 1, 1024, 1024);   // a matrix times a vector
  add_product(texts, 200, 300, 100);   // sizes not divisible by large powers of two
  add_product(texts, 256, 256, 256, "bf16");
  {
    KernelText k;
    const TextValue x = k.parameter("f32", {8, 128, 64}), y = k.parameter("f32", {8, 64, 128});
    texts.push_back({"matmul_batch_8x128x64x128", "matmul",
                     k.module("matmul_batch_8x128x64x128", {k.dot(x, y, {2}, {1}, 1)})});
  }
  KernelText k;
  const TextValue x = k.parameter("f32", {256, 512}), y = k.parameter("f32", {256, 512});
  texts.push_back({"matmul_transposed_256x512x256", "matmul",
                   k.module("matmul_transposed_256x512x256", {k.dot(x, y, {1}, {1})})});
}

// ---- products with fused epilogues -------------------------------------------------------------

TextValue relu(KernelText& k, const TextValue& x) {
  return k.map("maximum", {x, k.fill(x.dtype, "0", x.dims)});
}

// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): Hendrycks and Gimpel, arXiv:1606.08415.
TextValue gelu(KernelText& k, const TextValue& x) {
  const TextValue cube = k.map("multiply", {x, k.map("multiply", {x, x})});
  const TextValue inner = k.map("add", {x, k.scale(cube, "0.044715")});
  const TextValue gate = k.map("tanh", {k.scale(inner, "0.7978846")});
  return k.map("multiply", {k.scale(x, "0.5"), k.map("add", {gate, k.fill(x.dtype, "1", x.dims)})});
}

TextValue with_bias(KernelText& k, const TextValue& x) {
  const std::int64_t last = std::ssize(x.dims) - 1;
  const TextValue bias = k.parameter(x.dtype, {x.dims.back()});
  return k.map("add", {x, k.broadcast(bias, x.dims, {last})});
}

TextValue product(KernelText& k, std::int64_t m, std::int64_t depth, std::int64_t n,
                  const std::string& dtype = "f32") {
  const TextValue x = k.parameter(dtype, {m, depth}), y = k.parameter(dtype, {depth, n});
  return k.dot(x, y, {1}, {0});
}

void add_epilogues(std::vector<KernelSource>& texts) {
  const auto add = [&](const std::string& name, auto&& build) {
    KernelText k;
    texts.push_back({name, "epilogue", k.module(name, {build(k)})});
  };
  add("dense_bias_relu_256x512x512",
      [](KernelText& k) { return relu(k, with_bias(k, product(k, 256, 512, 512))); });
  add("dense_bias_relu_bf16_128x512x512",
      [](KernelText& k) { return relu(k, with_bias(k, product(k, 128, 512, 512, "bf16"))); });
  add("dense_bias_gelu_128x512x1024",
      [](KernelText& k) { return gelu(k, with_bias(k, product(k, 128, 512, 1024))); });
  add("dense_residual_256x256x256", [](KernelText& k) {
    const TextValue y = product(k, 256, 256, 256);
    return k.map("add", {y, k.parameter("f32", y.dims)});
  });
  add("dense_bias_row_sum_256x256x512",
      [](KernelText& k) { return k.reduce(with_bias(k, product(k, 256, 256, 512)), {1}, "add"); });
  add("scaled_input_dense_256x512x256", [](KernelText& k) {
    const TextValue x = k.parameter("f32", {256, 512}), y = k.parameter("f32", {512, 256});
    return k.dot(k.scale(x, "0.125"), y, {1}, {0});
  });
  add("conv_scale_bias_relu_28x128x128", [](KernelText& k) {
    const TextValue y = convolved(k, {28, 128, 128, 3, 1});
    const TextValue scale = k.broadcast(k.parameter("f32", {y.dims.back()}), y.dims, {3});
    return relu(k, with_bias(k, k.map("multiply", {y, scale})));
  });
  add("conv_residual_relu_56x64x64", [](KernelText& k) {
    const TextValue y = convolved(k, {56, 64, 64, 1, 1});
    return relu(k, k.map("add", {y, k.parameter("f32", y.dims)}));
  });
}

// ---- reductions, moves, rows -------------------------------------------------------------------

void add_reductions(std::vector<KernelSource>& texts) {
  const auto add = [&](const std::string& name, const Dims& dims, const Dims& over,
                       const std::string& combiner, bool squared = false) {
    KernelText k;
    TextValue x = k.parameter("f32", dims);
    if (squared) x = k.map("multiply", {x, x});
    texts.push_back({name, "reduction", k.module(name, {k.reduce(x, over, combiner)})});
  };
  add("row_sum_1024x1024", {1024, 1024}, {1}, "add");
  add("column_sum_1024x1024", {1024, 1024}, {0}, "add");
  add("middle_sum_64x128x64", {64, 128, 64}, {1}, "add");
  add("row_sum_of_squares_4096x256", {4096, 256}, {1}, "add", true);
  add("row_maximum_512x4096", {512, 4096}, {1}, "maximum");
  add("sum_512x1024", {512, 1024}, {0, 1}, "add");
}

void add_moves(std::vector<KernelSource>& texts) {
  const auto add = [&](const std::string& name, auto&& build) {
    KernelText k;
    texts.push_back({name, "movement", k.module(name, {build(k)})});
  };
  add("transpose_1024x1024", [](KernelText& k) {
    return k.transpose(k.parameter("f32", {1024, 1024}), {1, 0});
  });
  add("transpose_nhwc_to_nchw", [](KernelText& k) {
    return k.transpose(k.parameter("f32", {8, 28, 28, 128}), {0, 3, 1, 2});
  });
  add("add_1024x1024", [](KernelText& k) {
    const TextValue x = k.parameter("f32", {1024, 1024});
    return k.map("add", {x, k.parameter("f32", x.dims)});
  });
  add("gelu_512x1024", [](KernelText& k) { return gelu(k, k.parameter("f32", {512, 1024})); });
  add("pad_1000x1000", [](KernelText& k) {
    return k.op("pad", "f32", {1024, 1016},
                {k.parameter("f32", {1000, 1000}), k.fill("f32", "0", {})}, "padding=12_12x8_8");
  });
  add("concatenate_512x1024", [](KernelText& k) {
    const TextValue x = k.parameter("f32", {512, 1024});
    return k.op("concatenate", "f32", {512, 2048}, {x, k.parameter("f32", x.dims)},
                "dimensions={1}");
  });
  add("slice_every_other_row", [](KernelText& k) {
    return k.op("slice", "f32", {512, 1024}, {k.parameter("f32", {1024, 1024})},
                "slice={[0:1024:2], [0:1024]}");
  });
}

TextValue row_mean(KernelText& k, const TextValue& x) {
  const double share = 1.0 / static_cast<double>(x.dims.back());
  const TextValue mean = k.scale(k.reduce(x, {1}, "add"), fmt::format("{}", share));
  return k.broadcast(mean, x.dims, {0});
}

TextValue softmax(KernelText& k, const TextValue& x) {
  const TextValue largest = k.broadcast(k.reduce(x, {1}, "maximum"), x.dims, {0});
  const TextValue e = k.map("exponential", {k.map("subtract", {x, largest})});
  return k.map("divide", {e, k.broadcast(k.reduce(e, {1}, "add"), x.dims, {0})});
}

TextValue layer_norm(KernelText& k, const TextValue& x) {
  const TextValue centred = k.map("subtract", {x, row_mean(k, x)});
  const TextValue variance = row_mean(k, k.map("multiply", {centred, centred}));
  const TextValue inverse =
      k.map("rsqrt", {k.map("add", {variance, k.fill("f32", "1e-05", x.dims)})});
  return with_bias(k, k.map("multiply", {centred, inverse}));
}

void add_rows(std::vector<KernelSource>& texts) {
  const auto add = [&](const std::string& name, const Dims& dims, auto&& build) {
    KernelText k;
    const TextValue x = k.parameter("f32", dims);
    texts.push_back({name, "rows", k.module(name, {build(k, x)})});
  };
  add("softmax_512x1024", {512, 1024}, softmax);
  add("softmax_4096x64", {4096, 64}, softmax);
  add("layer_norm_512x768", {512, 768}, layer_norm);
  add("rms_norm_1024x512", {1024, 512}, [](KernelText& k, const TextValue& x) {
    const TextValue squares = row_mean(k, k.map("multiply", {x, x}));
    return k.map("multiply", {x, k.map("rsqrt", {squares})});
  });
}

Workload workload_of(const KernelSource& text, const hwdesc::Device& device) {
  ir::Module module = ir::parse_hlo(base::SourceText(text.name + ".hlo", text.hlo));
  module = ir::assign_layouts(std::move(module), analytical::layout_rules(device));
  ir::WorkCounter counter(module);
  const ir::Computation& entry = module.entry_computation();
  ir::Kernel kernel = ir::make_kernel(module, module.entry, entry.root, counter);
  std::string hash = ir::canonical_hash(kernel);
  return {text.name, text.family, std::move(module), std::move(kernel), std::move(hash)};
}

}  // namespace

std::vector<Workload> tile_workloads(const hwdesc::Device& device) {
  std::vector<KernelSource> texts;
  add_convolutions(texts);
  add_products(texts);
  add_epilogues(texts);
  add_reductions(texts);
  add_moves(texts);
  add_rows(texts);
  std::vector<Workload> workloads;
  for (const KernelSource& text : texts) workloads.push_back(workload_of(text, device));
  return workloads;
}

std::vector<Workload> schedule_workloads(const hwdesc::Device& device) {
  std::vector<Workload> workloads;
  for (const ConvLayer& layer : kNetwork) {
    const std::string family = fmt::format("C{}", workloads.size() + 1);
    KernelText k;
    const std::string name = fmt::format("resnet18_network_c{}", workloads.size() + 1);
    workloads.push_back(workload_of({name, family, k.module(name, {convolved(k, layer)})}, device));
  }
  return workloads;
}

std::string not_readable(const Workload& workload, const hwdesc::Device& device) {
  try {
    ir::Module module =
        ir::parse_hlo(base::SourceText(workload.name, ir::print_hlo(workload.module)));
    if (!ir::is_optimised(module)) module = ir::fuse(std::move(module));
    const ir::Program program = ir::program_for({workload.name, std::move(module), {}},
                                                analytical::layout_rules(device), {})
                                    .program;
    if (program.kernels().size() != 1) {
      return fmt::format("reads back as {} kernels, expected one", program.kernels().size());
    }
    const bool same = ir::canonical_hash(program.kernels().front().kernel) == workload.hash;
    return same ? "" : "reads back as another kernel";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace tilecast::host
