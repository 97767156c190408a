// Tilecast's version, stored in models and descriptions.
#pragma once

namespace tilecast::sim {

[[nodiscard]] const char* version();  // "1.2.3"

}  // namespace tilecast::sim
