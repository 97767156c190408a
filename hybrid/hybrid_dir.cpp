#include "hybrid/hybrid_dir.h"

namespace tilecast {}
