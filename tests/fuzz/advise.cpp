// A program for a processor: predictions for unrolling its kernels.
#include <array>
#include <cmath>

#include "analytical/layout_rules.h"
#include "hwdesc/device_yaml.h"
#include "ir/load_program.h"
#include "sim/advice.h"
#include "sim/model_choice.h"
#include "tests/fuzz/targets.h"

void tilecast::fuzz::advise(Bytes bytes) {
  static const sim::Advisor advisor(sim::shipped_advice());
  static const hwdesc::Device device = hwdesc::load_device("cpu_generic");
  constexpr std::array kFactors{1, 4};
  answer_or_error([&] {
    const ir::LoadOptions load;
    const ir::DeviceProgram built =
        ir::program_for(ir::load_module(base::SourceText("fuzz.hlo", std::string(bytes)), load),
                        analytical::layout_rules(device), load);
    for (const ir::ScheduledKernel& one : built.program.kernels()) {
      for (const sim::Prospect& way : advisor.unrolled(one.kernel, device, kFactors)) {
        if (way.time && !(std::isfinite(way.time->value) && way.time->value >= 0)) {
          broken("a time of " + std::to_string(way.time->value));
        }
      }
    }
  });
}
