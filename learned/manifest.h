// Pieces of a manifest that a measurement set and a column mapping read alike.
#pragma once

#include "hwdesc/config_reader.h"
#include "learned/measurement_set.h"

namespace tilecast::learned {

// The block `feed: {per_step: 2.1 ms, rate: 2.95 GB/s}`. Throws Error naming the place.
[[nodiscard]] HostFeed read_feed(const hwdesc::ConfigNode& node);

}  // namespace tilecast::learned
