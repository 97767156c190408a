#include "learned/training/gbt_trainer.h"
