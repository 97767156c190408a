// Writing a parsed manifest of a measurement set gives text that parses to the same manifest.
#include "measured/measurement_set.h"
#include "tests/fuzz/targets.h"

void tilecast::fuzz::manifest_yaml(Bytes bytes) {
  answer_or_error([&] {
    const measured::Manifest manifest =
        measured::read_manifest(std::string(bytes), "/nowhere/manifest.yaml");
    const std::string text = measured::manifest_text(manifest);
    const measured::Manifest again = measured::read_manifest(text, "/nowhere/manifest.yaml");
    if (measured::manifest_text(again) != text) broken("written twice differs:\n" + text);
  });
}
