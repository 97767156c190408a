#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace tilecast::base {

void check_failed(const char* file, int line, const char* condition, std::string_view message) {
  std::fprintf(stderr, "%s:%d: internal error: %s: %.*s\n", file, line, condition,
               static_cast<int>(message.size()), message.data());
  std::abort();
}

}  // namespace tilecast::base
