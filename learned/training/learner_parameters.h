// The parameters of a learner, whichever of its structs holds them: trees, network, training or
// text. The seed is the learner's own and none of them. Internal to training. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "learned/training/learner.h"

namespace tilecast::learned {

[[nodiscard]] std::vector<std::string_view> parameter_names(LearnerKind kind);
// All throw Error for an unknown name; setting also for a text out of range.
[[nodiscard]] const ParameterRange& range_of(LearnerKind kind, std::string_view name);
void set_parameter(LearnerSpec& spec, std::string_view name, std::string_view text);
[[nodiscard]] std::string get_parameter(LearnerSpec spec, std::string_view name);

// Throws Error where parameters contradict each other.
void check_parameters(const LearnerSpec& spec);

// How many epochs (or steps) or trees at most.
[[nodiscard]] int resource_of(const LearnerSpec& spec);
void set_resource(LearnerSpec& spec, int resource);

}  // namespace tilecast::learned
