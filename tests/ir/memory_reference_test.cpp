// Peak memory against XLA's own buffer assignment, for public HLO protos that contain one
// (../shared/profiles, ../shared/inputs/protos). The files are not part of the repository; the
// tests are skipped without them. XLA's sum is over allocations in main memory that are not
// thread-local.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "ir/memory/memory_use.h"
#include "ir/read_module.h"
#include "tests/support/folders.h"

namespace tilecast::ir {
namespace {

namespace fs = std::filesystem;

// Fields of a message in protobuf's wire format: numbers for varints, bytes for all others.
class WireFields {
 public:
  explicit WireFields(std::string_view bytes) : rest_(bytes) {}
  struct Field {
    std::uint64_t key = 0, number = 0;
    std::string_view bytes;
  };
  bool next(Field& field) {
    if (rest_.empty()) return false;
    const std::uint64_t tag = varint();
    field = {.key = tag >> 3U};
    const std::uint64_t type = tag & 7U;
    if (type == 0) field.number = varint();
    if (type == 1) take(8);
    if (type == 2) field.bytes = take(varint());
    if (type == 5) take(4);
    return true;
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; !rest_.empty() && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 127U} << shift;
      if (byte < 128) break;
    }
    return value;
  }
  std::string_view take(std::uint64_t count) {
    const auto taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest_;
};

// HloProto.buffer_assignment = 3, its buffer_allocations = 3; their size = 2, is_thread_local = 3,
// color (memory space) = 8. nullopt without an assignment.
std::optional<double> assigned_by_xla(std::string_view proto) {
  std::optional<double> sum;
  WireFields::Field part, allocation, field;
  for (WireFields parts(proto); parts.next(part);) {
    if (part.key != 3) continue;
    for (WireFields list(part.bytes); list.next(allocation);) {
      if (allocation.key != 3) continue;
      std::map<std::uint64_t, std::uint64_t> numbers;
      for (WireFields fields(allocation.bytes); fields.next(field);) {
        numbers[field.key] = field.number;
      }
      const bool counts = numbers[3] == 0 && numbers[8] == 0;
      sum = sum.value_or(0) + (counts ? static_cast<double>(numbers[2]) : 0);
    }
  }
  return sum;
}

std::vector<fs::path> protos() {
  std::vector<fs::path> found;
  for (const char* folder : {"profiles", "inputs/protos"}) {
    for (const fs::path& path : support::shared_files(folder, ".pb")) {
      if (path.string().ends_with("hlo_proto.pb")) found.push_back(path);
    }
  }
  std::ranges::sort(found);
  return found;
}

// In small programs, XLA's sum is mostly tables of tuples (8 bytes per element) and alignment.
constexpr double kSmall = 64 * 1024;
constexpr double kWithin = 0.04;

TEST(MemoryReference, PeaksLieWithin4PercentOfXlasBufferAssignment) {
  std::size_t compared = 0;
  for (const fs::path& path : protos()) {
    const auto xla = assigned_by_xla(support::bytes_of(path));
    if (!xla) continue;
    const double ours = memory_use(read_module(path.string())).peak.total();
    fmt::print("{:<64} XLA {:>12} ours {:>12} {:+.2f} %\n", path.filename().string(), *xla, ours,
               100 * (ours / *xla - 1));
    if (*xla < kSmall) continue;
    ++compared;
    EXPECT_NEAR(ours / *xla, 1, kWithin) << path;
  }
  if (compared == 0) GTEST_SKIP() << "no protos with a buffer assignment under ../shared";
}

}  // namespace
}  // namespace tilecast::ir
