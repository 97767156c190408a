#include "sim/study/study.h"
#include "tests/fuzz/targets.h"

void tilecast::fuzz::study_yaml(Bytes bytes) {
  answer_or_error([&] { (void)sim::read_study(std::string(bytes), "/nowhere/fuzz.yaml"); });
}
