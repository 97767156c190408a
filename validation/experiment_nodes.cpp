#include "validation/experiment_nodes.h"

namespace tilecast::validation {

measured::Metric metric_of(const hwdesc::ConfigNode& node) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < measured::kMetricCount; ++i) {
    names.push_back(measured::name(static_cast<measured::Metric>(i)));
  }
  return static_cast<measured::Metric>(choice(node, names));
}

}  // namespace tilecast::validation
