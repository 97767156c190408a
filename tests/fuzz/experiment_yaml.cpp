#include "tests/fuzz/targets.h"
#include "validation/experiment.h"

void tilecast::fuzz::experiment_yaml(Bytes bytes) {
  answer_or_error(
      [&] { (void)validation::parse_experiment(std::string(bytes), "/nowhere/fuzz.yaml"); });
}
