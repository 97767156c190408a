#include "hwdesc/schema_fields.h"

namespace tilecast::hwdesc {

void walk_energy(SchemaVisitor& v, std::optional<Energy>& described) {
  using enum UnitKind;
  Energy& energy = described ? *described : described.emplace();
  quantities(v,
             {"matrix", kEnergy, 0, 1e-6, kOptional,
              "per dtype of matrix.passes: one operation; a multiply-add is 2", kDtypes},
             energy.matrix);
  quantity(v, {"vector", kEnergy, 0, 1e-6, kRequired, "one operation of a lane"}, energy.vector);
  quantity(v, {"transcendental", kEnergy, 0, 1e-6, kRequired, "one element"},
           energy.transcendental);
  quantities(v,
             {"memory", kEnergyPerByte, 0, 1e-6, kRequired,
              "per level of memory: one byte read or written there"},
             energy.memory);
  quantity(v,
           {"network", kEnergyPerByte, 0, 1e-6, kOptional,
            "one byte that leaves a chip; required with an interconnect"},
           energy.network);
  quantity(v, {"idle_power", kPower, 0, 1e6, kRequired, "of a chip while a program runs"},
           energy.idle_power);
  quantity(v,
           {"power_limit", kPower, 1e-3, 1e6, kOptional,
            "of a chip: where the average would pass it, the clock is lowered"},
           energy.power_limit);
  quantity(v,
           {"power_window", kTime, 0, 10, kOptional,
            "the board averages over this: shorter launches run at the full clock; default 0"},
           energy.power_window);
  v.number({"clock_exponent", kCount, 1, 3, kOptional,
            "core power goes with the clock to this: 1 one voltage, 3 voltage follows"},
           energy.clock_exponent);
  walk_provenance(v, energy.provenance);
}

}  // namespace tilecast::hwdesc
