// Which Tilecast wrote a model or a description.
#pragma once

namespace tilecast::sim {

[[nodiscard]] const char* version();  // "1.2.3"

}  // namespace tilecast::sim
