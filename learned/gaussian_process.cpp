#include "learned/gaussian_process.h"

namespace tilecast {}
