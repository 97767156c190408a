// The form of YAML that descriptions are written in, read in one pass: yaml-cpp takes about 1,400
// instructions for a byte, which was most of the start of a command.
//
//   std::optional<ConfigNode> root = read_plain_yaml("clock: 940 MHz\n", "chip.yaml");
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hwdesc/config_reader.h"

namespace tilecast::hwdesc {

// The tree that read_config() gives, positions included, or nullopt where the text has anything but
// comments and a mapping of words to mappings, lists, flow lists and mappings, and scalars that end
// on their line. Whether such a text is valid is left to yaml-cpp. `text`: UTF-8.
[[nodiscard]] std::optional<ConfigNode> read_plain_yaml(std::string_view text,
                                                        const std::string& file);

}  // namespace tilecast::hwdesc
