// What each op of a kernel asks of the compute units besides the matrix unit, per element.
//
// Elementwise ops are one vector operation (or the device's `op_cycles`). Transcendentals go to the
// transcendental unit, and where the device lists them in `op_cycles` also to the vector unit:
// range reduction and polynomial around the special-function result. Reductions are one operation
// per input element plus a cross-lane reduction when the minor dimension is reduced, and ops that
// move elements between lanes (transposes and reshapes of the minor dimension, gathers, sorts) go
// to the cross-lane unit.
#pragma once

#include <vector>

#include "analytical/compute_units.h"

namespace tilecast::analytical {

// Adds the work of `op` to the entries of the groups it runs over.
void add_op_work(const ir::Kernel& kernel, ir::OpId op, const hwdesc::Device& device,
                 const Footprints& footprints, std::vector<ElementWork>& by_group);

}  // namespace tilecast::analytical
