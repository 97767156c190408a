#include "learned/torch/losses.h"
