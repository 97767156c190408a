#include "sim/model_choice.h"

namespace tilecast {}
