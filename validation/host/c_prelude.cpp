#include "validation/host/c_kernel.h"

namespace tilecast::host {

std::string_view c_prelude() {
  return "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n";
}

}  // namespace tilecast::host
