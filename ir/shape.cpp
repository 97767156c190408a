#include "ir/shape.h"
