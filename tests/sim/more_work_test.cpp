// An operator of twice the size is never faster, with the analytical and the `default` model.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "hwdesc/device_yaml.h"
#include "measured/csv.h"
#include "sim/answers.h"
#include "sim/model_choice.h"
#include "sim/sensitivity.h"
#include "sim/tables.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

using hwdesc::Device;

constexpr int kPairs = 700;
constexpr double kRounding = 1e-9;  // relative

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  template <class Choices>
  auto one_of(const Choices& choices) {
    return *(std::begin(choices) + random_() % std::size(choices));
  }

 private:
  std::mt19937_64 random_;
};

struct Size {
  const char* column;
  std::int64_t value;
};

// Log-uniform, like a table of operators: powers of two, and numbers in between.
constexpr std::int64_t kSizes[] = {1,   2,   3,   5,   7,   8,   14,  16,   28,   32,   56,  64,
                                   100, 128, 192, 256, 333, 512, 768, 1000, 1024, 2048, 4096};
constexpr std::int64_t kImages[] = {7, 14, 28, 56}, kChannels[] = {1, 2, 3, 16, 32, 64, 128, 256},
                       kBatches[] = {1, 2, 3, 8, 16, 32, 64}, kWindows[] = {1, 3, 5, 7};
constexpr const char* kConvolutions[] = {"conv2d", "conv2d_grad_input", "conv2d_grad_weight"};
constexpr const char* kRows[] = {"softmax", "layernorm", "reduce", "transpose"};

struct Operator {
  std::string op, window;
  std::vector<Size> sizes;
};

Operator random_operator(Draw& draw) {
  switch (draw.one_of(std::initializer_list{0, 0, 1, 2})) {
    case 0:
      return {"matmul",
              ",,,",
              {{"m", draw.one_of(kSizes)}, {"n", draw.one_of(kSizes)}, {"k", draw.one_of(kSizes)}}};
    case 1: {
      const std::int64_t window = draw.one_of(kWindows);
      return {draw.one_of(kConvolutions),
              fmt::format("{0},{0},1,same", window),
              {{"n", draw.one_of(kBatches)},
               {"h", draw.one_of(kImages)},
               {"w", draw.one_of(kImages)},
               {"ci", draw.one_of(kChannels)},
               {"co", draw.one_of(kChannels)}}};
    }
    default:
      return {draw.one_of(kRows),
              ",,,",
              {{"rows", draw.one_of(kSizes)}, {"columns", draw.one_of(kSizes)}}};
  }
}

constexpr const char* kColumns[] = {"m", "n", "k", "h", "w", "ci", "co", "rows", "columns"};

std::string line_of(const Operator& made, const std::string& dtype) {
  std::string line = made.op + "," + dtype + "," + made.window;
  for (const std::string_view column : kColumns) {
    line += ',';
    for (const Size& size : made.sizes) {
      if (size.column == column) line += std::to_string(size.value);
    }
  }
  return line + "\n";
}

// Pairs of rows: an operator, and the same with one size doubled.
measured::CsvTable pairs() {
  std::string text = "op,dtype,kh,kw,stride,padding";
  for (const char* column : kColumns) text += std::string(",") + column;
  text += '\n';
  Draw draw(42);
  for (int i = 0; i < kPairs; ++i) {
    Operator made = random_operator(draw);
    const std::string dtype = draw.one_of(std::initializer_list{"f32", "bf16"});
    text += line_of(made, dtype);
    const auto doubled = draw.one_of(std::initializer_list{0U, 1U, 2U, 3U, 4U}) % made.sizes.size();
    made.sizes[doubled].value *= 2;
    text += line_of(made, dtype);
  }
  return measured::read_csv(base::SourceText("pairs.csv", text));
}

struct Broken {
  int pairs = 0;
  double worst = 0;  // largest relative decrease of time when doubling a size
};

Broken broken_by(const std::string& preset) {
  const hwdesc::Device device = hwdesc::load_device(preset);
  const analytical::CostModel& model = analytical_prior();
  const measured::CsvTable answers = estimate_operators(pairs(), device, model);
  Broken broken;
  for (std::size_t i = 0; i < answers.rows.size(); i += 2) {
    const auto time = [&](std::size_t row) {
      return measured::number_cell(answers, answers.rows[row], *answers.find("estimate_ns"), 0,
                                   1e15);
    };
    const double lost = 1 - time(i + 1) / time(i);
    if (lost <= kRounding) continue;
    broken.pairs += 1;
    broken.worst = std::max(broken.worst, lost);
  }
  return broken;
}

class MoreWork : public testing::TestWithParam<std::string> {};

