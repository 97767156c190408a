#include "learned/training/fit.h"

namespace tilecast {}
