// The parts of an experiment's YAML, for its readers. Private to validation/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hwdesc/config_values.h"
#include "validation/experiment.h"

namespace tilecast::validation {

constexpr std::uint64_t kMostSeeds = 1000;
constexpr std::uint64_t kMostRows = 1'000'000'000;

[[nodiscard]] measured::Metric metric_of(const hwdesc::ConfigNode& node);

// The learners of a list, each with the settings of the earlier one that it `extends`.
[[nodiscard]] std::vector<hwdesc::ConfigNode> learner_entries(const hwdesc::ConfigNode& learners);

// The parts of an experiment: `split`; `fit` or `score`; `bars`, `published` and `directions`.
[[nodiscard]] SplitSpec read_split(const hwdesc::ConfigNode& node);
[[nodiscard]] std::vector<Selector> read_selectors(const hwdesc::ConfigNode& root,
                                                   std::string_view key,
                                                   const std::vector<ExperimentSource>& data);
void read_claims(const hwdesc::ConfigNode& root, Experiment& experiment);

}  // namespace tilecast::validation
