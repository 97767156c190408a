// Converts a merged tree to a Device, checking every key against the schema (device_schema.h) and
// the parts against each other. Throws Error `file:line:col: key: got ..., expected ...; did you
// mean ...`.
#pragma once

#include "hwdesc/config_reader.h"
#include "hwdesc/device.h"

namespace tilecast::hwdesc {

[[nodiscard]] Device read_device(const ConfigNode& root);

}  // namespace tilecast::hwdesc
