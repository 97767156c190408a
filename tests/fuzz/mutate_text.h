// Structure-aware mutations of line-oriented text (HLO, YAML, schedules), mixed with libFuzzer's
// own: lines are swapped, duplicated, removed or moved; numbers are changed; words of one line
// replace those of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tilecast::fuzz {

// Applies one mutation, chosen by the seed. The result may be longer than the text.
[[nodiscard]] std::string mutated_text(std::string text, unsigned seed);

}  // namespace tilecast::fuzz
