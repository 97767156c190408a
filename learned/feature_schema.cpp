#include "learned/feature_schema.h"
