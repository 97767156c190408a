#include "host/timing_arrays.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/math.h"
#include "host/c_kernel.h"

namespace tilecast::host {
namespace {

constexpr std::size_t kLine = 64;           // bytes of a cache line
constexpr std::size_t kHugePage = 2 << 20;  // bytes
constexpr std::size_t kPattern = 1 << 20;   // bytes of distinct values in a pool
// With a 32 MiB cache, adding two arrays of 1 MiB took 55 us per call in rotation over 64 MiB, 68
// us over 128 MiB, and 77 us over 256 or 512 MiB (measured 2026-11-22).
constexpr std::size_t kColdCaches = 8;
constexpr std::size_t kMinCold = 64ULL << 20;    // bytes
constexpr std::size_t kMaxCold = 512ULL << 20;   // bytes
constexpr double kGoldenSection = 0.3819660113;  // step between copies / their number

// xorshift64*: S. Vigna, "An experimental exploration of Marsaglia's xorshift generators,
// scrambled" (2016), equation for xorshift64*.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1DULL;
  }
  float quarter_to_five_quarters() { return static_cast<float>(next() >> 40) / 0x1p24F + 0.25F; }

 private:
  std::uint64_t state_;
};

template <class T>
void put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// Converts to a normal f16: rebiases the exponent and truncates the mantissa.
std::uint16_t f16_bits(float value) {
  const auto wide = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((((wide >> 23) & 0xFF) - 127 + 15) << 10 |
                                    ((wide >> 13) & 0x3FF));
}

void put_element(std::byte* to, ir::DType dtype, Random& random) {
  switch (dtype) {
    case ir::DType::kF64:
      return put<double>(to, random.quarter_to_five_quarters());
    case ir::DType::kF32:
      return put(to, random.quarter_to_five_quarters());
    case ir::DType::kBF16:
      return put(to, static_cast<std::uint16_t>(
                         std::bit_cast<std::uint32_t>(random.quarter_to_five_quarters()) >> 16));
    case ir::DType::kF16:
      return put(to, f16_bits(random.quarter_to_five_quarters()));
    case ir::DType::kC64:
      put_element(to, ir::DType::kF32, random);
      return put_element(to + 4, ir::DType::kF32, random);
    case ir::DType::kC128:
      put_element(to, ir::DType::kF64, random);
      return put_element(to + 8, ir::DType::kF64, random);
    default:
      break;
  }
  const std::uint64_t drawn = random.next() >> 32;
  // Eight-bit floats: 0x30 to 0x37 are positive normal numbers in all their encodings.
  if (ir::is_floating(dtype) && ir::bits(dtype) == 8)
    return put(to, std::uint8_t(0x30 + drawn % 8));
  const bool two_values = dtype == ir::DType::kPred || ir::bits(dtype) <= 2;
  const std::uint64_t value = two_values ? drawn % 2 : drawn % 8;
  std::memcpy(to, &value, static_cast<std::size_t>(ir::storage_bytes(dtype)));  // little-endian
}

// Bytes between copies: an odd number of lines, at least one.
std::size_t stride_of(std::int64_t bytes) {
  const std::size_t lines =
      std::max<std::size_t>(1, base::round_up(static_cast<std::size_t>(bytes), kLine) / kLine);
  return (lines | 1) * kLine;
}

// The step nearest to the golden section that visits all `copies` before repeating one.
std::size_t step_through(std::size_t copies) {
  auto step = static_cast<std::size_t>(kGoldenSection * static_cast<double>(copies));
  step = std::max<std::size_t>(step, 1);
  while (std::gcd(step, copies) != 1) ++step;
  return step % copies;
}

std::size_t scratch_bytes(const RunJob& job) {
  return static_cast<std::size_t>(std::max<std::int64_t>(job.scratch_bytes, 0));
}

