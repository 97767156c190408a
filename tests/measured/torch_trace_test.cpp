// Traces of PyTorch's profiler: which operator launched a kernel, and the kernels that an operator
// stands for. Times in microseconds.
#include "measured/importers/torch_trace.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "hwdesc/device_yaml.h"
#include "measured/importers/torch_ops.h"
#include "tests/measured/set_on_disk.h"
#include "tests/support/errors.h"

namespace tilecast::measured {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kUs = 1e-6;

std::string cpu_op(int id, const std::string& name, const std::string& arguments) {
  return fmt::format(
      R"({{"ph": "X", "cat": "cpu_op", "name": "{}", "pid": 1, "tid": 1, "ts": 0, "dur": 9,
          "args": {{"External id": {}{}}}}})",
      name, id, arguments);
}

std::string launch(int id, int correlation) {
  return fmt::format(
      R"({{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
          "ts": 0, "dur": 1, "args": {{"External id": {}, "correlation": {}}}}})",
      id, correlation);
}

// `link`: what names its operator.
std::string kernel(const std::string& name, double us, const std::string& link,
                   const std::string& category = "kernel") {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 0, "tid": 7, "ts": 5, "dur": {},
          "args": {{{}, "device": 0, "registers per thread": 40, "shared memory": 16,
          "grid": [8, 2, 1], "block": [32, 4, 1], "est. achieved occupancy %": 50}}}})",
      category, name, us, link);
}

constexpr const char* kMatrices =
    R"(, "Input Dims": [[64, 32], [32, 16]], "Input type": ["c10::BFloat16", "c10::BFloat16"],
       "Input Strides": [[32, 1], [1, 32]], "Concrete Inputs": ["", ""])";

class TorchTraces : public ::testing::Test {
 protected:
  TorchTrace read(const std::vector<std::string>& events) {
    disk_.write("t.json", fmt::format(R"(
 {{"schemaVersion": 1, "deviceProperties": [{{"id": 0, "name": "NVIDIA H200",
   "totalGlobalMem": 150109880320, "numSms": 132}}],
   "traceEvents": [{}]}})",
                                      fmt::join(events, ",\n")));
    EXPECT_TRUE(is_torch_trace(disk_.path() + "/t.json"));
    return read_torch_trace(disk_.path() + "/t.json");
  }
  SetOnDisk disk_;
};

const TorchOp& op_of(const TorchTrace& trace, const std::string& text) {
  for (const TorchOp& op : trace.ops) {
    if (op.describe() == text) return op;
  }
  throw Error("no op " + text);
}

TEST_F(TorchTraces, KernelsAreOfTheOperatorThatLaunchedThem) {
  const TorchTrace trace = read({
      cpu_op(1, "aten::mm", kMatrices),
      cpu_op(2, "aten::mm", kMatrices),
      cpu_op(3, "aten::sum",
             R"(, "Input Dims": [[64, 16], []], "Input type": ["float", "ScalarList"],
                "Concrete Inputs": ["", "[0]"])"),
      cpu_op(4, "Optimizer", ""),
      launch(3, 70),
      kernel("Memset (Device)", 1, R"("External id": 1)", "gpu_memset"),
      kernel("gemm", 20, R"("External id": 1)"),
      kernel("gemm", 24, R"("External id": 2)"),
      kernel("reduce", 5, R"("correlation": 70)"),
      kernel("adam", 7, R"("External id": 4)"),
      kernel("lost", 3, R"("correlation": 99)"),
      kernel("Memcpy HtoD (Pinned -> Device)", 50, R"("External id": 3)", "gpu_memcpy"),
  });
  EXPECT_EQ(trace.device.type, "NVIDIA H200");
  EXPECT_EQ(trace.device.facts.at("core_count"), "132");
  EXPECT_NEAR(trace.device_time.value, 60 * kUs, 1e-12);
  ASSERT_EQ(trace.ops.size(), 4U);
  const TorchOp& product = op_of(trace, "aten::mm bf16[64,32] bf16[32,16]^T");
  EXPECT_EQ(product.times.occurrences, 2);
  EXPECT_NEAR(product.times.total.value, 45 * kUs, 1e-12);
  EXPECT_NEAR(product.times.median.value, 22.5 * kUs, 1e-12);
  EXPECT_EQ(product.times.launch->grid, "8x2x1");
  EXPECT_EQ(product.times.launch->registers, 40);
  EXPECT_EQ(product.times.launch->occupancy, 0.5);
  EXPECT_NEAR(op_of(trace, "aten::sum f32[64,16] [0]").times.total.value, 5 * kUs, 1e-12);
  EXPECT_FALSE(op_of(trace, "Optimizer").has_shapes());
  EXPECT_FALSE(op_of(trace, "lost").has_shapes());
  EXPECT_THAT(trace.notes, ElementsAre(HasSubstr("not part of the device time: 50 us")));
}

