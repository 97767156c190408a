// Access to a learner's parameters by name, independent of the struct that contains them (trees,
// network, training or text). Excludes the seed. Internal to training. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "learned/training/learner.h"

namespace tilecast::learned {

[[nodiscard]] std::vector<std::string_view> parameter_names(LearnerKind kind);
// All throw Error for an unknown name; set_parameter() also for a value out of range.
[[nodiscard]] const ParameterRange& range_of(LearnerKind kind, std::string_view name);
void set_parameter(LearnerSpec& spec, std::string_view name, std::string_view text);
[[nodiscard]] std::string get_parameter(LearnerSpec spec, std::string_view name);

// Throws Error if parameters contradict each other.
void check_parameters(const LearnerSpec& spec);

// The maximum number of epochs (or steps) or trees.
[[nodiscard]] int resource_of(const LearnerSpec& spec);
void set_resource(LearnerSpec& spec, int resource);

}  // namespace tilecast::learned
