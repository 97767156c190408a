#include "analytical/estimate.h"
