#include "hybrid/domain.h"

namespace tilecast {}
