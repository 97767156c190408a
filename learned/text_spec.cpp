#include "learned/text_spec.h"

namespace tilecast::learned {

const ParameterTable<TextSpec>& text_parameters() {
  static const ParameterTable<TextSpec> table = [] {
    ParameterTable<TextSpec> rows;
    rows.choice("text", &TextSpec::level, kTextLevels, "What tokens are read from.")
        .choice("text_tokens", &TextSpec::tokens, kTextTokens, "What of it is a token.")
        .choice("text_shapes", &TextSpec::shapes, kShapeTokens, "A shape: one token, or several.")
        .choice("text_numbers", &TextSpec::numbers, kNumberTokens,
                "A number: a token, its digits, or a feature of one token.")
        .number("text_least_count", &TextSpec::least_count, 1, 1e6,
                "Times a token stands in the training texts to be known.")
        .number("text_most_tokens", &TextSpec::most_tokens, 8, 8192,
                "Of a text; the rest is cut off.")
        .number("text_variants", &TextSpec::variants, 0, 16,
                "Of each training text beside it: reordered, renamed.");
    return rows;
  }();
  return table;
}

}  // namespace tilecast::learned