// Known inaccurate: on TPUs the rows and columns of a small array are swapped if that reduces
// padding, and its reduction is then up to a tenth of a microsecond faster; on cores with caches a
// layer normalisation of two rows hides latency that one row does not.
TEST_P(MoreWork, IsNeverFasterByPhysics_KnownInaccurateForOneInAHundred) {
  const Broken broken = broken_by(GetParam());
  const bool is_simt = hwdesc::load_device(GetParam()).execution == hwdesc::Execution::kSimt;
  EXPECT_LE(broken.pairs, kPairs / (is_simt ? 500 : 50));
  EXPECT_LE(broken.worst, is_simt ? 0.02 : 0.12);
}

INSTANTIATE_TEST_SUITE_P(Presets, MoreWork, testing::ValuesIn(hwdesc::preset_names()),
                         [](const auto& test) { return test.param; });

// --- No kernel of a shipped program is slower on a better machine with the `default` model.

namespace fs = std::filesystem;

// Overrides of the description (--set); hybrids recognise a device by its numbers.
struct Better {
  const char* what;
  double by;
  bool (*raises)(std::string_view path);  // paths of hwdesc/device_yaml.h
};

constexpr Better kBetter[] = {
    {"1.1 x the clock", 1.1, [](std::string_view path) { return path.ends_with("clock"); }},
    {"twice the clock", 2, [](std::string_view path) { return path.ends_with("clock"); }},
    {"1.3 x the bandwidth of memories", 1.3,
     [](std::string_view path) {
       return path.starts_with("memory.") && path.ends_with("bandwidth");
     }},
    {"twice the matrix units", 2, [](std::string_view path) { return path == "matrix.count"; }},
    {"twice the vector and transcendental units", 2, [](std::string_view path) {
       return path == "vector.alus" || path == "transcendental.per_cycle";
     }}};

Device improved(const hwdesc::DeviceSource& source, const Better& better) {
  hwdesc::Overrides overrides;
  for (const hwdesc::DeviceNumber& number : hwdesc::device_numbers(source.with({}))) {
    if (number.value <= 0 || !better.raises(number.path)) continue;
    overrides.emplace_back(number.path,
                           hwdesc::format_quantity(number.value * better.by, number.kind));
  }
  EXPECT_FALSE(overrides.empty());
  return source.with(overrides);
}

std::vector<fs::path> programs() {
  return support::files_below(support::source_dir() / "configs/programs", ".hlo");
}

class BetterMachine : public testing::TestWithParam<const char*> {
 protected:
  // One program on the preset and on better machines, kernel by kernel.
  void compare(const fs::path& path, const std::vector<std::pair<std::string, Device>>& machines) {
    PlacedProgram placed = place(ir::load_module(path.string(), {}), device_, {});
    const Simulation before = simulate(placed, model_);
    for (const auto& [what, better] : machines) {
      SCOPED_TRACE(path.filename().string() + ", " + what);
      placed.device = better;
      const Simulation after = simulate(placed, model_);
      for (std::size_t i = 0; i < before.kernels.size(); ++i) {
        const double was_s = before.kernels[i].estimate->time.value;
        const double is_s = after.kernels[i].estimate->time.value;
        faster_ += is_s < was_s * (1 - kRounding) ? 1 : 0;
        EXPECT_LE(is_s, was_s * (1 + kRounding)) << before.kernels[i].name;
      }
    }
  }

  const hwdesc::DeviceSource source_{GetParam()};
  const Device device_ = source_.with({});
  const ChosenModel model_ = choose_model("default", {&device_, 1});
  int faster_ = 0;
};

TEST_P(BetterMachine, IsNeverSlower) {
  std::vector<std::pair<std::string, Device>> machines;
  for (const Better& better : kBetter)
    machines.emplace_back(better.what, improved(source_, better));
  for (const fs::path& path : programs()) compare(path, machines);
  EXPECT_GT(faster_, 0);
}

TEST_P(BetterMachine, WithoutWhatHoldsKernelsUpIsNeverSlower) {
  std::vector<std::pair<std::string, Device>> machines;
  for (std::size_t i = 0; i < analytical::kBoundCount; ++i) {
    const auto bound = static_cast<analytical::Bound>(i);
    // Known inaccurate: on a GPU whose lanes multiply faster than its matrix unit, products use
    // lanes, with the libraries' blocks for lanes, which may take longer.
    if (bound == analytical::Bound::kVector && device_.execution == hwdesc::Execution::kSimt) {
      continue;
    }
    if (const auto better = without_bound(device_, bound)) {
      machines.emplace_back("without " + std::string(analytical::name(bound)), *better);
    }
  }
  compare(support::source_dir() / "configs/programs/mlp_train.hlo", machines);
  EXPECT_GT(faster_, 0);
}

INSTANTIATE_TEST_SUITE_P(Presets, BetterMachine,
                         testing::Values("tpu_v3", "tpu_v6e", "a100_sxm_80gb", "h100_sxm", "b200",
                                         "cpu_generic"),
                         [](const auto& test) { return std::string(test.param); });
}  // namespace
}  // namespace tilecast::sim
