#include "sim/views/correction.h"

namespace tilecast {}
