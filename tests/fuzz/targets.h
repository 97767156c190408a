// Fuzz targets: one function per reader. Any bytes must give a result or tilecast::Error; anything
// else (another exception, a signal, a sanitizer report, seconds without a result) is a bug.
// scripts/fuzz runs them with libFuzzer; tests/fuzz/regressions_test.cpp runs them, in every suite,
// on inputs that once failed: tests/regressions/<target>/*.
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
void hlo_print(Bytes bytes);  // printed text parses and prints to the same text; also as StableHLO
// hwdesc, measured, schedule
void device_yaml(Bytes bytes);
void manifest_yaml(Bytes bytes);
void csv(Bytes bytes);
void archive(Bytes bytes);  // a file that may be a zip archive
void trace_json(Bytes bytes);
void xplane(Bytes bytes);
void schedule_text(Bytes bytes);
// learned, validation, sim
void model_folder(Bytes bytes);  // the first byte selects the file of the folder
void tokens(Bytes bytes);
void experiment_yaml(Bytes bytes);
void study_yaml(Bytes bytes);
void advise(Bytes bytes);
void http_body(Bytes bytes);  // first line: the path of the request

// Runs `read`; tilecast::Error is a valid outcome.
template <typename Read>
void answer_or_error(Read&& read) {
  try {
    read();
  } catch (const Error&) {
  }
}

// Reports a violated property: aborts with the text.
[[noreturn]] void broken(const std::string& what);

// Passes the text of `what` to `again`, which parses and prints it: it must stay the same.
template <typename Again>
void expect_stable(const char* what, const std::string& once, const Again& again) {
  std::string twice;
  try {
    twice = again(once);
  } catch (const Error& error) {
    broken(std::string(what) + " as printed is refused: " + error.what() + "\n" + once);
  }
  if (twice != once) broken(std::string(what) + " printed twice differs:\n" + once);
}

// Writes the bytes to a file, for readers of paths. One per process, overwritten by the next call.
[[nodiscard]] std::string file_of(Bytes bytes, const std::string& name);

}  // namespace tilecast::fuzz
