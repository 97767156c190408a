// Modules that several tests write to disk and read back.
#pragma once

namespace tilecast::support {

// A loop fusion, %doubled, and a transpose, %turned.
inline constexpr const char* kTwoKernels = R"(HloModule two, is_scheduled=true

%twice (p: f32[1024,256]) -> f32[1024,256] {
  %p = f32[1024,256]{1,0} parameter(0)
  ROOT %s = f32[1024,256]{1,0} add(%p, %p)
}

ENTRY %main (a: f32[1024,256]) -> f32[256,1024] {
  %a = f32[1024,256]{1,0} parameter(0)
  %doubled = f32[1024,256]{1,0} fusion(%a), kind=kLoop, calls=%twice
  ROOT %turned = f32[256,1024]{1,0} transpose(%doubled), dimensions={1,0}
}
)";

}  // namespace tilecast::support