TEST_F(TorchTraces, OfTheHostOnlyIsAnError) {
  EXPECT_THAT(support::error_of([&] { return read({cpu_op(1, "aten::mm", kMatrices)}); }),
              HasSubstr("no kernel takes time"));
}

TorchOp op(const std::string& name, std::vector<TorchArgument> arguments) {
  return {.name = name, .arguments = std::move(arguments), .times = {}};
}

TorchArgument tensor(ir::Dims dims, const std::string& type = "c10::BFloat16") {
  return {.type = type, .shapes = {std::move(dims)}, .value = {}};
}

TorchArgument value(const std::string& text) {
  return {.type = "Scalar", .shapes = {}, .value = text};
}

struct Work {
  std::string op_class;
  std::size_t kernels = 0;
  double flops = 0, bytes = 0;
};

Work work_of(const TorchOp& op) {
  const TorchKernels found = kernels_of(op, op_defaults(hwdesc::load_device("h200_sxm")));
  Work work{.op_class = found.op_class, .kernels = found.kernels.size()};
  for (const ir::Kernel& kernel : found.kernels) {
    const auto& call = kernel.custom_call_cost();
    work.flops += call ? call->flops : static_cast<double>(kernel.work().flops);
    work.bytes += call ? call->bytes_accessed : static_cast<double>(kernel.work().bytes_accessed);
  }
  return work;
}

TEST(TorchOps, ProductsCountTheirMultiplyAdds) {
  const Work product =
      work_of(op("aten::addmm", {tensor({16}), tensor({64, 32}), tensor({32, 16})}));
  EXPECT_EQ(product.op_class, "matmul");
  EXPECT_EQ(product.flops, 2.0 * 64 * 32 * 16);
  EXPECT_EQ(product.bytes, 2.0 * (64 * 32 + 32 * 16 + 64 * 16));
  EXPECT_EQ(work_of(op("aten::bmm", {tensor({3, 64, 32}), tensor({3, 32, 16})})).flops,
            3 * product.flops);
  EXPECT_EQ(work_of(op("aten::linear", {tensor({2, 32, 32}), tensor({16, 32})})).flops,
            product.flops);
}

TEST(TorchOps, ConvolutionsAndTheirGradients) {
  const TorchArgument x = tensor({2, 8, 16, 16}), w = tensor({4, 8, 3, 3});
  const auto forward = [&](const TorchArgument& weights) {
    return work_of(op("aten::cudnn_convolution",
                      {x, weights, value("[0, 0]"), value("[1, 1]"), value("[1, 1]"), value("1")}));
  };
  EXPECT_EQ(forward(w).op_class, "convolution");
  EXPECT_EQ(forward(w).flops, 2.0 * 2 * 14 * 14 * 4 * 8 * 9);
  // Depthwise: every output channel reads one input channel.
  EXPECT_EQ(forward(tensor({8, 1, 3, 3})).flops, 2.0 * 2 * 14 * 14 * 8 * 9);
  const auto backward = [&](const std::string& wanted) {
    return work_of(
        op("aten::convolution_backward",
           {tensor({2, 4, 14, 14}), x, w, value(""), value("[1, 1]"), value("[0, 0]"),
            value("[1, 1]"), value("False"), value("[0, 0]"), value("1"), value(wanted)}));
  };
  EXPECT_EQ(backward("[True, True, False]").kernels, 2U);
  EXPECT_EQ(backward("[False, True, False]").kernels, 1U);
}

