#include <algorithm>
#include <cmath>
#include <vector>

#include "validation/measure_cuda/device_memory.cuh"
#include "validation/measure_cuda/gemm_runner.h"
#include "validation/measure_cuda/gemm_table.cuh"

namespace tilecast::measure_cuda {
namespace {

constexpr int kPlainThreads = 256;
constexpr int kMaxGroupCalls = 10000;

// Multiples of 1/4 between -1 and 1 from the element's number (the finaliser of MurmurHash3).
template <class T>
__global__ void fill(T* out, std::int64_t elements, std::uint32_t seed) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= elements) return;
  std::uint32_t h = static_cast<std::uint32_t>(i) ^ seed;
  h = (h ^ (h >> 16)) * 0x85ebca6bU;
  h = (h ^ (h >> 13)) * 0xc2b2ae35U;
  h ^= h >> 16;
  out[i] = from_float<T>(static_cast<float>(static_cast<int>(h % 9) - 4) * 0.25f);
}

template <class T>
__global__ void plain_gemm(GemmArrays<T> g) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= static_cast<std::int64_t>(g.m) * g.n) return;
  const std::int64_t row = i / g.n;
  const std::int64_t column = i % g.n;
  float sum = 0;
  for (int k = 0; k < g.k; ++k) {
    sum +=
        to_float(g.a[row * g.k + k]) * to_float(g.b[static_cast<std::int64_t>(k) * g.n + column]);
  }
  g.c[i] = from_float<T>(sum);
}

template <class T>
__global__ void count_differences(const T* got, const T* expected, std::int64_t elements,
                                  unsigned long long* count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= elements) return;
  // Negated equality, so that NaNs of unwritten results count as differences.
  if (!(to_float(got[i]) == to_float(expected[i]))) atomicAdd(count, 1ULL);
}

unsigned plain_blocks(std::int64_t elements) {
  return static_cast<unsigned>((elements + kPlainThreads - 1) / kPlainThreads);
}

int attribute(cudaDeviceAttr which, int card) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, card), "asking for an attribute of the card");
  return value;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void summarise(const std::vector<double>& times, GemmOutcome& outcome) {
  outcome.minimum_s = *std::min_element(times.begin(), times.end());
  outcome.median_s = median(times);
  std::vector<double> deviations;
  for (const double time : times) deviations.push_back(std::fabs(time - outcome.median_s));
  outcome.spread_s = median(std::move(deviations));
}

