#include "learned/predictor.h"

namespace tilecast {}
