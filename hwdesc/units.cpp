#include "hwdesc/units.h"