template <class T>
class Runner final : public GemmRunner {
 public:
  explicit Runner(int card) {
    check(cudaSetDevice(card), "choosing the card");
    flushed_bytes_ = 2 * static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize, card));
    shared_limit_ = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, card);
    flushed_ = DeviceArray<unsigned char>(std::max<std::size_t>(flushed_bytes_, 1));
    differences_ = DeviceArray<unsigned long long>(1);
  }

  void prepare(const GemmSize& size) override {
    // Freed first, because two large sizes may not fit together.
    a_ = DeviceArray<T>();
    b_ = DeviceArray<T>();
    c_ = DeviceArray<T>();
    expected_ = DeviceArray<T>();
    a_ = filled(size.m * size.k, 1);
    b_ = filled(size.k * size.n, 2);
    c_ = DeviceArray<T>(size.m * size.n);
    expected_ = DeviceArray<T>(size.m * size.n);
    arrays_ = {a_.data(),
               b_.data(),
               c_.data(),
               static_cast<int>(size.m),
               static_cast<int>(size.n),
               static_cast<int>(size.k)};
    GemmArrays<T> plain = arrays_;
    plain.c = expected_.data();
    plain_gemm<<<plain_blocks(size.m * size.n), kPlainThreads>>>(plain);
    check(cudaGetLastError(), "launching the plain kernel");
    check(cudaDeviceSynchronize(), "the plain kernel");
  }

  GemmOutcome run(const GemmConfig& config, const TimingOptions& options) override {
    GemmOutcome outcome;
    const GemmKernel<T>& kernel = kernel_of(config);
    const auto shared = static_cast<std::size_t>(shared_bytes(config));
    if (!fits(config, kernel, shared, outcome)) return outcome;
    const auto launch = [&] {
      const dim3 blocks((arrays_.n + config.block_n - 1) / config.block_n,
                        (arrays_.m + config.block_m - 1) / config.block_m);
      kernel.launch<<<blocks, config.warps * kThreadsPerWarp, shared>>>(arrays_, config.stages);
      check(cudaGetLastError(), "launching a product");
    };
    if (!is_right(launch, outcome)) return outcome;
    if (options.flush_l2) {
      time_one_by_one(launch, options, outcome);
    } else {
      time_groups(launch, options, outcome);
    }
    return outcome;
  }

 private:
  DeviceArray<T> filled(std::int64_t elements, std::uint32_t seed) {
    DeviceArray<T> array(elements);
    fill<T><<<plain_blocks(elements), kPlainThreads>>>(array.data(), elements, seed * 0x9e3779b9U);
    check(cudaGetLastError(), "filling the inputs");
    return array;
  }

  const GemmKernel<T>& kernel_of(const GemmConfig& c) const {
    for (const GemmKernel<T>& kernel : gemm_kernels<T>()) {
      if (kernel.block_m == c.block_m && kernel.block_n == c.block_n &&
          kernel.block_k == c.block_k && kernel.warps == c.warps) {
        return kernel;
      }
    }
    throw Error("this tile was not compiled");
  }

  bool fits(const GemmConfig& config, const GemmKernel<T>& kernel, std::size_t shared,
            GemmOutcome& outcome) const {
    outcome.status = GemmStatus::kDoesNotFit;
    if (shared > static_cast<std::size_t>(shared_limit_)) {
      outcome.message = "needs " + std::to_string(shared) +
                        " bytes of shared memory, a block has " + std::to_string(shared_limit_);
      return false;
    }
    check(cudaFuncSetAttribute(kernel.launch, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared)),
          "asking for shared memory");
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel.launch), "asking about a kernel");
    outcome.registers = attributes.numRegs;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
              &outcome.blocks_per_processor, kernel.launch, config.warps * kThreadsPerWarp, shared),
          "asking how many blocks fit");
    if (outcome.blocks_per_processor == 0) {
      outcome.message = "no block fits a multiprocessor";
      return false;
    }
    outcome.status = GemmStatus::kTimed;
    return true;
  }

  template <class Launch>
  bool is_right(const Launch& launch, GemmOutcome& outcome) {
    const std::int64_t elements = static_cast<std::int64_t>(arrays_.m) * arrays_.n;
    // All bits set is a NaN in both types, so an unwritten result is detected as wrong.
    check(cudaMemset(c_.data(), 0xff, elements * sizeof(T)), "clearing the result");
    check(cudaMemset(differences_.data(), 0, sizeof(unsigned long long)), "clearing a counter");
    launch();
    count_differences<T><<<plain_blocks(elements), kPlainThreads>>>(c_.data(), expected_.data(),
                                                                    elements, differences_.data());
    check(cudaGetLastError(), "launching the comparison");
    unsigned long long differences = 0;
    check(
        cudaMemcpy(&differences, differences_.data(), sizeof(differences), cudaMemcpyDeviceToHost),
        "a product");
    if (differences == 0) return true;
    outcome.status = GemmStatus::kWrongResult;
    outcome.message = std::to_string(differences) + " of " + std::to_string(elements) +
                      " results differ from the plain kernel's";
    return false;
  }

  // Times consecutive calls between two events: a group's time divided by its calls.
  template <class Launch>
  void time_groups(const Launch& launch, const TimingOptions& options, GemmOutcome& outcome) {
    const auto time = [&](int calls) {
      begin_.record();
      for (int i = 0; i < calls; ++i) launch();
      end_.record();
      return Event::seconds_between(begin_, end_) / calls;
    };
    for (int i = 0; i < options.warm_up; ++i) launch();
    const double first = std::max(time(3), 1e-7);
    const int calls = static_cast<int>(
        std::clamp(std::ceil(options.group_s / first), 1.0, static_cast<double>(kMaxGroupCalls)));
    std::vector<double> times;
    for (int i = 0; i < options.groups; ++i) times.push_back(time(calls));
    outcome.calls = calls * options.groups;
    summarise(times, outcome);
  }

  template <class Launch>
  void time_one_by_one(const Launch& launch, const TimingOptions& options, GemmOutcome& outcome) {
    for (int i = 0; i < options.warm_up; ++i) launch();
    std::vector<double> times;
    for (int i = 0; i < options.groups; ++i) {
      check(cudaMemsetAsync(flushed_.data(), i, flushed_bytes_), "flushing the L2 cache");
      begin_.record();
      launch();
      end_.record();
      times.push_back(Event::seconds_between(begin_, end_));
    }
    outcome.calls = options.groups;
    summarise(times, outcome);
  }

  int shared_limit_ = 0;
  std::size_t flushed_bytes_ = 0;
  DeviceArray<unsigned char> flushed_;
  DeviceArray<unsigned long long> differences_;
  DeviceArray<T> a_, b_, c_, expected_;
  GemmArrays<T> arrays_{};
  Event begin_, end_;
};

}  // namespace

int card_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

Card card_of(int index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "asking for the properties of the card");
  Card card;
  card.name = properties.name;
  card.major = properties.major;
  card.minor = properties.minor;
  card.multiprocessors = properties.multiProcessorCount;
  card.clock_khz = attribute(cudaDevAttrClockRate, index);
  card.memory_clock_khz = attribute(cudaDevAttrMemoryClockRate, index);
  card.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  card.l2_bytes = properties.l2CacheSize;
  card.shared_per_block = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, index);
  check(cudaDriverGetVersion(&card.driver), "asking for the driver's version");
  check(cudaRuntimeGetVersion(&card.runtime), "asking for the runtime's version");
  return card;
}

std::unique_ptr<GemmRunner> make_gemm_runner(int card, Input input) {
  if (input == Input::kF16) return std::make_unique<Runner<__half>>(card);
  return std::make_unique<Runner<__nv_bfloat16>>(card);
}

}  // namespace tilecast::measure_cuda
