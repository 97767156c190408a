// Structure-aware mutations of line-oriented text (HLO, YAML, schedules), mixed with libFuzzer's
// own: lines are swapped, doubled, removed, moved; a number becomes another; words of one line are
// put in the place of another's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tilecast::fuzz {

// One mutation, by the seed. The result may be longer than the text.
[[nodiscard]] std::string mutated_text(std::string text, unsigned seed);

}  // namespace tilecast::fuzz
