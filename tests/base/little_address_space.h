// Limits the address space to the current size plus `more_bytes` during the object's lifetime, so
// that thread creation fails. Not for sanitizers, which need additional address space.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

namespace tilecast::base {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

class LittleAddressSpace {
 public:
  explicit LittleAddressSpace(rlim_t more_bytes) {
    rlim_t pages = 0;
    if (!(std::ifstream("/proc/self/statm") >> pages) || getrlimit(RLIMIT_AS, &before_) != 0) {
      throw std::runtime_error("the address space is unknown");
    }
    const auto page_bytes = static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
    const rlimit little{pages * page_bytes + more_bytes, before_.rlim_max};
    if (setrlimit(RLIMIT_AS, &little) != 0) throw std::runtime_error("no limit could be set");
  }
  ~LittleAddressSpace() { setrlimit(RLIMIT_AS, &before_); }
  LittleAddressSpace(const LittleAddressSpace&) = delete;
  LittleAddressSpace& operator=(const LittleAddressSpace&) = delete;

 private:
  rlimit before_{};
};

}  // namespace tilecast::base
