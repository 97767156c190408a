#include "hybrid/hybrid_fit.h"

namespace tilecast {}
