#include "learned/model_dir.h"
