// Functions that print op bodies, for the table in print_forms.cpp; see OpForm::body.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/stablehlo/print_forms.h"

namespace tilecast::ir::stablehlo {

using Text = std::optional<std::string>;

[[nodiscard]] std::string upper_case(std::string_view text);
// The value of a raw attribute, else `other`.
[[nodiscard]] std::string raw_or(const Instruction& instruction, std::string_view key,
                                 std::string_view other);
// `[DEFAULT, HIGHEST]`, each word in the format `item`.
[[nodiscard]] std::string precision_words(const std::vector<std::string>& precision,
                                          std::string_view item);

[[nodiscard]] Text reduce_window_body(const OpSite& site);
[[nodiscard]] Text select_and_scatter_body(const OpSite& site);
[[nodiscard]] Text convolution_body(const OpSite& site);
[[nodiscard]] Text gather_body(const OpSite& site);
[[nodiscard]] Text scatter_body(const OpSite& site);
[[nodiscard]] Text all_gather_body(const OpSite& site);
[[nodiscard]] Text all_to_all_body(const OpSite& site);
[[nodiscard]] Text all_reduce_body(const OpSite& site);
[[nodiscard]] Text reduce_scatter_body(const OpSite& site);
[[nodiscard]] Text collective_permute_body(const OpSite& site);

}  // namespace tilecast::ir::stablehlo
