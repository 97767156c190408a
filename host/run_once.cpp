#include "host/run_once.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "host/c_kernel.h"
#include "host/child_process.h"
#include "host/timing_arrays.h"

namespace tilecast::host {
namespace {

constexpr std::size_t kAlignment = 64;   // bytes, of every array
constexpr std::size_t kGuard = 1 << 20;  // bytes of guard pages on both sides of an array
constexpr std::byte kUnwritten{0xFF};    // NaN in every float type, to reveal elements not written
constexpr std::byte kPadding{0xA5};      // fills the space after an array, up to its alignment

// An array shared with the child, followed by inaccessible memory. Accesses beyond the array's
// aligned end, or before its first page, crash.
class GuardedArray {
 public:
  explicit GuardedArray(std::size_t bytes) : bytes_(bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    padded_ = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    inside_ = std::max<std::size_t>(1, (padded_ + page - 1) / page) * page;
    mapped_ = inside_ + 2 * kGuard;
    void* base = ::mmap(nullptr, mapped_, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
      throw Error(fmt::format("memory for an array of {} bytes: {}", bytes, std::strerror(errno)));
    }
    base_ = static_cast<std::byte*>(base);
    pages_ = base_ + kGuard;
    ::mprotect(pages_, inside_, PROT_READ | PROT_WRITE);
    std::memset(pages_, static_cast<int>(kPadding), inside_);
    std::memset(data(), static_cast<int>(kUnwritten), bytes_);
  }
  GuardedArray(GuardedArray&& other) noexcept
      : bytes_(other.bytes_),
        padded_(other.padded_),
        inside_(other.inside_),
        mapped_(other.mapped_),
        base_(std::exchange(other.base_, nullptr)),
        pages_(other.pages_) {}
  GuardedArray& operator=(GuardedArray&&) = delete;
  ~GuardedArray() {
    if (base_ != nullptr) ::munmap(base_, mapped_);
  }

  [[nodiscard]] std::byte* data() const { return pages_ + inside_ - padded_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data(), bytes_}; }
  void make_read_only() { ::mprotect(pages_, inside_, PROT_READ); }
  // Whether the bytes around the array, within its pages, are unchanged.
  [[nodiscard]] bool intact() const {
    const auto untouched = [](std::byte byte) { return byte == kPadding; };
    return std::all_of(pages_, data(), untouched) &&
           std::all_of(data() + bytes_, pages_ + inside_, untouched);
  }

 private:
  std::size_t bytes_, padded_, inside_, mapped_;
  std::byte *base_, *pages_;
};

std::vector<GuardedArray> copies_of(std::span<const std::vector<std::byte>> inputs) {
  std::vector<GuardedArray> arrays;
  for (const auto& input : inputs) {
    std::copy(input.begin(), input.end(), arrays.emplace_back(input.size()).data());
    arrays.back().make_read_only();
  }
  return arrays;
}

// In the child: makes the call and reports errors through the pipe.
void call_once(int pipe, const std::string& library, const std::string& function,
               std::span<const void* const> in, std::span<void* const> out, void* scratch) {
  void* opened = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* found = opened == nullptr ? nullptr : ::dlsym(opened, function.c_str());
  if (found == nullptr) {
    const std::string said = ::dlerror();
    if (::write(pipe, said.data(), said.size()) < 0) ::_exit(1);
    return;
  }
  reinterpret_cast<KernelFunction>(found)(in.data(), out.data(), scratch);
}

// Waits for the child; throws Error if it failed.
void wait_for(ForkedChild& child, const std::string& function, Seconds timeout) {
  std::string said;
  for (std::byte byte;;) {
    const auto got = child.read(std::span(&byte, 1), timeout);
    if (got == ForkedChild::Got::kTimeout) {
      throw Error(fmt::format("{}: took longer than {} s", function, timeout.value));
    }
    if (got == ForkedChild::Got::kEnd) break;
    said.push_back(static_cast<char>(byte));
  }
  const std::string how = child.end(/*kill=*/false);
  if (!how.empty()) throw Error(fmt::format("{}: {}", function, how));
  if (!said.empty()) throw Error(fmt::format("{}: cannot be loaded: {}", function, said));
}

}  // namespace

std::vector<std::vector<std::byte>> run_once(const std::string& library, const RunJob& job,
                                             std::span<const std::vector<std::byte>> inputs,
                                             Seconds timeout) {
  TC_CHECK(inputs.size() == job.inputs.size(), "one array of bytes per input");
  std::vector<const void*> in;
  std::vector<void*> out;
  const std::vector<GuardedArray> given = copies_of(inputs);
  for (std::size_t i = 0; i < given.size(); ++i) {
    TC_CHECK(std::ssize(inputs[i]) == host_bytes(job.inputs[i]), "an input has its shape's bytes");
    in.push_back(given[i].data());
  }
  std::vector<GuardedArray> made;
  for (const ir::Shape& shape : job.outputs) {
    out.push_back(made.emplace_back(static_cast<std::size_t>(host_bytes(shape))).data());
  }
  const GuardedArray scratch(
      static_cast<std::size_t>(std::max<std::int64_t>(0, job.scratch_bytes)));
  ForkedChild child(/*core=*/-1, [&](int pipe) {
    call_once(pipe, job.library.empty() ? library : job.library, job.function, in, out,
              scratch.data());
  });
  wait_for(child, job.function, timeout);
  if (!scratch.intact()) throw Error(fmt::format("{}: writes beyond its scratch", job.function));
  std::vector<std::vector<std::byte>> results;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!made[i].intact()) {
      throw Error(fmt::format("{}: writes beyond its output {}", job.function, i));
    }
    results.emplace_back(made[i].bytes().begin(), made[i].bytes().end());
  }
  return results;
}

}  // namespace tilecast::host
