#include "search/constrained_minimum.h"

#include "search/nlopt/abi.h"

namespace tilecast::search {

// Implemented in a module that is loaded on first use (base/plugin.h).
Minimum constrained_minimum(const MinimumOptions& options) {
  constexpr base::Plugin kNlopt = {"nlopt", "the module of NLopt", kNloptModuleAbi};
  return reinterpret_cast<decltype(&constrained_minimum)>(base::load_plugin(kNlopt))(options);
}

}  // namespace tilecast::search
