// libFuzzer's entry point; TILECAST_FUZZ_TARGET is the function to test.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tilecast::fuzz::TILECAST_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
