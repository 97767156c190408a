#include "measured/importers/trace_events.h"
#include "tests/fuzz/targets.h"

void tilecast::fuzz::trace_json(Bytes bytes) {
  const std::string path = file_of(bytes, "fuzz.trace.json");
  for (const bool keep_going : {false, true}) {
    answer_or_error([&] {
      measured::ImportReport report;
      (void)measured::read_traces({path}, {.keep_going = keep_going}, report);
    });
  }
}
