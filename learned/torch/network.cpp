#include "learned/torch/network.h"
