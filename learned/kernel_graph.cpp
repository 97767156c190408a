#include "learned/kernel_graph.h"
