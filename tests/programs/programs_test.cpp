// The example programs parse, verify, and have the work for which their models are known.
#include <gmock/gmock.h>

#include "ir/counts/trip_count.h"
#include "ir/counts/work_counts.h"
#include "ir/text/hlo_parser.h"
#include "tests/support/folders.h"

namespace tilecast::ir {
namespace {

Module read_program(const std::string& name) {
  return read_hlo_file(support::source_dir().string() + "/configs/programs/" + name);
}

double matrix_flops(const Module& module, Opcode opcode) {
  WorkCounter counter(module);
  double sum = 0;
  for (std::size_t c = 0; c < module.computations.size(); ++c) {
    const auto& instructions = module.computations[c].instructions;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      if (instructions[i].opcode == opcode) {
        sum += counter.of(ComputationId(c), InstrId(i)).flops;
      }
    }
  }
  return sum;
}

std::int64_t count(const Module& module, Opcode opcode) {
  std::int64_t found = 0;
  for (const Instruction& instruction : module.entry_computation().instructions) {
    found += instruction.opcode == opcode ? 1 : 0;
  }
  return found;
}

// (kernel tap, output position) pairs of a padded convolution inside the image.
double taps_on_image(int size, int kernel, int stride, int padding) {
  double taps = 0;
  for (int out = 0; out * stride + kernel <= size + 2 * padding; ++out) {
    for (int tap = 0; tap < kernel; ++tap) {
      const int at = out * stride + tap - padding;
      taps += at >= 0 && at < size ? 1 : 0;
    }
  }
  return taps;
}

struct ResNetWork {
  double taps_on_image = 0;  // multiply-adds per image, without padding (XLA's count)
  double all_taps = 0;       // with padding (as in papers)
  int convolutions = 0;

  void add(int size, int kernel, int stride, int in, int out) {
    const double on_image = tilecast::ir::taps_on_image(size, kernel, stride, kernel / 2);
    taps_on_image += on_image * on_image * in * out;
    const double side = static_cast<double>(size) / stride * kernel;
    all_taps += side * side * in * out;
    ++convolutions;
  }
};

ResNetWork resnet50_work() {
  ResNetWork work;
  work.add(224, 7, 2, 3, 64);
  int size = 56, channels = 64;
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const int width = 64 << stage;
    for (int block = 0; block < blocks[stage]; ++block) {
      const int stride = block == 0 && stage > 0 ? 2 : 1;
      work.add(size, 1, 1, channels, width);
      work.add(size, 3, stride, width, width);
      if (block == 0) {
        work.add(size, 1, stride, channels, 4 * width);
      }
      size /= stride;
      work.add(size, 1, 1, width, 4 * width);
      channels = 4 * width;
    }
  }
  return work;
}

TEST(Programs, ResNet50HasItsConvolutionsAndTheirWork) {
  const Module module = read_program("resnet50_inference.hlo");
  const ResNetWork work = resnet50_work();
  const double batch = 64;
  EXPECT_EQ(count(module, Opcode::kConvolution), work.convolutions);
  EXPECT_EQ(work.convolutions, 53);
  EXPECT_NEAR(matrix_flops(module, Opcode::kConvolution) / (batch * 2 * work.taps_on_image), 1,
              1e-6);
  EXPECT_FLOAT_EQ(matrix_flops(module, Opcode::kDot), batch * 2 * 2048 * 1000);
  // The published figure for the network: 4.1 G multiply-adds per image.
  EXPECT_NEAR((work.all_taps + 2048 * 1000) / 4.1e9, 1, 0.03);
}

TEST(Programs, TheTransformerStepHasThreeTimesTheMatrixWorkOfItsForwardPass) {
  const Module module = read_program("transformer_block_train.hlo");
  const double tokens = 8 * 512, sequence = 512, d = 1024, f = 4096;
  const double forward = 2 * tokens * (4 * d * d + 2 * d * f) + 2 * (2 * tokens * sequence * d);
  EXPECT_NEAR(matrix_flops(module, Opcode::kDot) / (3 * forward), 1, 1e-6);
  EXPECT_EQ(count(module, Opcode::kDot), 3 * (4 + 2 + 2));
}

TEST(Programs, SmallTrainingStepsHaveThreeTimesTheMatrixWorkOfTheirForwardPass) {
  const auto work = [](const std::string& name) {
    return matrix_flops(read_program(name), Opcode::kDot);
  };
  const double tokens = 4 * 64, sequence = 64, d = 256, f = 1024;
  const double block = 2 * tokens * (4 * d * d + 2 * d * f) + 2 * (2 * tokens * sequence * d);
  EXPECT_NEAR(work("small_transformer_train.hlo") / (3 * block), 1, 1e-6);

  const double words = 2 * 96, length = 96, heads = 8, groups = 2, head = 32, width = 688;
  const double decoder = 2 * words * d * (2 * heads + 2 * groups) * head +
                         2 * (2 * words * length * heads * head) + 2 * words * 3 * d * width;
  EXPECT_NEAR(work("small_decoder_train.hlo") / (3 * decoder), 1, 1e-6);

  const double cell = 2.0 * 32 * (128 + 192) * (4 * 192);
  EXPECT_NEAR(work("small_lstm_train.hlo") / (3 * 4 * cell), 1, 1e-6);

  const double pixels = 4 * 20 * 20, layer = 2 * pixels * 64 * 128, dense = 2.0 * 4 * 64 * 100;
  // Four layers; the first needs no gradient for its input.
  EXPECT_NEAR(work("small_pointwise_train.hlo") / (3 * (4 * layer + dense) - layer), 1, 1e-6);
}

TEST(Programs, SmallInferenceHasTheWorkOfItsLayers) {
  const double patches = 8 * 64, channels = 192;
  const double mixer = 2 * (2 * (8 * channels) * 64 * 128) + 2 * (2 * patches * channels * 512);
  EXPECT_NEAR(matrix_flops(read_program("small_mixer.hlo"), Opcode::kDot) / (2 * mixer), 1, 1e-6);
  EXPECT_EQ(count(read_program("small_resnet.hlo"), Opcode::kConvolution), 1 + 4 * 3 + 3);
  EXPECT_EQ(count(read_program("small_diffusion.hlo"), Opcode::kConvolution), 3 * 2 + 1 + 1 + 1);
  EXPECT_EQ(matrix_flops(read_program("small_adam.hlo"), Opcode::kDot), 0);
}

TEST(Programs, TheMlpStepSkipsTheGradientOfItsInput) {
  const Module module = read_program("mlp_train.hlo");
  const double first = 784 * 2048, others = 2048 * 2048 + 2048 * 10;
  EXPECT_FLOAT_EQ(matrix_flops(module, Opcode::kDot), 2 * 512 * (2 * first + 3 * others));
}

TEST(Programs, TheMlpLoopRunsItsStepTenTimes) {
  const Module module = read_program("mlp_train_loop.hlo");
  const Computation& entry = module.entry_computation();
  int loops = 0;
  for (const Instruction& instruction : entry.instructions) {
    if (instruction.opcode == Opcode::kWhile) {
      EXPECT_EQ(trip_count(module, entry, instruction), 10);
      ++loops;
    }
  }
  EXPECT_EQ(loops, 1);
  EXPECT_FLOAT_EQ(matrix_flops(module, Opcode::kDot),
                  matrix_flops(read_program("mlp_train.hlo"), Opcode::kDot));
}

}  // namespace
}  // namespace tilecast::ir
