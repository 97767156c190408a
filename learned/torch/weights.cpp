#include "learned/torch/network.h"

namespace tilecast::learned::torch_module {

std::string save_weights(const Network&) {
  return "";
}
void load_weights(Network&, std::string_view) {}

}  // namespace tilecast::learned::torch_module
