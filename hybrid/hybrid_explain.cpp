#include "hybrid/hybrid_model.h"

namespace tilecast {}
