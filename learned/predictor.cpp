#include "learned/predictor.h"