std::size_t physical_bytes() {
  return static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

void Unmap::operator()(void* memory) const {
  ::munmap(memory, bytes);
}

MappedMemory mapped_memory(std::size_t bytes, int protection, int flags) {
  void* memory = ::mmap(nullptr, bytes, protection, flags | MAP_ANONYMOUS, -1, 0);
  return MappedMemory(memory == MAP_FAILED ? nullptr : memory, Unmap{bytes});
}

Mapping::Mapping(std::size_t bytes) : size_(base::round_up(std::max(bytes, kLine), kHugePage)) {
  base_ = mapped_memory(size_ + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE);
  if (base_ == nullptr) {
    throw Error(fmt::format("memory for arrays: got none, expected {} MiB: {}",
                            (size_ + kHugePage) >> 20, std::strerror(errno)));
  }
  auto* first = static_cast<std::byte*>(base_.get());
  const std::size_t past = reinterpret_cast<std::uintptr_t>(first) % kHugePage;
  data_ = past == 0 ? first : first + (kHugePage - past);
  ::madvise(data_, size_, MADV_HUGEPAGE);  // best effort
}

void Arrays::call(KernelFunction function) {
  for (std::size_t i = 0; i < in_.size(); ++i)
    in_[i] = inputs_[i].first + next_ * inputs_[i].stride;
  for (std::size_t i = 0; i < out_.size(); ++i) {
    out_[i] = outputs_[i].first + next_ * outputs_[i].stride;
  }
  next_ += step_;
  if (next_ >= copies_) next_ -= copies_;
  function(in_.data(), out_.data(), scratch_);
}

// Number of a job's copies and their strides.
struct ArrayPools::Plan {
  std::size_t copies = 1;
  std::vector<std::size_t> inputs, outputs;  // strides
  std::map<ir::DType, std::size_t> input_bytes;
  std::size_t output_bytes = 0;
  std::size_t bytes = 0;  // all copies and the scratch
};

ArrayPools::Plan ArrayPools::plan(const RunJob& job) const {
  Plan made;
  for (const ir::Shape& shape : job.inputs) made.inputs.push_back(stride_of(host_bytes(shape)));
  for (const ir::Shape& shape : job.outputs) made.outputs.push_back(stride_of(host_bytes(shape)));
  const std::size_t set = std::accumulate(made.inputs.begin(), made.inputs.end(), std::size_t{0}) +
                          std::accumulate(made.outputs.begin(), made.outputs.end(), std::size_t{0});
  if (state_ == CacheState::kCold && set > 0) made.copies = base::ceil_div(cold_, set);
  made.bytes = made.copies * set + scratch_bytes(job);
  for (std::size_t i = 0; i < job.inputs.size(); ++i) {
    made.input_bytes[job.inputs[i].dtype] += made.copies * made.inputs[i];
  }
  for (const std::size_t stride : made.outputs) made.output_bytes += made.copies * stride;
  return made;
}

ArrayPools::ArrayPools(std::size_t cold, std::span<const RunJob> jobs, CacheState state)
    : cold_(cold), state_(state) {
  const auto grow = [](Pool& pool, std::size_t bytes) {
    pool.reserve = std::max(pool.reserve, bytes);
  };
  for (const RunJob& job : jobs) {
    const Plan made = plan(job);
    if (made.bytes > physical_bytes() / 2) continue;  // place() will throw for it
    for (const auto& [dtype, bytes] : made.input_bytes) grow(inputs_[dtype], bytes);
    grow(outputs_, made.output_bytes);
    grow(scratch_, scratch_bytes(job));
  }
}

// The first `bytes` of the pool of `dtype`, filled and then protected.
std::byte* ArrayPools::memory(ir::DType dtype, std::size_t bytes) {
  Pool& pool = inputs_[dtype];
  TC_CHECK(bytes <= pool.reserve, "a job that was not announced");
  if (pool.memory.data() == nullptr) pool.memory = Mapping(pool.reserve);
  if (pool.filled >= bytes) return pool.memory.data();
  ::mprotect(pool.memory.data(), pool.memory.size(), PROT_READ | PROT_WRITE);
  const auto element = static_cast<std::size_t>(ir::storage_bytes(dtype));
  const auto pattern = valid_elements(dtype, kPattern / element, static_cast<std::uint64_t>(dtype));
  const std::size_t end = std::min(base::round_up(bytes, kHugePage), pool.memory.size());
  for (; pool.filled < end; pool.filled += kPattern) {
    std::memcpy(pool.memory.data() + pool.filled, pattern.data(), kPattern);
  }
  ::mprotect(pool.memory.data(), pool.memory.size(), PROT_READ);
  return pool.memory.data();
}

Arrays ArrayPools::place(const RunJob& job) {
  const Plan made = plan(job);
  if (made.bytes > physical_bytes() / 2) {
    throw Error(fmt::format("its arrays need {} MiB; got {} MiB of memory, expected twice as much",
                            made.bytes >> 20, physical_bytes() >> 20));
  }
  Arrays arrays;
  arrays.copies_ = made.copies;
  arrays.step_ = step_through(made.copies);
  std::map<ir::DType, std::size_t> used;
  for (std::size_t i = 0; i < job.inputs.size(); ++i) {
    const ir::DType dtype = job.inputs[i].dtype;
    std::byte* first = memory(dtype, made.input_bytes.at(dtype)) + used[dtype];
    arrays.inputs_.push_back({first, made.inputs[i]});
    used[dtype] += made.copies * made.inputs[i];
  }
  if (outputs_.memory.data() == nullptr) outputs_.memory = Mapping(outputs_.reserve);
  if (made.output_bytes > outputs_.filled) {  // so that no timed call causes page faults
    std::memset(outputs_.memory.data() + outputs_.filled, 0, made.output_bytes - outputs_.filled);
    outputs_.filled = made.output_bytes;
  }
  std::byte* output = outputs_.memory.data();
  for (const std::size_t stride : made.outputs) {
    arrays.outputs_.push_back({output, stride});
    output += made.copies * stride;
  }
  if (scratch_.memory.data() == nullptr) scratch_.memory = Mapping(scratch_.reserve);
  arrays.scratch_ = scratch_.memory.data();
  arrays.in_.resize(job.inputs.size());
  arrays.out_.resize(job.outputs.size());
  return arrays;
}

void ArrayPools::evict() {
  if (other_.memory.data() == nullptr) {
    other_.memory = Mapping(cold_ / 2);
    std::memset(other_.memory.data(), 1, other_.memory.size());
  }
  std::size_t sum = 0;
  for (std::size_t at = 0; at < other_.memory.size(); at += kLine) {
    sum += static_cast<std::size_t>(other_.memory.data()[at]);
  }
  other_.filled = sum;  // prevents the reads from being optimised away
}

std::size_t cold_bytes(int core) {
  std::size_t largest = 0;
  for (int index = 0; index < 16; ++index) {
    std::ifstream file(
        fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/size", std::max(core, 0), index));
    std::size_t size = 0;
    char unit = '\0';
    if (!(file >> size)) continue;
    file >> unit;
    largest = std::max(largest, unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size);
  }
  // There is one pool per element type; each may use a sixteenth of the memory.
  const std::size_t most = std::clamp(physical_bytes() / 16, kMinCold, kMaxCold);
  return std::clamp(kColdCaches * largest, kMinCold, most);
}

std::vector<std::byte> valid_elements(ir::DType dtype, std::size_t count, std::uint64_t seed) {
  const auto element = static_cast<std::size_t>(ir::storage_bytes(dtype));
  std::vector<std::byte> bytes(count * element);
  Random random(seed);
  for (std::size_t i = 0; i < count; ++i) {
    put_element(bytes.data() + i * element, dtype, random);
  }
  return bytes;
}

}  // namespace tilecast::host
