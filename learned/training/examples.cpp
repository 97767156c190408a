#include "learned/training/examples.h"
