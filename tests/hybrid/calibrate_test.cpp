#include "hybrid/calibrate.h"

#include <gtest/gtest.h>
