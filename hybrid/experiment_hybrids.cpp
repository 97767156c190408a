#include "hybrid/experiment_learners.h"

namespace tilecast {}
