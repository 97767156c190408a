#include "learned/learned_model.h"
