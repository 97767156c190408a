#include "hybrid/trust.h"

namespace tilecast {}
