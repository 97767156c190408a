// Nodes of an experiment's YAML as values, for its readers. What is thrown says where the node was
// written. Private to hybrid/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hwdesc/config_reader.h"
#include "hybrid/experiment.h"

namespace tilecast::hybrid {

constexpr std::uint64_t kMostSeeds = 1000;
constexpr std::uint64_t kMostRows = 1'000'000'000;

[[nodiscard]] const hwdesc::ConfigNode& required(const hwdesc::ConfigNode& node,
                                                 std::string_view key);
[[nodiscard]] std::string text(const hwdesc::ConfigNode& node, std::string_view key);
// Which of `choices` the node names.
[[nodiscard]] std::size_t choice(const hwdesc::ConfigNode& node,
                                 std::span<const std::string_view> choices);
[[nodiscard]] const std::vector<hwdesc::ConfigNode>& list(const hwdesc::ConfigNode& node);
// A text, or a list of them.
[[nodiscard]] std::vector<std::string> texts(const hwdesc::ConfigNode& node);
[[nodiscard]] std::vector<std::string> optional_texts(const hwdesc::ConfigNode& node,
                                                      std::string_view key);
[[nodiscard]] std::uint64_t whole_number(const hwdesc::ConfigNode& node, std::uint64_t low,
                                         std::uint64_t high);
// "0.88" or "6 %".
[[nodiscard]] std::optional<double> fraction(const std::string& got);
[[nodiscard]] double seconds_of(const hwdesc::ConfigNode& node);  // above 0
[[nodiscard]] learned::Metric metric_of(const hwdesc::ConfigNode& node);

template <class T>
void read_number(const hwdesc::ConfigNode& node, std::string_view key, std::uint64_t low,
                 std::uint64_t high, T& value) {
  if (const hwdesc::ConfigNode* child = node.find(key)) {
    value = static_cast<T>(whole_number(*child, low, high));
  }
}

// The parts of an experiment: `split`; `fit` or `score`; `bars`, `published` and `directions`.
[[nodiscard]] SplitSpec read_split(const hwdesc::ConfigNode& node);
[[nodiscard]] std::vector<Selector> read_selectors(const hwdesc::ConfigNode& root,
                                                   std::string_view key,
                                                   const std::vector<ExperimentSource>& data);
void read_claims(const hwdesc::ConfigNode& root, Experiment& experiment);

}  // namespace tilecast::hybrid
