#include "hybrid/tuner.h"
#include "sim/cli/commands.h"

namespace tilecast::sim::cli {}
