// Printing a parsed device as YAML gives text that parses to the same device.
#include "hwdesc/device_yaml.h"

#include "tests/fuzz/targets.h"

void tilecast::fuzz::device_yaml(Bytes bytes) {
  answer_or_error([&] {
    const hwdesc::Device device = hwdesc::parse_device(std::string(bytes), "fuzz.yaml");
    const std::string printed = hwdesc::print_device(device);
    try {
      const hwdesc::Device again = hwdesc::parse_device(printed, "printed.yaml");
      if (hwdesc::print_device(again) != printed) broken("printed twice differs:\n" + printed);
    } catch (const Error& error) {
      broken(std::string("printed YAML is refused: ") + error.what() + "\n" + printed);
    }
  });
}
