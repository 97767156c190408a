#include "learned/training/pretraining.h"

namespace tilecast {}
