// Writes the text of a pass: its tile loops, with loads one tile ahead, and its stages.
#pragma once

#include "host/c_pass.h"

namespace tilecast::host {

void write_pass(Pass& pass, Writer& out);

}  // namespace tilecast::host
