#include "learned/torch/batch.h"
