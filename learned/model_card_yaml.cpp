#include "learned/model_card_yaml.h"
