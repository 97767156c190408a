#include <regex>

#include "host/c_prelude.h"
#include "host/cuda_loops.h"

namespace tilecast::host {
namespace {

constexpr std::string_view kCudaIncludes = R"(#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <stdint.h>
using namespace nvcuda;
)";

constexpr std::string_view kCudaMacros = R"(#define TC static __device__ __forceinline__
#define _Bool bool
)";

// Replaces the conversions of c_prelude() by CUDA's, with its storage types.
constexpr std::string_view kCudaHalves =
    R"(TC float tc_from_bf16(__nv_bfloat16 x) { return __bfloat162float(x); }
TC __nv_bfloat16 tc_store_bf16(float x) { return __float2bfloat16_rn(x); }
TC float tc_round_bf16(float x) { return __bfloat162float(__float2bfloat16_rn(x)); }
TC float tc_from_f16(__half x) { return __half2float(x); }
TC __half tc_to_f16(float x) { return __float2half_rn(x); }
TC float tc_round_f16(float x) { return __half2float(__float2half_rn(x)); }
)";

}  // namespace

std::string cuda_prelude(const std::string& text) {
  static const std::regex halves("tc_(from|store|to|round)_b?f16"),
      others("tc_(?!(from|store|to|round)_b?f16)");
  const bool needs_halves = std::regex_search(text, halves);
  const bool needs_others = std::regex_search(text, others);
  std::string made(kCudaIncludes);
  if (needs_others) made += "#include <math.h>\n#include <string.h>\n";
  if (needs_halves || needs_others) made += kCudaMacros;
  if (needs_halves) made += kCudaHalves;
  if (needs_others) made += prelude_numbers() + std::string(prelude_math());
  return made + "\n";
}

}  // namespace tilecast::host
