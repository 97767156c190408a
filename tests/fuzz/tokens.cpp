#include "learned/tokens.h"

#include "tests/fuzz/targets.h"

// All tokenisations: whole numbers, digits and values; ops and operands.
void tilecast::fuzz::tokens(Bytes bytes) {
  std::size_t count = 0;
  for (const auto numbers : {learned::NumberTokens::kWhole, learned::NumberTokens::kDigits,
                             learned::NumberTokens::kValue}) {
    for (const auto words : {learned::TextTokens::kOps, learned::TextTokens::kOperands}) {
      const learned::TextSpec spec{.level = learned::TextLevel::kLoops,
                                   .tokens = words,
                                   .shapes = learned::ShapeTokens::kDimensions,
                                   .numbers = numbers};
      answer_or_error(
          [&] { learned::loop_tokens(bytes, spec, [&](const learned::Token&) { ++count; }); });
    }
  }
  if (count > 6 * (bytes.size() + 1) * 20) broken("more tokens than the text has characters");
}
