#include "hybrid/hybrid_spec.h"

namespace tilecast {}
