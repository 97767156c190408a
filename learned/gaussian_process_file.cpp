// Files of Gaussian processes: numbers as they are in memory.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "learned/gaussian_process_limits.h"

namespace tilecast::learned {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr std::string_view kMagic = "tilecast.process/1\n";

template <class Number>
void append(std::string& bytes, std::span<const Number> numbers) {
  bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
}

// Takes numbers off the front of a file.
class Bytes {
 public:
  Bytes(std::string_view bytes, const std::string& file) : left_(bytes), file_(file) {}

  void expect(std::string_view start) {
    if (!left_.starts_with(start)) fail("is no file of a Gaussian process");
    left_.remove_prefix(start.size());
  }
  template <class Number>
  std::vector<Number> take(std::size_t count) {
    const std::size_t size = count * sizeof(Number);
    if (size > left_.size()) fail("ends too early");
    std::vector<Number> numbers(count);
    if (size > 0) std::memcpy(numbers.data(), left_.data(), size);
    left_.remove_prefix(size);
    return numbers;
  }
  // Each of them within [least, most].
  template <class Number>
  std::vector<Number> take(std::size_t count, std::string_view what, double least, double most) {
    std::vector<Number> numbers = take<Number>(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = static_cast<double>(numbers[i]);
      if (value >= least && value <= most) continue;  // not NaN
      fail(fmt::format("{} {}: got {}, expected {} to {}", what, i, value, least, most));
    }
    return numbers;
  }
  void end() const {
    if (!left_.empty()) fail(fmt::format("{} bytes too many", left_.size()));
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{}: {}", file_, what));
  }

 private:
  std::string_view left_;
  const std::string& file_;
};

}  // namespace

std::string GaussianProcess::save() const {
  std::string bytes(kMagic);
  const std::uint32_t sizes[] = {static_cast<std::uint32_t>(rows()),
                                 static_cast<std::uint32_t>(columns_)};
  append<std::uint32_t>(bytes, sizes);
  append<double>(bytes, numbers_of(hyper_));
  append<double>(bytes, weights_);
  append<float>(bytes, scales_);
  append<float>(bytes, values_);
  return bytes;
}

GaussianProcess GaussianProcess::load(std::string_view saved, const std::string& file,
                                      std::size_t columns) {
  Bytes bytes(saved, file);
  bytes.expect(kMagic);
  const std::vector<std::uint32_t> sizes = bytes.take<std::uint32_t>(2);
  if (sizes[0] > kMostRows || sizes[1] != columns) {
    bytes.fail(fmt::format("got {} rows of {} columns, expected at most {} of {}", sizes[0],
                           sizes[1], kMostRows, columns));
  }
  const std::vector<double> hyper =
      bytes.take<double>(std::size(kHyperNames), "hyper-parameter", kLeastHyper, kMostHyper);
  GaussianProcess process({.amplitude = hyper[0], .length = hyper[1], .noise = hyper[2]}, columns);
  process.weights_ = bytes.take<double>(sizes[0], "weight", -kMostWeight, kMostWeight);
  process.scales_ = bytes.take<float>(columns, "scale", 0, kMostScale);
  const auto counts = std::ranges::count_if(process.scales_, [](float scale) { return scale > 0; });
  process.values_ = bytes.take<float>(sizes[0] * static_cast<std::size_t>(counts), "value",
                                      -kMostValue, kMostValue);
  bytes.end();
  process.prepare();
  return process;
}

}  // namespace tilecast::learned
