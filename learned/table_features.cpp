#include "learned/table_features.h"
