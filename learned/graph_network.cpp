#include "learned/graph_network.h"
