#include "hybrid/tuner.h"

namespace tilecast {}
