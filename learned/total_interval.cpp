#include "learned/total_interval.h"

namespace tilecast {}
