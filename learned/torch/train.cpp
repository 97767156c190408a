#include "learned/torch/train.h"
