#include "learned/training/learner.h"
