#include "sim/version.h"

namespace tilecast::sim {

const char* version() {
  return TILECAST_VERSION;
}

}  // namespace tilecast::sim
