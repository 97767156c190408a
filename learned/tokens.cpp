#include "learned/tokens.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/error.h"
#include "schedule/text.h"
#include "schedule/tile_schedule.h"

namespace tilecast::learned {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

std::string_view take_digits(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && (is_digit(text[size]) || text[size] == '?')) ++size;
  const std::string_view digits = text.substr(0, size);
  text.remove_prefix(size);
  return digits;
}

// The text of the kernel's schedule; empty if it has none. Tokens are read from the printed text,
// because printing takes only 2 of the 30 us for building the loops of a kernel with ten ops.
std::string loop_text(const analytical::KernelQuery& query, const hwdesc::Device& device) {
  try {
    return to_text(schedule::loops_of(query.kernel, query.tile, schedule::target_of(device)));
  } catch (const Error&) {  // the tile does not fit the loops
  }
  try {
    return to_text(schedule::loops_of(query.kernel, nullptr));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void TokenWriter::number(std::string_view digits) const {
  if (spec_.numbers == NumberTokens::kWhole || digits == "?") return sink_({digits});
  if (spec_.numbers == NumberTokens::kDigits) {
    for (std::size_t i = 0; i < digits.size(); ++i) sink_({digits.substr(i, 1)});
    return;
  }
  double value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  sink_({"#", value});
}

void TokenWriter::shape(std::string_view text) const {
  if (spec_.shapes == ShapeTokens::kWhole) return sink_({text});
  std::string_view dims = text, type;
  if (const std::size_t open = text.find('['); open != std::string_view::npos) {
    type = text.substr(0, open);
    dims = text.substr(open + 1, text.size() - open - 2);
  } else if (text.starts_with("tensor<")) {
    dims = text.substr(7, text.find_last_of('>') - 7);
    dims = dims.substr(0, dims.find(", #"));  // bounds of dynamic sizes
  }
  while (!dims.empty()) {
    std::string_view rest = dims;
    const std::string_view digits = take_digits(rest);
    if (digits.empty()) break;
    number(digits);
    dims = rest.substr(std::min<std::size_t>(rest.size(), 1));
    if (!dims.empty() || !type.empty()) sink_({"x"});
  }
  if (!dims.empty()) type = dims;
  if (!type.empty()) sink_({type});
}

void for_each_token(const analytical::KernelQuery& query, const hwdesc::Device& device,
                    const TextSpec& spec, const TokenSink& sink) {
  if (spec.level == TextLevel::kStablehlo) return stablehlo_tokens(query.kernel, spec, sink);
  const std::string text = loop_text(query, device);
  if (!text.empty()) return loop_tokens(text, spec, sink);
  sink({"no_loops"});
  stablehlo_tokens(query.kernel, spec, sink);
}

}  // namespace tilecast::learned
