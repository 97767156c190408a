#include "learned/feature_scaler.h"
