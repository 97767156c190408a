#include "learned/gbt_model.h"