TEST(TorchOps, AttentionCountsTwoProductsForwardAndFiveBackward) {
  const TorchArgument q = tensor({2, 4, 64, 32});
  const auto forward = [&](const std::string& causal) {
    return work_of(
        op("aten::_scaled_dot_product_flash_attention", {q, q, q, value("0."), value(causal)}));
  };
  const double products = 2.0 * 2 * 4 * 64 * 64 * 32;
  EXPECT_EQ(forward("False").op_class, "attention");
  EXPECT_EQ(forward("False").flops, 2 * products);
  const double visible = 65.0 / 128;  // of 64 x 64 pairs of a query and a key
  EXPECT_EQ(forward("True").flops, 2 * products * visible);
  EXPECT_EQ(forward("False").bytes, 4 * 2.0 * 2 * 4 * 64 * 32);
  std::vector<TorchArgument> gradient{q, q, q, q, q, tensor({2, 4, 64}, "float")};
  gradient.resize(15, value(""));
  gradient[14] = value("True");
  EXPECT_EQ(work_of(op("aten::_cudnn_attention_backward", gradient)).flops, 5 * products * visible);
}

TEST(TorchOps, RowsAndElementsReadWhatTheyAreGiven) {
  const TorchArgument x = tensor({4, 8, 32});
  constexpr double kBytes = 2.0 * 4 * 8 * 32;
  EXPECT_EQ(work_of(op("aten::add_", {x, x, value("1")})).bytes, 3 * kBytes);
  EXPECT_EQ(work_of(op("aten::mul", {x, tensor({32})})).bytes, 2 * kBytes);
  EXPECT_EQ(work_of(op("aten::copy_", {tensor({4, 8, 32}, "float"), x})).bytes, 3 * kBytes);
  EXPECT_EQ(work_of(op("aten::sum", {x, value("[0, 1]")})).bytes, kBytes + 2 * 32);
  EXPECT_EQ(work_of(op("aten::_softmax", {x, value("-1")})).op_class, "softmax");
  EXPECT_EQ(work_of(op("aten::gelu", {x, value("")})).bytes, 2 * kBytes);
  std::vector<TorchArgument> norm{x, tensor({8}), tensor({8}), tensor({8}), tensor({8})};
  norm.push_back(value("False"));
  EXPECT_EQ(work_of(op("aten::native_batch_norm", norm)).bytes, 2 * kBytes);
  norm.back() = value("True");
  EXPECT_EQ(work_of(op("aten::native_batch_norm", norm)).bytes, 3 * kBytes + 2 * 8);
}

TEST(TorchOps, UnknownOnesAndUnusualCallsHaveNoKernels) {
  const OpDefaults defaults = op_defaults(hwdesc::load_device("h200_sxm"));
  EXPECT_THAT(kernels_of(op("aten::_fused_adamw_", {value("")}), defaults).kernels, IsEmpty());
  EXPECT_THAT(kernels_of(op("aten::mm", {tensor({3})}), defaults).kernels, IsEmpty());
  EXPECT_THAT(kernels_of(op("aten::mm", {}), defaults).kernels, IsEmpty());
  EXPECT_THAT(kernels_of(op("aten::mm", {tensor({2, 3}, "mine"), tensor({3, 2}, "mine")}), defaults)
                  .kernels,
              IsEmpty());
}

}  // namespace
}  // namespace tilecast::measured
