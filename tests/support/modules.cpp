// Sets the folder of this build's modules before a test's main.
#include <cstdlib>

namespace {

[[maybe_unused]] const int is_set = ::setenv("TILECAST_MODULES", TILECAST_MODULES, /*overwrite=*/0);

}  // namespace
