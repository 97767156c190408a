#include "learned/training/gp_trainer.h"

namespace tilecast {}
