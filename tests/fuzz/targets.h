// What is fuzzed: one function per reader. Any bytes give a result or tilecast::Error; whatever
// else escapes (another exception, a signal, a sanitizer's report, seconds without an answer) is a
// bug. scripts/fuzz feeds them by libFuzzer; tests/fuzz/regressions_test.cpp feeds them, in every
// suite, what once broke one: tests/regressions/<target>/*.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace tilecast::fuzz {

using Bytes = std::string_view;

// ir
void hlo_text(Bytes bytes);
void hlo_proto(Bytes bytes);
void stablehlo(Bytes bytes);
void onnx(Bytes bytes);
void hlo_print(Bytes bytes);  // what is printed reads as what was printed; in StableHLO, too
// hwdesc, measured, schedule
void device_yaml(Bytes bytes);
void manifest_yaml(Bytes bytes);
void csv(Bytes bytes);
void archive(Bytes bytes);  // a file that is a zip: its entries
void trace_json(Bytes bytes);
void xplane(Bytes bytes);
void schedule_text(Bytes bytes);
// learned, validation, sim
void model_folder(Bytes bytes);  // the first byte says which file of a folder it is
void tokens(Bytes bytes);
void experiment_yaml(Bytes bytes);
void study_yaml(Bytes bytes);
void advise(Bytes bytes);
void http_body(Bytes bytes);  // first line: the path of the request

// Runs `read`; Error is an answer.
template <typename Read>
void answer_or_error(Read&& read) {
  try {
    read();
  } catch (const Error&) {
  }
}

// A property that does not hold: aborts with the text.
[[noreturn]] void broken(const std::string& what);

// The bytes as a file, for readers of paths. One per process, rewritten by the next.
[[nodiscard]] std::string file_of(Bytes bytes, const std::string& name);

}  // namespace tilecast::fuzz
