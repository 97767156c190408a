#include "ir/op.h"
